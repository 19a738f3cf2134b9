package order

import (
	"fmt"
	"math"

	"github.com/transdim/vti/internal/draws"
	"github.com/transdim/vti/internal/report"
	"github.com/transdim/vti/run"
)

// Names of the files that only runs of this kind write.
const (
	OrdersFile = "orders.csv"
	CurveFile  = "curve.csv"
	KnotsFile  = "knots.csv"
)

// Files returns the names of the files that only runs of this kind write.
func Files() []string {
	return []string{OrdersFile, CurveFile, KnotsFile, draws.ParquetFile, draws.CSVFile}
}

func (r *Result) write(dir string) error {
	tables := map[string][][]string{OrdersFile: report.Rows(r.Orders, "order", "probability", "log_bayes_factor", "unit_root")}
	if len(r.Curve) > 0 {
		tables[CurveFile] = report.Rows(r.Curve, "time", "mean", "q025", "q975")
	}
	if len(r.Knots) > 0 {
		tables[KnotsFile] = report.Rows(r.Knots, "at", "probability")
	}
	return run.WriteAnswer(dir, r, tables)
}

// writeDraws writes the draws of models and parameters as Parquet and CSV, if there is a run
// directory. The densities in the files are probabilities of models, with parameters integrated
// out. A spline with k knots fills the first k columns of places of knots, and the first k columns
// of coefficients of truncated powers, which are powers of the time scaled to [−1, 1].
func (post *posterior) writeDraws(cfg RunConfig) error {
	p := post.problem
	header := draws.Header{Kind: draws.IID, Cards: []int{len(post.orders)}, Sites: []string{"order"}, DensityScale: "parameters integrated out", Seed: cfg.Seed}
	header.Coordinates = []string{"mean at the means of the columns"}
	polynomial := len(p.levels.names)
	if p.knots != nil {
		polynomial = p.knots.degree
	}
	header.Coordinates = append(header.Coordinates, p.levels.names[:polynomial]...)
	if p.knots != nil {
		for _, name := range []string{"knot", "coefficient of knot"} {
			for k := range p.Options.MaxOrder {
				header.Coordinates = append(header.Coordinates, fmt.Sprintf("%s %d", name, k+1))
			}
		}
	}
	header.Coordinates = append(header.Coordinates, "sigma")
	out := &draws.Draws{Header: header}
	for _, one := range post.draws {
		d := p.ofLevels(one)
		probability := math.Log(float64(post.orders[d.fit.order].Probability))
		if p.knots != nil {
			probability = d.logModel
		}
		out.LogP, out.LogQ, out.Codes = append(out.LogP, probability), append(out.LogQ, probability), append(out.Codes, int32(d.fit.order))
		row := make([]float64, len(header.Coordinates))
		row[0], row[len(row)-1] = d.intercept, d.sigma
		copy(row[1:1+polynomial], d.coefficients)
		if p.knots != nil {
			for k, j := range d.fit.columns[polynomial:] {
				row[1+polynomial+k] = p.knots.places[j-polynomial]
				row[1+polynomial+p.Options.MaxOrder+k] = d.coefficients[polynomial+k]
			}
		}
		out.Theta = append(out.Theta, row...)
	}
	return draws.WriteBoth(cfg.Dir, out)
}

package order

import (
	gocontext "context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strconv"

	"github.com/transdim/vti"
	"github.com/transdim/vti/internal/atomicfile"
	"github.com/transdim/vti/internal/draws"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/rundir"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/modelcheck"
	"github.com/transdim/vti/run"
)

// RunConfig says how Run works. The zero value is usable.
type RunConfig struct {
	// Seed is the root of all randomness: of draws. Probabilities of orders do not depend on it.
	Seed uint64
	// Dir is the run directory, which must exist; "" keeps no files.
	Dir string
}

// The files of a run beside those of every run.
const (
	OrdersFile   = "orders.csv"
	DrawsParquet = "draws.parquet"
	DrawsCSV     = "draws.csv"
)

// Files are the names of the files that a run writes beside those of every run.
func Files() []string { return []string{OrdersFile, DrawsParquet, DrawsCSV} }

// drawn is how many draws there are; chosen by hand.
const drawn = 10_000

// draw is one draw from the posterior.
type draw struct {
	order        int
	coefficients []float64 // [order]
	intercept    float64   // at the means of the columns
	sigma        float64
}

// Run sums over all orders, draws from the posterior, checks the model and writes the run
// directory.
func Run(ctx gocontext.Context, problem *Problem, cfg RunConfig) (*Result, error) {
	clock := run.NewClock()
	fits, err := problem.fits()
	if err != nil {
		return nil, fmt.Errorf("%s: column %q: %w", problem.Path, problem.Options.Value, err)
	}
	logs := make([]float64, len(fits))
	for p, f := range fits {
		logs[p] = f.logEvidence
	}
	total, most := logsum.Of(logs), 0
	r := &Result{
		Command: "order", Version: vti.Version, Seed: &cfg.Seed, RunDir: cfg.Dir,
		Data:        DataSummary{problem.Rows(), problem.Options.Value, problem.Options.Time, problem.Options.Kind.String()},
		Certificate: CertificateReport{Verdict: vti.Trusted, Basis: vti.ExactSum},
	}
	for p, log := range logs {
		r.Orders = append(r.Orders, Order{p, Number(math.Exp(log - total)), Number(log)})
		if log > logs[most] {
			most = p
		}
	}
	if last := r.Orders[len(logs)-1]; last.Probability > 0.1 {
		r.Certificate.Verdict = vti.Doubtful
		r.Certificate.Reasons = []string{fmt.Sprintf("the largest order, %d, has probability %.2g: larger ones are likely, allow them with --max-order", last.Order, float64(last.Probability))}
	}
	random := stream.Rand(cfg.Seed, "draws")
	list := make([]draw, drawn)
	for d := range list {
		at, u := 0, random.Float64()
		for u -= float64(r.Orders[0].Probability); u > 0 && at+1 < len(fits); u -= float64(r.Orders[at].Probability) {
			at++
		}
		list[d].order = at
		if list[d].coefficients, list[d].intercept, list[d].sigma, err = fits[at].draw(problem.Rows(), random); err != nil {
			return nil, err
		}
	}
	r.Coefficients = problem.coefficients(list, most)
	r.Answer = fmt.Sprintf("Most probably order %d (probability %.3f); order 0, no dependence at all: %.2g.", most, float64(r.Orders[most].Probability), float64(r.Orders[0].Probability))
	if problem.Options.Kind == Polynomial {
		r.Answer = fmt.Sprintf("Most probably a polynomial of degree %d (probability %.3f); a constant: %.2g.", most, float64(r.Orders[most].Probability), float64(r.Orders[0].Probability))
	}
	if r.ModelCheck, err = problem.checkModel(ctx, list, cfg.Seed); err != nil {
		return nil, err
	}
	r.Seconds = clock.Seconds()
	return r, problem.write(r, list, cfg)
}

// coefficients summarises draws.
func (p *Problem) coefficients(list []draw, most int) (rows []Coefficient) {
	collect := func(name string, value func(d draw) float64, has int) {
		var all, given []float64
		for _, d := range list {
			all = append(all, value(d))
			if d.order == most && has <= most {
				given = append(given, value(d))
			}
		}
		rows = append(rows, coefficient(name, all, given))
	}
	collect("mean at the means of the columns", func(d draw) float64 { return d.intercept }, 0)
	for j, name := range p.Names {
		collect(name, func(d draw) float64 {
			if j < d.order {
				return d.coefficients[j]
			}
			return 0
		}, j+1)
	}
	collect("sigma", func(d draw) float64 { return d.sigma }, 0)
	return rows
}

// checkModel compares the values with those replicated from draws.
func (p *Problem) checkModel(ctx gocontext.Context, list []draw, seed uint64) (*modelcheck.Report, error) {
	random := stream.Rand(seed, "model check")
	in := modelcheck.RegressionInput{
		Kind: modelcheck.Continuous, Response: modelcheck.Column{Name: p.Options.Value, Values: p.y},
		Rows:    modelcheck.RowNames{Numbers: p.numbers, Unit: p.unit},
		Checked: modelcheck.CheckedRows(len(p.y), modelcheck.MostChecked), Draws: modelcheck.MinDraws,
		Remedies: modelcheck.Remedies{Dependence: "a larger --max-order, or vti changepoints", Curvature: "--model polynomial"},
	}
	rows := in.Checked
	if rows == nil {
		for i := range p.y {
			rows = append(rows, i)
		}
	}
	in.Draw = func(d int, mean, sd, replicate []float64) {
		one := list[d*len(list)/in.Draws]
		for k, i := range rows {
			mean[k] = one.intercept
			for j, c := range one.coefficients {
				mean[k] += c * p.x.At(i, j)
			}
			sd[k] = one.sigma
			replicate[k] = mean[k] + sd[k]*random.NormFloat64()
		}
	}
	report, err := modelcheck.Regression(ctx, in)
	return &report, err
}

// write writes the files of a run, if there is a run directory. Parameters are integrated out of
// the densities of draws.
func (p *Problem) write(r *Result, list []draw, cfg RunConfig) error {
	if cfg.Dir == "" {
		return nil
	}
	rows := [][]string{{"order", "probability", "log_bayes_factor"}}
	for _, o := range r.Orders {
		rows = append(rows, []string{strconv.Itoa(o.Order), o.Probability.Text(), o.LogBayesFactor.Text()})
	}
	header := draws.Header{Kind: draws.IID, Cards: []int{len(r.Orders)}, Sites: []string{"order"}, DensityScale: "parameters integrated out", Seed: cfg.Seed}
	for _, c := range r.Coefficients {
		header.Coordinates = append(header.Coordinates, c.Name)
	}
	out := &draws.Draws{Header: header}
	for _, d := range list {
		probability := math.Log(float64(r.Orders[d.order].Probability))
		out.LogP, out.LogQ, out.Codes = append(out.LogP, probability), append(out.LogQ, probability), append(out.Codes, int32(d.order))
		row := make([]float64, len(header.Coordinates))
		row[0], row[len(row)-1] = d.intercept, d.sigma
		copy(row[1:], d.coefficients)
		out.Theta = append(out.Theta, row...)
	}
	return errors.Join(
		rundir.WriteJSON(filepath.Join(cfg.Dir, rundir.ResultFile), r),
		atomicfile.Write(filepath.Join(cfg.Dir, OrdersFile), func(w io.Writer) error { return csv.NewWriter(w).WriteAll(rows) }),
		draws.Write(filepath.Join(cfg.Dir, DrawsParquet), draws.Parquet, out),
		draws.Write(filepath.Join(cfg.Dir, DrawsCSV), draws.CmdStanCSV, out),
	)
}

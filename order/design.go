package order

import (
	"errors"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/stream"
)

// design is a regression of which every model uses some columns and an intercept.
type design struct {
	names   []string   // of the columns
	y       []float64  // [n]
	x       *mat.Dense // [n,P], columns centred
	centres []float64  // [P]
	mean    float64    // of y
	total   float64    // Σ (y − mean)²
	// reduced [min(n, P+1), P+1] is the triangle of the columns and the centred response: products
	// of its columns are those of the columns.
	reduced *mat.Dense
}

// newDesign centres columns, given as P functions of the row.
func newDesign(names []string, y []float64, cell func(row, column int) float64) *design {
	n, columns := len(y), len(names)
	d := &design{names: names, y: y, centres: make([]float64, columns)}
	for _, v := range y {
		d.mean += v / float64(n)
	}
	both := mat.NewDense(n, columns+1, nil)
	for j := range columns {
		for i := range n {
			d.centres[j] += cell(i, j) / float64(n)
		}
		for i := range n {
			both.Set(i, j, cell(i, j)-d.centres[j])
		}
	}
	for i, v := range y {
		both.Set(i, columns, v-d.mean)
		d.total += (v - d.mean) * (v - d.mean)
	}
	if columns > 0 {
		d.x = mat.DenseCopyOf(both.Slice(0, n, 0, columns))
	}
	var qr mat.QR
	qr.Factorize(both)
	var triangle mat.Dense
	qr.RTo(&triangle)
	rows := min(n, columns+1)
	d.reduced = mat.DenseCopyOf(triangle.Slice(0, rows, 0, columns+1))
	return d
}

// fit is one model with its closed forms.
type fit struct {
	design  *design
	columns []int
	// order is what the model counts as; unitRoot reports that its design is that of differences.
	order    int
	unitRoot bool
	// logPrior is log p(model), logEvidence log p(y | model) relative to a constant level.
	logPrior, logEvidence float64

	estimate []float64  // least squares, [columns]
	upper    *mat.Dense // the triangle of the columns
	rest     float64    // twice the rate of the inverse gamma posterior of σ²
}

// leastRest is the share of the variation that a model leaves which counts as none.
const leastRest = 1e-14

var errExact = errors.New("a model explains the values without any noise: want values with noise")

// newFit finds the closed forms of the model with some columns. scale is the total variation
// relative to which evidences are: that of the design, but for another response.
func (d *design) newFit(columns []int, scale float64) (*fit, error) {
	n, p := len(d.y), len(columns)
	f := &fit{design: d, columns: columns, rest: d.total, logEvidence: -0.5 * float64(n-1) * math.Log(d.total/scale)}
	if !(d.total > leastRest*scale) {
		return nil, errExact
	}
	if p == 0 {
		return f, nil
	}
	rows, last := d.reduced.Dims()
	last--
	x := mat.NewDense(rows, p, nil)
	for k, j := range columns {
		x.SetCol(k, mat.Col(nil, j, d.reduced))
	}
	var qr mat.QR
	qr.Factorize(x)
	var upper, q mat.Dense
	qr.RTo(&upper)
	qr.QTo(&q)
	f.upper = mat.DenseCopyOf(upper.Slice(0, p, 0, p))
	projected := make([]float64, p)
	explained := 0.0
	for k := range p {
		for i := range rows {
			projected[k] += q.At(i, k) * d.reduced.At(i, last)
		}
		explained += projected[k] * projected[k]
		if math.Abs(f.upper.At(k, k)) < 1e-12*mat.Norm(x.ColView(k), 2) {
			return nil, errExact // columns are combinations of others: the series repeats itself
		}
	}
	if !(explained < d.total*(1-leastRest)) {
		return nil, errExact
	}
	f.estimate = solveUpper(f.upper, projected)
	f.logEvidence += logBeta(explained/d.total, p, n)
	f.rest = d.total - explained*float64(n)/float64(n+1)
	return f, nil
}

// solveUpper solves U x = b.
func solveUpper(u *mat.Dense, b []float64) []float64 {
	x := append([]float64(nil), b...)
	for i := len(b) - 1; i >= 0; i-- {
		for j := i + 1; j < len(b); j++ {
			x[i] -= u.At(i, j) * x[j]
		}
		x[i] /= u.At(i, i)
	}
	return x
}

// logBeta is the logarithm of the evidence of a model with p columns relative to that of none,
// from its share of explained variation (Liang et al. 2008, equation 6, with g = n).
func logBeta(explained float64, p, n int) float64 {
	g, size := float64(n), float64(n)
	return 0.5*(size-1-float64(p))*math.Log1p(g) - 0.5*(size-1)*math.Log1p(g*(1-explained))
}

// draw draws coefficients, intercept (at the means of the columns) and σ from their posterior.
func (f *fit) draw(random *rand.Rand) (coefficients []float64, intercept, sigma float64) {
	n := float64(len(f.design.y))
	sigma = math.Sqrt(f.rest / 2 / stream.Gamma((n-1)/2, random))
	intercept = f.design.mean + sigma/math.Sqrt(n)*random.NormFloat64()
	if len(f.columns) == 0 {
		return nil, intercept, sigma
	}
	shrink := n / (n + 1)
	noise := make([]float64, len(f.columns))
	for j := range noise {
		noise[j] = random.NormFloat64()
	}
	// With XᵀX = UᵀU, U⁻¹z has covariance (XᵀX)⁻¹.
	noise = solveUpper(f.upper, noise)
	for j, estimate := range f.estimate {
		coefficients = append(coefficients, shrink*estimate+math.Sqrt(shrink)*sigma*noise[j])
	}
	return coefficients, intercept, sigma
}

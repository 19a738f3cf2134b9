package order

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/dense"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/varsel/exact"
)

// design is a regression. Every model has an intercept and a subset of the columns.
type design struct {
	names   []string   // column names
	y       []float64  // response [n]
	x       *mat.Dense // [n,P], columns centred
	centres []float64  // means of the columns before centring [P]
	mean    float64    // mean of y
	total   float64    // Σ (y − mean)²
	// reduced [P+1, P+1] is the factor R of the QR decomposition of the centred columns and
	// the centred response. Scalar products of its columns equal the products of the centred
	// columns.
	reduced *mat.Dense
}

// newDesign returns a design with P centred columns; cell returns their entries before centring.
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
	d.reduced = mat.DenseCopyOf(dense.R(both).Slice(0, columns+1, 0, columns+1))
	return d
}

// fit is one model with its prior, evidence and posterior, in closed form.
type fit struct {
	design *design
	// columns holds the indices of the model's columns in the design.
	columns []int
	// unitRoot reports whether the response is the differences of successive values.
	order    int
	unitRoot bool
	// logPrior is log p(model). logEvidence is log p(y | model), up to a constant that all models
	// share.
	logPrior, logEvidence float64

	*exact.GPrior
}

// leastRest is the residual sum of squares, as a share of the total, below which a model counts as
// explaining the values exactly.
const leastRest = 1e-14

var errExact = errors.New("a model explains the values without any noise: want values with noise")

// newFit computes the closed forms of the model with the given columns. The log evidence is
// relative to a model without columns whose total sum of squares is the argument scale. For models
// of differences, scale comes from the values, as for the other models.
func (d *design) newFit(columns []int, scale float64) (*fit, error) {
	if !(d.total > leastRest*scale) {
		return nil, errExact
	}
	n, reduced := len(d.y), apply.To(columns, func(j int) []float64 { return mat.Col(nil, j, d.reduced) })
	rows, last := d.reduced.Dims()
	g, err := exact.NewGPrior(exact.Slab{Kind: exact.FixedG, G: float64(n)}, reduced, make([]bool, len(columns)), mat.Col(nil, last-1, d.reduced), n-1-rows, 0, 0)
	// The factorisation fails if columns are linear combinations of others, as for periodic series.
	if err != nil || !(g.Unexplained() > leastRest) {
		return nil, errExact
	}
	half := float64(n-1) / 2
	none := logsum.Gamma(half) - math.Ln2 - half*math.Log(math.Pi*scale) // log evidence of the model without columns
	return &fit{design: d, columns: columns, logEvidence: g.LogEvidence() - none, GPrior: g}, nil
}

// logBeta returns the log ratio of the evidence of a model with p columns to the evidence of the
// model without columns (Liang et al. 2008, equation 6, with g = n). The argument explained is R²
// of the regression on the columns, and n the number of rows.
func logBeta(explained float64, p, n int) float64 {
	g, size := float64(n), float64(n)
	return 0.5*(size-1-float64(p))*math.Log1p(g) - 0.5*(size-1)*math.Log1p(g*(1-explained))
}

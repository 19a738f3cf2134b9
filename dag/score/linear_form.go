package score

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/dag/tables"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/distinct"
	"github.com/transdim/vti/varsel/exact"
)

// LinearForm is the [Form] of a node with linear mechanisms: a regression of the node on its
// parents without intercept, with N(0, σ0²) priors of weights. Package exact computes it by a
// singular value decomposition, and integrates an unknown noise scale out.
type LinearForm struct {
	node, rows int
	layout     sem.Layout
	priorSD    float64
	noise      exact.Noise
	// root holds the columns of R [N][N], with RᵀR = Σ x xᵀ over the rows x without an intervention
	// on the node.
	root [][]float64
}

// NewLinearForm returns the [Form] of a node (its evidences and posteriors) with linear mechanisms.
func NewLinearForm(d *tables.Data, node int, layout sem.Layout, priorSD float64) *LinearForm {
	l, root := LinearForm{rows: d.RowsOf(node), layout: layout, priorSD: priorSD, noise: exact.Noise{Log: math.Log(layout.Sigma)}}, RootOfGram(d, node)
	l.root = apply.UpTo(d.Nodes(), func(i int) []float64 { return mat.Col(nil, i, root) })
	return l.forNode(d, node)
}

// forNode returns the form of another node for which the same rows count. The two forms share their
// matrix.
func (l LinearForm) forNode(d *tables.Data, node int) *LinearForm {
	l.node = node
	if l.layout.Sigma == 0 {
		l.noise = exact.Noise{Mean: d.LogSD(node), SD: LogSigmaSD}
	}
	return &l
}

// Family returns the posterior of log σ and of the weights of parents. It returns an error if
// squares of values overflow.
func (l *LinearForm) Family(parents dgraph.Set) (*exact.Posterior, error) {
	m, err := l.model(parents)
	if err != nil {
		return nil, err
	}
	return m.Posterior(l.noise)
}

// model returns the regression given the noise scale.
func (l *LinearForm) model(parents dgraph.Set) (*exact.Model, error) {
	y, columns := l.root[l.node], distinct.At(l.root, parents.List())
	return exact.NewModel(y, columns, make([]float64, len(columns)), slices.Repeat([]float64{l.priorSD}, len(columns)), l.rows-len(y), 0)
}

// LogEvidence returns log p(x_j | x_pa).
func (l *LinearForm) LogEvidence(parents dgraph.Set) float64 {
	f, err := l.Family(parents)
	if err != nil {
		return math.NaN()
	}
	return f.LogEvidence()
}

func (l *LinearForm) bic(parents dgraph.Set) float64 {
	m, err := l.model(parents)
	if err != nil {
		return math.NaN()
	}
	n, y := float64(l.rows), l.root[l.node]
	// A residual sum of squares below 1e-12 times the node's sum of squares may be rounding.
	variance := math.Max(m.Residual(), 1e-12*floats.Dot(y, y)) / n
	return -n/2*(math.Log(variance)+1+2*HalfLog2Pi) - float64(parents.Len())*math.Log(n)/2
}

// Posterior returns a function that draws the noise scale, and then the weights given the noise
// scale.
func (l *LinearForm) Posterior(parents dgraph.Set) func(random *rand.Rand) []float64 {
	f, err := l.Family(parents)
	columns, weights := parents.List(), make([]float64, parents.Len())
	return func(random *rand.Rand) []float64 {
		theta := make([]float64, l.layout.Dim())
		if err != nil { // cannot happen: CheckScore has already refused the family
			floats.AddConst(math.NaN(), theta)
			return theta
		}
		logSigma, _ := f.Draw(random, weights)
		for k, i := range columns {
			theta[i] = weights[k]
		}
		if l.layout.Sigma == 0 {
			theta[l.layout.Weights()] = logSigma
		}
		return theta
	}
}

// Moments returns the posterior means and variances of the weights of the parents, in ascending
// order of the parents.
func (l *LinearForm) Moments(parents dgraph.Set) (means, variances []float64) {
	f, err := l.Family(parents)
	if err != nil {
		nothing := slices.Repeat([]float64{math.NaN()}, parents.Len())
		return nothing, nothing
	}
	return f.Moments()
}

// LogJoint returns log p(x_j, θ | x_pa).
func (l *LinearForm) LogJoint(parents dgraph.Set, theta []float64) float64 {
	sum := 0.0
	residual := slices.Clone(l.root[l.node]) // as a vector, because differences of sums of squares would lose digits
	for i := range parents.Nodes() {
		floats.AddScaled(residual, -theta[i], l.root[i])
		sum -= dgraph.Square(theta[i]/l.priorSD)/2 + math.Log(l.priorSD) + HalfLog2Pi
	}
	logSigma := l.layout.LogSigma(theta)
	sum -= floats.Dot(residual, residual)*math.Exp(-2*logSigma)/2 + float64(l.rows)*(logSigma+HalfLog2Pi)
	if l.layout.Sigma == 0 {
		sum -= dgraph.Square((logSigma-l.noise.Mean)/LogSigmaSD)/2 + math.Log(LogSigmaSD) + HalfLog2Pi
	}
	return sum
}

// RootOfGram returns the upper triangular R [N,N] with RᵀR = Σ x xᵀ. The sum is over the rows
// without an intervention on a node, centred as for its mechanism, or over all rows if node is −1.
func RootOfGram(d *tables.Data, node int) *mat.Dense {
	nodes := d.Nodes()
	x := mat.NewDense(max(d.Rows(), nodes), nodes, nil) // surplus rows of zeros change nothing
	next := 0
	for row := range d.Rows() {
		switch {
		case node < 0:
			x.SetRow(next, d.X.RawRowView(row))
		case d.Counts(row, node):
			d.RowFor(node, row, x.RawRowView(next))
		default:
			continue
		}
		next++
	}
	return rootOf(x)
}

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
	"github.com/transdim/vti/varsel/exact"
)

// LinearForm is the closed form of linear mechanisms of one node: a regression of the node on its
// parents, whose weights are N(0, σ0²), by the singular values of package exact. An unknown noise
// scale is integrated out.
type LinearForm struct {
	node, rows int
	layout     sem.Layout
	priorSD    float64
	noise      exact.Noise
	// root are the columns of R with RᵀR = Σ x xᵀ over the rows that count for the node [N][N].
	root [][]float64
}

// NewLinearForm prepares the families of a node.
func NewLinearForm(d *tables.Data, node int, layout sem.Layout, priorSD float64) *LinearForm {
	l := &LinearForm{node: node, rows: d.RowsOf(node), layout: layout, priorSD: priorSD, noise: exact.Noise{Log: math.Log(layout.Sigma)}}
	if layout.Sigma == 0 {
		l.noise = exact.Noise{Mean: d.LogSD(node), SD: LogSigmaSD}
	}
	root := mat.NewDense(d.Nodes(), d.Nodes(), RootOfGram(d, node))
	for i := range d.Nodes() {
		l.root = append(l.root, mat.Col(nil, i, root))
	}
	return l
}

// Family is the posterior of the weights of some parents and of log σ; it fails where squares
// overflow.
func (l *LinearForm) Family(parents dgraph.Set) (*exact.Posterior, error) {
	m, err := l.model(parents)
	if err != nil {
		return nil, err
	}
	return m.Posterior(l.noise)
}

// model is the model given σ.
func (l *LinearForm) model(parents dgraph.Set) (*exact.Model, error) {
	var columns [][]float64
	for i := range parents.Nodes() {
		columns = append(columns, l.root[i])
	}
	y := l.root[l.node]
	return exact.NewModel(y, columns, make([]float64, len(columns)), slices.Repeat([]float64{l.priorSD}, len(columns)), l.rows-len(y), 0)
}

// LogEvidence is log p(x_j | x_pa).
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
	// A residual of 1e-12 of the node cannot be distinguished from rounding.
	variance := math.Max(m.Residual(), 1e-12*floats.Dot(y, y)) / n
	return -n/2*(math.Log(variance)+1+2*HalfLog2Pi) - float64(parents.Len())*math.Log(n)/2
}

// Posterior draws the noise scale and the weights given it.
func (l *LinearForm) Posterior(parents dgraph.Set) func(random *rand.Rand) []float64 {
	f, err := l.Family(parents)
	columns, weights := parents.List(), make([]float64, parents.Len())
	return func(random *rand.Rand) []float64 {
		theta := make([]float64, l.layout.Dim())
		if err != nil { // an evidence that has been refused
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

// Moments are the posterior means and variances of the weights of the parents, in their order.
func (l *LinearForm) Moments(parents dgraph.Set) (means, variances []float64) {
	f, err := l.Family(parents)
	if err != nil {
		nothing := slices.Repeat([]float64{math.NaN()}, parents.Len())
		return nothing, nothing
	}
	return f.Moments()
}

// LogJoint is log p(x_j, θ | x_pa).
func (l *LinearForm) LogJoint(parents dgraph.Set, theta []float64) float64 {
	sum := 0.0
	residual := slices.Clone(l.root[l.node]) // not by sums of squares, which would cancel
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

// RootOfGram returns R [N·N] with RᵀR = Σ x xᵀ over the rows that count for a node, as its
// mechanism sees them, or over all if it is −1, from a QR decomposition: sums of squares of
// residuals keep their digits, unlike differences of entries of the Gram matrix.
func RootOfGram(d *tables.Data, node int) []float64 {
	nodes := d.Nodes()
	x := mat.NewDense(max(d.Rows(), nodes), nodes, nil) // rows of zeros change nothing
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
	var qr mat.QR
	qr.Factorize(x)
	var r mat.Dense
	qr.RTo(&r)
	root := make([]float64, 0, nodes*nodes)
	for i := range nodes {
		root = append(root, r.RawRowView(i)...)
	}
	return root
}

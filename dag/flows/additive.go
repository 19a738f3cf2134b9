package flows

import (
	"math"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/cosmic"
	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/internal/apply"
)

// Additive is the mechanism x_j = f(x_pa) + normal noise, where f is linear or a network with one
// hidden layer. It satisfies [Mechanism].
type Additive struct {
	problem *score.Problem
	layout  sem.Layout

	values  []float64 // columns x of the table [N·n]
	counted []float64 // 1 if a row counts for a node, else 0 [N·n]; nil if no node was set by an intervention
	centers []float64 // means that the mechanism of each node subtracts from the columns [N·N]; nil for none
	// roots holds a matrix R for each node, with |R v|² = |X v|² for all v and the rows X in which
	// the node was not set from outside [N·N·N]; only for linear mechanisms.
	roots  []float64
	rows   []float64 // number of rows in which each node was not set from outside [N]
	logSDs []float64 // prior mean of the log noise scale log σ of each node [N]
}

// NewAdditive returns the linear or network mechanisms of the nodes of a problem.
func NewAdditive(p *score.Problem) *Additive {
	t := &Additive{problem: p, layout: p.Layout()}
	for j := range p.Data.Nodes() {
		t.logSDs = append(t.logSDs, p.Data.LogSD(j))
		t.rows = append(t.rows, float64(p.Data.RowsOf(j)))
		if p.Model.Mechanism == sem.Linear {
			t.roots = append(t.roots, score.RootOfGram(p.Data, j).RawMatrix().Data...)
			continue
		}
		t.values = append(t.values, mat.Col(nil, j, p.Data.X)...)
		if p.Data.Centers != nil {
			t.centers = append(t.centers, p.Data.Centers[j]...)
		}
		if p.Data.Counted != nil {
			t.counted = append(t.counted, apply.UpTo(p.Data.Rows(), func(row int) float64 { return dgraph.Indicator(p.Data.Counts(row, j)) })...)
		}
	}
	return t
}

// MechanismOf returns the mechanisms of a problem, with quadratic approximations of their log
// densities if they are linear.
func MechanismOf(p *score.Problem) Mechanism {
	target := NewAdditive(p)
	if target.layout.Mechanism == sem.Linear {
		return linear{target}
	}
	return target
}

// Nodes returns the number of nodes N.
func (t *Additive) Nodes() int { return t.layout.Nodes }

// Dim returns the number of coordinates D.
func (t *Additive) Dim() int { return t.layout.Dim() }

// Mask marks the coordinates of θ that a node with these parents uses: [B,N] Bool -> [B,D] Bool.
func (t *Additive) Mask(_, parents *graph.Node) *graph.Node {
	l, batch := t.layout, parents.Shape().Dim(0)
	parts := []*graph.Node{parents}
	if l.Mechanism == sem.MLP {
		parts[0] = graph.Reshape(graph.BroadcastToDims(graph.InsertAxes(parents, -1), batch, l.Nodes, l.Hidden), batch, l.Nodes*l.Hidden)
		parts = append(parts, graph.BroadcastToDims(graph.InsertAxes(graph.ReduceLogicalOr(parents, -1), -1), batch, l.Weights()-l.Nodes*l.Hidden))
	}
	if l.Sigma == 0 {
		parts = append(parts, graph.BroadcastToDims(graph.Const(parents.Graph(), true), batch, 1))
	}
	return graph.Concatenate(parts, 1)
}

// LogJoint returns log p(x_j, θ_j | x_pa) [B] for the node j, parents pa and parameters θ_j of a
// row.
func (t *Additive) LogJoint(node, _, mask, theta *graph.Node) *graph.Node {
	theta = graph.Where(mask, theta, graph.ZerosLike(theta))
	logSigma := t.logSigma(theta, t.layout.Weights())
	squares := t.squares(node, theta)
	rows := t.ofNode(theta, node, t.rows)
	logLikelihood := graph.Sub(
		graph.MulScalar(graph.Mul(squares, graph.Exp(graph.MulScalar(logSigma, -2))), -0.5),
		graph.Mul(rows, graph.AddScalar(logSigma, score.HalfLog2Pi)))
	return graph.Add(logLikelihood, t.logPrior(node, mask, theta, t.layout.Weights(), logSigma))
}

// logSigma returns the log noise scale of each of B parameter vectors [B]. If the noise is unknown,
// it is the coordinate after the weights.
func (t *Additive) logSigma(theta *graph.Node, weights int) *graph.Node {
	if t.layout.Sigma > 0 {
		return graph.AddScalar(graph.ReduceSum(graph.ZerosLike(theta), -1), math.Log(t.layout.Sigma))
	}
	return graph.Squeeze(graph.SliceAxis(theta, 1, graph.AxisElem(weights)), 1)
}

// ofNode returns the element of values for each of B nodes: node [B] -> [B].
func (t *Additive) ofNode(like, node *graph.Node, values []float64) *graph.Node {
	return graph.ConvertDType(graph.Gather(graph.Const(node.Graph(), values), graph.InsertAxes(node, -1)), like.DType())
}

// squares returns Σ (x_j − f(x_pa))² [B] over the data rows in which the node j was not set from
// outside, with its fitted value f(x_pa).
func (t *Additive) squares(node, theta *graph.Node) *graph.Node {
	if t.layout.Mechanism == sem.Linear {
		return t.linearSquares(node, theta)
	}
	l := t.layout
	part := func(from, size int) *graph.Node { return graph.SliceAxis(theta, 1, graph.AxisRange(from, from+size)) }
	hidden, response := t.hidden(node, theta)
	mean := graph.ReduceSum(graph.Mul(hidden, graph.InsertAxes(part(l.W2(), l.Hidden), -1)), 1)
	if l.Bias {
		mean = graph.Add(mean, part(l.B2(), 1))
	}
	squares := graph.Square(graph.Sub(response, mean))
	if t.counted != nil {
		squares = graph.Mul(squares, t.countedOf(node, theta.DType()))
	}
	return graph.ReduceSum(squares, -1)
}

// hidden returns the outputs of the hidden units of networks [B,H,n], whose first layer is at the
// start of theta, and the values of the node [B,n].
func (t *Additive) hidden(node, theta *graph.Node) (hidden, response *graph.Node) {
	l, g := t.layout, node.Graph()
	nodes, rows, batch := l.Nodes, t.problem.Data.Rows(), theta.Shape().Dim(0)
	values := graph.ConvertDType(graph.Reshape(graph.Const(g, t.values), nodes, rows), theta.DType())
	first := graph.Reshape(graph.SliceAxis(theta, 1, graph.AxisRange(0, nodes*l.Hidden)), batch, nodes, l.Hidden)
	// [B, H, n]; this order of operands needs no transposition
	hidden = graph.Einsum("bih,ir->bhr", first, values)
	index := graph.InsertAxes(node, -1)
	response = graph.Gather(values, index)
	if t.centers != nil {
		// [B, N]
		centers := graph.Gather(graph.ConvertDType(graph.Reshape(graph.Const(g, t.centers), nodes, nodes), theta.DType()), index)
		hidden = graph.Sub(hidden, graph.InsertAxes(graph.Einsum("bi,bih->bh", centers, first), -1))
		response = graph.Sub(response, graph.InsertAxes(graph.ReduceSum(graph.Mul(centers, graph.OneHot(node, nodes, theta.DType())), -1), -1))
	}
	if l.Bias {
		bias := graph.SliceAxis(theta, 1, graph.AxisRange(l.B1(), l.B1()+l.Hidden))
		hidden = graph.Add(hidden, graph.InsertAxes(bias, -1))
	}
	return graph.MaxScalar(hidden, 0), response
}

// countedOf marks the n data rows in which each of B nodes was not set from outside: [B] -> [B,n].
func (t *Additive) countedOf(node *graph.Node, dtype dtypes.DType) *graph.Node {
	counted := graph.Reshape(graph.Const(node.Graph(), t.counted), t.layout.Nodes, t.problem.Data.Rows())
	return graph.ConvertDType(graph.Gather(counted, graph.InsertAxes(node, -1)), dtype)
}

// linearSquares returns the residual sums of squares of linear mechanisms with weights w, |R (w −
// e_j)|² with R in t.roots and the unit vector e_j of node j [B].
func (t *Additive) linearSquares(node, theta *graph.Node) *graph.Node {
	nodes, g := t.layout.Nodes, node.Graph()
	weights := graph.SliceAxis(theta, 1, graph.AxisRange(0, nodes))
	index := graph.InsertAxes(node, -1)
	residual := graph.Sub(weights, graph.OneHot(node, nodes, theta.DType()))
	if t.problem.Data.Counted == nil { // all nodes have the same matrix R
		root := graph.ConvertDType(graph.Reshape(graph.Const(g, t.roots[:nodes*nodes]), nodes, nodes), theta.DType())
		return graph.ReduceSum(graph.Square(graph.Einsum("bi,ri->br", residual, root)), -1)
	}
	roots := graph.ConvertDType(graph.Reshape(graph.Const(g, t.roots), nodes, nodes, nodes), theta.DType())
	product := graph.ReduceSum(graph.Mul(graph.Gather(roots, index), graph.InsertAxes(residual, 1)), -1)
	return graph.ReduceSum(graph.Square(product), -1)
}

// logPrior returns the log prior of the parameters [B]: Σ log N(θ_k; 0, σ0²) over the used
// coordinates among the first ones (their number is the argument weights), plus the log prior of
// log σ if the noise is unknown.
func (t *Additive) logPrior(node, mask, theta *graph.Node, weights int, logSigma *graph.Node) *graph.Node {
	sd := t.problem.Model.PriorSD
	columns := graph.AxisRange(0, weights)
	values, used := graph.SliceAxis(theta, 1, columns), graph.SliceAxis(mask, 1, columns)
	logDensity := graph.AddScalar(graph.MulScalar(graph.Square(values), -0.5/(sd*sd)), -math.Log(sd)-score.HalfLog2Pi)
	sum := graph.ReduceSum(graph.Where(used, logDensity, graph.ZerosLike(values)), -1)
	if t.layout.Sigma > 0 {
		return sum
	}
	standard := graph.MulScalar(graph.Sub(logSigma, t.ofNode(theta, node, t.logSDs)), 1.0/score.LogSigmaSD)
	return graph.Add(sum, graph.AddScalar(graph.MulScalar(graph.Square(standard), -0.5), -math.Log(score.LogSigmaSD)-score.HalfLog2Pi))
}

// linear holds linear mechanisms, with quadratic approximations of their log densities.
type linear struct{ *Additive }

var _ quadratics = linear{}

// Quadratic returns a quadratic approximation of the log density of each node's parameters, for the
// coordinates in mask: its precision H and its linear term b. It is exact for known noise. For
// unknown noise σ, the quadratic in the weights is taken at the σ with the largest marginal
// density, and log σ has the curvature of this density, both without the prior of the weights. node
// [B], mask [B,D] -> H [B,D,D], b [B,D]
func (t linear) Quadratic(node, mask *graph.Node, dtype dtypes.DType) (precision, linear *graph.Node) {
	const number = dtypes.Float64
	nodes, g := t.layout.Nodes, node.Graph()
	gram := graph.Gather(graph.Const(g, t.grams()), graph.InsertAxes(node, -1)) // [B,N,N]
	pull := graph.ReduceSum(graph.Mul(gram, graph.InsertAxes(graph.OneHot(node, nodes, number), 1)), -1)
	shrinkage := 1 / (t.problem.Model.PriorSD * t.problem.Model.PriorSD)
	identity := graph.InsertAxes(graph.ConvertDType(graph.Diagonal(g, nodes), number), 0)
	quadraticAt := func(noise *graph.Node) (precision, linear *graph.Node) { // 1/σ² [B]
		precision = graph.Add(graph.Mul(gram, graph.InsertAxes(noise, -1, -1)), graph.MulScalar(identity, shrinkage))
		return precision, graph.Mul(pull, graph.InsertAxes(noise, -1))
	}
	convert := func(h, b *graph.Node) (precision, linear *graph.Node) {
		return graph.ConvertDType(h, dtype), graph.ConvertDType(b, dtype)
	}
	rows := t.ofNode(pull, node, t.rows)
	if t.layout.Sigma > 0 {
		return convert(quadraticAt(graph.MulScalar(graph.OnesLike(rows), 1/(t.layout.Sigma*t.layout.Sigma))))
	}
	trace := graph.ReduceSum(graph.Mul(gram, identity), 1, 2)
	most := graph.Div(graph.MulScalar(graph.OnesLike(trace), steepest*shrinkage), graph.MaxScalar(trace, math.SmallestNonzeroFloat32))
	parents := graph.SliceAxis(mask, 1, graph.AxisRange(0, nodes))
	used := graph.ReduceSum(graph.ConvertDType(parents, number), -1)
	free := graph.Max(graph.Sub(rows, used), graph.MulScalar(rows, 0.5)) // number of rows less number of weights
	noise := graph.Min(graph.Exp(graph.MulScalar(t.ofNode(pull, node, t.logSDs), -2)), most)
	for range noiseSteps {
		h, b := quadraticAt(noise)
		squares := t.linearSquares(node, cosmic.Mode(parents, h, b))
		noise = graph.Min(graph.Div(free, graph.MaxScalar(squares, math.SmallestNonzeroFloat32)), most)
	}
	h, b := quadraticAt(noise)
	curvature := graph.AddScalar(graph.MulScalar(free, 2), 1.0/(score.LogSigmaSD*score.LogSigmaSD))
	column := graph.ZerosLike(graph.InsertAxes(pull, -1)) // [B,N,1]
	h = graph.Concatenate([]*graph.Node{h, column}, 2)
	h = graph.Concatenate([]*graph.Node{h, graph.Concatenate([]*graph.Node{graph.Transpose(column, 1, 2), graph.InsertAxes(curvature, -1, -1)}, 2)}, 1)
	logSigma := graph.MulScalar(graph.Log(noise), -0.5)
	return convert(h, graph.Concatenate([]*graph.Node{b, graph.InsertAxes(graph.Mul(curvature, logSigma), -1)}, 1))
}

// steepest is the largest curvature relative to the curvature of the prior; above this limit,
// rounding would make precision matrices indefinite. noiseSteps is the number of alternations
// between estimates of the noise and of the weights. They need not converge, because training
// improves the estimates.
const (
	steepest   = 1e12
	noiseSteps = 3
)

// grams returns Σ x xᵀ for each node [N][N][N], over the rows in which the node was not set from
// outside.
func (t *Additive) grams() (all [][][]float64) {
	nodes := t.layout.Nodes
	for j := range nodes {
		root := mat.NewDense(nodes, nodes, t.roots[j*nodes*nodes:][:nodes*nodes])
		var gram mat.Dense
		gram.Mul(root.T(), root)
		gramRows := apply.UpTo(nodes, gram.RawRowView)
		all = append(all, gramRows)
	}
	return all
}

package flows

import (
	"math"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/space"
)

// Target is the posterior of the parameters of a family, for all families at once: LogJoint
// is log p(x_j, θ_j | x_pa). It satisfies vti.Target; its models are families, which stand side by
// side and have no prior of importance.
type Target struct {
	problem  *score.Problem
	layout   sem.Layout
	Families *familySpace

	// Tables by family.
	nodes      []int32     // [F]
	precisions []float64   // H [F·D·D]; with linear, for Linear
	linear     [][]float64 // b [F][D]

	// The data, by node.
	values  []float64 // x [N·n]; for MLP
	counted []float64 // 1 where the row counts [N·n]; nil when all do
	centers []float64 // of all columns, by node [N·N]; nil for none
	// R [N·N·N]: |R e|² = Σ (X e)² over the rows that count for the node; for Linear
	roots  []float64
	rows   []float64 // rows that count [N]
	logSDs []float64 // prior means of log σ [N]
}

// NewTarget prepares the tables.
func NewTarget(p *score.Problem) *Target {
	t := &Target{problem: p, layout: p.Layout()}
	t.Families = newFamilySpace(t.layout, p.Families)
	nodes, rows := p.Data.Nodes(), p.Data.Rows()
	for j := range nodes {
		column := mat.Col(nil, j, p.Data.X)
		t.logSDs = append(t.logSDs, p.Data.LogSD(j))
		t.rows = append(t.rows, float64(p.Data.RowsOf(j)))
		if p.Model.Mechanism == sem.Linear {
			t.roots = append(t.roots, score.RootOfGram(p.Data, j)...)
			continue
		}
		t.values = append(t.values, column...)
		if p.Data.Centers != nil {
			t.centers = append(t.centers, p.Data.Centers[j]...)
		}
		if p.Data.Counted != nil {
			for row := range rows {
				t.counted = append(t.counted, score.Indicator(p.Data.Counts(row, j)))
			}
		}
	}
	var form *score.LinearForm
	var gram mat.Dense
	for i, f := range p.Families {
		t.nodes = append(t.nodes, int32(f.Node))
		if p.Model.Mechanism != sem.Linear {
			continue
		}
		if i == 0 || p.Families[i-1].Node != f.Node {
			root := mat.NewDense(nodes, nodes, t.roots[f.Node*nodes*nodes:][:nodes*nodes])
			form = p.LinearForm(f.Node)
			gram.Mul(root.T(), root)
		}
		own := newQuadratic(t.layout, form, &gram, f.Parents, p.Model.PriorSD)
		t.precisions, t.linear = append(t.precisions, own.precision...), append(t.linear, own.linear)
	}
	return t
}

// linearTarget is a familyTarget whose mechanisms are linear: it knows the quadratics of its
// families.
type linearTarget struct{ *Target }

var _ vti.QuadraticTarget = linearTarget{}

// AsTarget is the target as the engine wants it.
func (t *Target) AsTarget() vti.Target {
	if t.layout.Mechanism == sem.Linear {
		return linearTarget{t}
	}
	return t
}

// FamilyTarget is the posterior over families of a node with its parents that [RunFlow] trains a
// flow on.
func FamilyTarget(p *score.Problem) vti.Target { return NewTarget(p).AsTarget() }

// Quadratic returns the quadratic of each family: codes [B,S] -> [B,D,D], [B,D].
func (t linearTarget) Quadratic(codes, _ *graph.Node, dtype dtypes.DType) (precision, linear *graph.Node) {
	g, dim, family := codes.Graph(), t.Families.Dim(), t.Families.families(codes)
	precisions := graph.Reshape(graph.Const(g, t.precisions), len(t.nodes), dim, dim)
	return graph.ConvertDType(graph.Gather(precisions, family), dtype), graph.ConvertDType(graph.Gather(graph.Const(g, t.linear), family), dtype)
}

// Space is the set of families.
func (t *Target) Space() space.Space { return t.Families }

// LogPrior is uniform over families: which of them matter is a question for the posterior over
// graphs. [B,S] -> [B]
func (t *Target) LogPrior(codes *graph.Node) *graph.Node {
	zero := graph.ConvertDType(graph.Squeeze(t.Families.families(codes), 1), dtypes.Float64)
	return graph.AddScalar(graph.MulScalar(zero, 0), -math.Log(float64(len(t.nodes))))
}

// LogJoint is log p(x_j, θ_j | x_pa). codes [B,S], mask [B,D], theta [B,D] -> [B]
func (t *Target) LogJoint(codes, mask, theta *graph.Node) *graph.Node {
	return t.logJointOfNode(graph.Gather(graph.Const(codes.Graph(), t.nodes), t.Families.families(codes)), mask, theta)
}

// logJointOfNode is the same of a node whose parents are those that the mask has. node [B] int32,
// mask [B,D], theta [B,D] -> [B]
func (t *Target) logJointOfNode(node, mask, theta *graph.Node) *graph.Node {
	theta = graph.Where(mask, theta, graph.ZerosLike(theta))
	logSigma := t.logSigma(theta)
	squares := t.squares(node, theta)
	rows := t.ofNode(theta, node, t.rows)
	logLikelihood := graph.Sub(
		graph.MulScalar(graph.Mul(squares, graph.Exp(graph.MulScalar(logSigma, -2))), -0.5),
		graph.Mul(rows, graph.AddScalar(logSigma, score.HalfLog2Pi)))
	return graph.Add(logLikelihood, t.logPriorOfParameters(node, mask, theta))
}

// logSigma is log σ of each row [B].
func (t *Target) logSigma(theta *graph.Node) *graph.Node {
	if t.layout.Sigma > 0 {
		return graph.AddScalar(graph.ReduceSum(graph.ZerosLike(theta), -1), math.Log(t.layout.Sigma))
	}
	return graph.Squeeze(graph.SliceAxis(theta, 1, graph.AxisElem(t.layout.Weights())), 1)
}

// ofNode picks the value of the node of each row. node [B] -> [B]
func (t *Target) ofNode(like, node *graph.Node, values []float64) *graph.Node {
	return graph.ConvertDType(graph.Gather(graph.Const(node.Graph(), values), graph.InsertAxes(node, -1)), like.DType())
}

// squares is Σ (x_j − f(x_pa))² over the rows that count for the node. [B]
func (t *Target) squares(node, theta *graph.Node) *graph.Node {
	if t.layout.Mechanism == sem.Linear {
		return t.linearSquares(node, theta)
	}
	l, g := t.layout, node.Graph()
	nodes, rows, batch := l.Nodes, t.problem.Data.Rows(), theta.Shape().Dim(0)
	part := func(from, size int) *graph.Node { return graph.SliceAxis(theta, 1, graph.AxisRange(from, from+size)) }
	values := graph.ConvertDType(graph.Reshape(graph.Const(g, t.values), nodes, rows), theta.DType())
	first := graph.Reshape(part(0, nodes*l.Hidden), batch, nodes, l.Hidden)
	// [B, H, n]; with the operands in this order, and the sum below as one, nothing of this size is
	// transposed
	hidden := graph.Einsum("bih,ir->bhr", first, values)
	index := graph.InsertAxes(node, -1)
	own := graph.Gather(values, index)
	if t.centers != nil {
		// [B, N]
		centers := graph.Gather(graph.ConvertDType(graph.Reshape(graph.Const(g, t.centers), nodes, nodes), theta.DType()), index)
		hidden = graph.Sub(hidden, graph.InsertAxes(graph.Einsum("bi,bih->bh", centers, first), -1))
		one := graph.ConvertDType(graph.Equal(index, graph.Iota(g, shapes.Make(dtypes.Int32, 1, nodes), 1)), theta.DType())
		own = graph.Sub(own, graph.InsertAxes(graph.ReduceSum(graph.Mul(centers, one), -1), -1))
	}
	if l.Bias {
		hidden = graph.Add(hidden, graph.InsertAxes(part(l.B1(), l.Hidden), -1))
	}
	hidden = graph.MaxScalar(hidden, 0)
	mean := graph.ReduceSum(graph.Mul(hidden, graph.InsertAxes(part(l.W2(), l.Hidden), -1)), 1)
	if l.Bias {
		mean = graph.Add(mean, part(l.B2(), 1))
	}
	squares := graph.Square(graph.Sub(own, mean))
	if t.counted != nil {
		counted := graph.ConvertDType(graph.Reshape(graph.Const(g, t.counted), nodes, rows), theta.DType())
		squares = graph.Mul(squares, graph.Gather(counted, index))
	}
	return graph.ReduceSum(squares, -1)
}

// linearSquares is |R (w − e_j)|². [B]
func (t *Target) linearSquares(node, theta *graph.Node) *graph.Node {
	nodes, g := t.layout.Nodes, node.Graph()
	weights := graph.SliceAxis(theta, 1, graph.AxisRange(0, nodes))
	index := graph.InsertAxes(node, -1)
	own := graph.ConvertDType(graph.Equal(index, graph.Iota(g, shapes.Make(dtypes.Int32, 1, nodes), 1)), theta.DType())
	residual := graph.Sub(weights, own)
	if t.problem.Data.Counted == nil { // one root for all nodes
		root := graph.ConvertDType(graph.Reshape(graph.Const(g, t.roots[:nodes*nodes]), nodes, nodes), theta.DType())
		return graph.ReduceSum(graph.Square(graph.Einsum("bi,ri->br", residual, root)), -1)
	}
	roots := graph.ConvertDType(graph.Reshape(graph.Const(g, t.roots), nodes, nodes, nodes), theta.DType())
	product := graph.ReduceSum(graph.Mul(graph.Gather(roots, index), graph.InsertAxes(residual, 1)), -1)
	return graph.ReduceSum(graph.Square(product), -1)
}

// logPriorOfParameters is Σ log N(θ_k; 0, σ0²) over the weights in use, plus that of log σ. [B]
func (t *Target) logPriorOfParameters(node, mask, theta *graph.Node) *graph.Node {
	weights, sd := t.layout.Weights(), t.problem.Model.PriorSD
	columns := graph.AxisRange(0, weights)
	own, used := graph.SliceAxis(theta, 1, columns), graph.SliceAxis(mask, 1, columns)
	logDensity := graph.AddScalar(graph.MulScalar(graph.Square(own), -0.5/(sd*sd)), -math.Log(sd)-score.HalfLog2Pi)
	sum := graph.ReduceSum(graph.Where(used, logDensity, graph.ZerosLike(own)), -1)
	if t.layout.Sigma > 0 {
		return sum
	}
	standard := graph.MulScalar(graph.Sub(t.logSigma(theta), t.ofNode(theta, node, t.logSDs)), 1.0/score.LogSigmaSD)
	return graph.Add(sum, graph.AddScalar(graph.MulScalar(graph.Square(standard), -0.5), -math.Log(score.LogSigmaSD)-score.HalfLog2Pi))
}

// MadeTarget is the target of all families for rows of graphs.
func MadeTarget(p *score.Problem) *Target {
	t := NewTarget(p)
	t.Families.cards = append(t.Families.cards, 1<<p.Structure.Nodes)
	return t
}

package flows

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"

	"github.com/transdim/vti"
	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/internal/made"
)

// GraphModels is a learned distribution q(m) over orders of the nodes and graphs along them, for a
// [NodeTarget]. At every position of the order, neural networks give the distributions of
//
//	the next node v     q(v | S) among nodes outside S, the set so far,
//	its parents pa ⊂ S  q(pa | v, S), bit by bit, by a masked network with v and S as context.
//
// Given the order the parents of different nodes are independent, as in the posterior, so that the
// gradient for the edges into a node uses the loss of this node alone. A graph takes N rows of a
// batch, one for each position.
type GraphModels struct {
	structure dgraph.Structure
	hidden    int
	seed      uint64
	parents   *made.Network
}

var _ vti.GroupedModels = (*GraphModels)(nil)

// NewGraphModels returns a distribution of graphs whose networks have the given number of hidden
// units; 0 stands for four units per node, but at least 32 and at most 256. Before training, next
// nodes have equal probabilities, and edges have probability one half.
func NewGraphModels(s dgraph.Structure, hidden int, seed uint64) (*GraphModels, error) {
	hidden = cmp.Or(hidden, min(max(4*s.Nodes, 32), 256))
	parents, err := made.New(made.Config{Inputs: s.Nodes, Context: 2 * s.Nodes, Hidden: hidden, Blocks: 1, Heads: [][]int{slices.Repeat([]int{1}, s.Nodes)}, Seed: seed})
	if err != nil {
		return nil, fmt.Errorf("q(m) of graphs: %w", err)
	}
	return &GraphModels{s, hidden, seed, parents}, nil
}

// String describes the settings that a checkpoint must share to be loaded.
func (m *GraphModels) String() string { return fmt.Sprintf("graphs node by node, %d units", m.hidden) }

// Rows returns the number of rows of a graph in a batch, N.
func (m *GraphModels) Rows() int { return m.structure.Nodes }

// copies returns the number of graphs along each order in a batch of the given number of graphs.
// The mean loss of the other graphs along the order is the baseline in the gradient for a graph's
// edges. More graphs make a better baseline, but leave fewer orders in a batch. Half and twice the
// value give the same answers (docs/benchmarks/constants.md).
func copies(graphs int) int {
	for count := 4; count > 1; count-- {
		if graphs%count == 0 {
			return count
		}
	}
	return 1
}

const network = dtypes.Float32 // number type of the networks

// next returns the log probability log q(v | S) that node v follows the set S of earlier nodes, for
// all v and for R sets given as indicators of their members: [R,N] -> [R,N] float64.
func (m *GraphModels) next(ctx *vti.Context, members *graph.Node) *graph.Node {
	g, nodes := members.Graph(), m.structure.Nodes
	inside := made.Perceptron(ctx.In("order"), m.seed, members, m.hidden)
	logits := made.Linear(ctx.In("next"), m.seed, made.ReLU.Apply(inside), nodes, made.Zeros, made.Zeros)
	required := graph.ConvertDType(graph.Const(g, dgraph.EdgeTable(m.structure.Required)), network)
	missing := graph.Dot(graph.OneMinus(members), required) // required parents that are not in S
	taken := graph.Add(members, missing)
	possible := graph.LessThan(taken, graph.MulScalar(graph.OnesLike(taken), 0.5))
	return made.LogSoftmax(graph.Where(possible, graph.ConvertDType(logits, dtypes.Float64), graph.MulScalar(graph.OnesLike(graph.ConvertDType(taken, dtypes.Float64)), impossible)))
}

// impossible is a log weight that stands for probability zero and keeps sums and differences
// finite.
const impossible = -1e30

// edges holds, inside a computation graph, the distributions of the parents of R nodes.
type edges struct {
	bound *made.Bound
	// indicators of edges that are possible, and of edges that are required [R,N]
	possible, required *graph.Node
	most               float64 // largest number of parents
}

// edges prepares the distributions of the parents of R nodes, given one-hot [R,N]. Row r of members
// marks the nodes that are earlier in the order [R,N].
func (m *GraphModels) edges(ctx *vti.Context, node, members *graph.Node) *edges {
	g := node.Graph()
	indicators := func(sets []dgraph.Set) *graph.Node { // [R,N]
		return graph.Dot(node, graph.Transpose(graph.ConvertDType(graph.Const(g, dgraph.EdgeTable(sets)), network), 0, 1))
	}
	e := &edges{possible: graph.Mul(members, indicators(m.structure.Allowed)), required: indicators(m.structure.Required), most: float64(m.structure.Nodes)}
	if m.structure.MaxParents >= 0 {
		e.most = float64(m.structure.MaxParents)
	}
	e.bound = m.parents.Bind(ctx.In("parents"), g, network, graph.Concatenate([]*graph.Node{node, members}, 1))
	return e
}

// free returns, for each of R rows, whether an edge may be present or absent. There is no choice
// for a required edge, for an edge that is not possible, or if the node has the largest number of
// parents without the edge. others is the number of other parents, chosen or required. All
// arguments are [R,1] or [R,N].
func (e *edges) free(possible, required, others *graph.Node) *graph.Node {
	room := graph.LessThan(others, graph.MulScalar(graph.OnesLike(others), e.most-0.5))
	open := graph.Sub(possible, required)
	return graph.LogicalAnd(graph.GreaterThan(open, graph.MulScalar(graph.OnesLike(open), 0.5)), room)
}

// logProb returns the log probability of each node's parents, as bits: [R,N] -> [R] float64.
func (e *edges) logProb(bits *graph.Node) *graph.Node {
	nodes := bits.Shape().Dim(1)
	odds := graph.ConvertDType(e.bound.Outputs(bits)[0], dtypes.Float64)
	earlier := made.Earlier(bits.Graph(), nodes, network)
	// numbers of parents among nodes before node k, and of required parents after it, for each k
	others := graph.Add(graph.Dot(bits, earlier), graph.Dot(e.required, graph.Transpose(earlier, 0, 1)))
	sign := graph.ConvertDType(graph.AddScalar(graph.MulScalar(bits, 2), -1), dtypes.Float64)
	logProb := graph.Neg(made.Softplus(graph.Neg(graph.Mul(sign, odds))))
	return graph.ReduceSum(graph.Where(e.free(e.possible, e.required, others), logProb, graph.ZerosLike(logProb)), -1)
}

// sample draws the parents of R nodes, as bits 0 and 1 [R,N], from uniform random numbers [R,N].
func (e *edges) sample(uniforms *graph.Node) *graph.Node {
	var drawn []*graph.Node
	rows, nodes := uniforms.Shape().Dim(0), uniforms.Shape().Dim(1)
	column := func(x *graph.Node, i int) *graph.Node { return graph.SliceAxis(x, 1, graph.AxisElem(i)) }
	chosen := graph.Zeros(uniforms.Graph(), shapes.Make(network, rows, 1))
	e.bound.Sequential(rows, func(i int, outputs []*graph.Node) *graph.Node {
		others := chosen
		if i+1 < nodes {
			others = graph.Add(others, graph.ReduceAndKeep(graph.SliceAxis(e.required, 1, graph.AxisRange(i+1)), graph.ReduceSum, -1))
		}
		must := column(e.required, i)
		probability := graph.Sigmoid(graph.ConvertDType(outputs[0], dtypes.Float64))
		taken := graph.ConvertDType(graph.LessThan(column(uniforms, i), probability), network)
		bit := graph.Where(e.free(column(e.possible, i), must, others), taken, must)
		chosen = graph.Add(chosen, bit)
		drawn = append(drawn, bit)
		return bit
	})
	return graph.Concatenate(drawn, 1)
}

// rowsOf decodes codes [G·N,1+N] of G graphs. positions [G,N,N] has a one for the node at each
// position, before [G,N,N] marks the nodes before each position, and bits [G,N,N] marks the parents
// of the node at each position.
func (m *GraphModels) rowsOf(codes *graph.Node) (positions, before, bits *graph.Node) {
	nodes := m.structure.Nodes
	positions = graph.Reshape(graph.OneHot(nodeOf(codes), nodes, network), -1, nodes, nodes)
	bits = graph.Reshape(graph.ConvertDType(parentsOf(codes), network), -1, nodes, nodes)
	return positions, dgraph.Before(positions), bits
}

// logProbs returns the log probabilities of each next node, and of its parents given the node, by
// position, for G graphs: codes [G·N,1+N] -> [G,N] each.
func (m *GraphModels) logProbs(ctx *vti.Context, codes *graph.Node) (next, parents *graph.Node) {
	ctx = ctx.Checked(false)
	nodes := m.structure.Nodes
	positions, before, bits := m.rowsOf(codes)
	flat := func(x *graph.Node) *graph.Node { return graph.Reshape(x, -1, nodes) }
	position := graph.ConvertDType(flat(positions), dtypes.Float64)
	next = graph.ReduceSum(graph.Mul(m.next(ctx, flat(before)), position), -1)
	parents = m.edges(ctx, flat(positions), flat(before)).logProb(flat(bits))
	return graph.Reshape(next, -1, nodes), graph.Reshape(parents, -1, nodes)
}

// LogProb returns each row's part of the log probability of a graph: codes [G·N,1+N] int32 -> [G·N]
// float64.
func (m *GraphModels) LogProb(ctx *vti.Context, codes *graph.Node) *graph.Node {
	next, parents := m.logProbs(ctx, codes)
	return graph.Reshape(graph.Add(next, parents), -1)
}

// Sample draws G graphs, each as N consecutive rows, with several graphs along each order: uniform
// random numbers [G·N,1+N] -> codes [G·N,1+N] int32.
func (m *GraphModels) Sample(ctx *vti.Context, uniforms *graph.Node) *graph.Node {
	ctx = ctx.Checked(false)
	g, nodes := uniforms.Graph(), m.structure.Nodes
	graphs := uniforms.Shape().Dim(0) / nodes
	perOrder := copies(graphs)
	orders := graphs / perOrder
	// uniform random numbers of the first graph along each of O orders: [O,N]
	first := graph.Reshape(graph.SliceAxis(graph.Reshape(graph.SliceAxis(uniforms, 1, graph.AxisElem(0)), orders, perOrder, nodes), 1, graph.AxisElem(0)), orders, nodes)
	members := graph.Zeros(g, shapes.Make(network, orders, nodes))
	upTo := graph.ConvertDType(graph.Transpose(graph.LowerTriangular(g, nodes), 0, 1), dtypes.Float64) // i ≤ k
	var rows []*graph.Node
	for t := range nodes {
		sums := graph.Dot(graph.Exp(m.next(ctx, members)), upTo)
		total := graph.SliceAxis(sums, 1, graph.AxisElem(nodes-1))
		below := graph.LessOrEqual(sums, graph.Mul(total, graph.SliceAxis(first, 1, graph.AxisElem(t))))
		row := graph.OneHot(graph.MinScalar(graph.ReduceSum(graph.ConvertDType(below, dtypes.Int32), 1), nodes-1), nodes, network)
		rows = append(rows, row)
		members = graph.Add(members, row)
	}
	positions := graph.Stack(rows, 1) // [O,N,N]
	spread := func(x *graph.Node) *graph.Node {
		return graph.Reshape(graph.BroadcastToDims(graph.InsertAxes(x, 1), orders, perOrder, nodes, nodes), graphs*nodes, nodes)
	}
	node, before := spread(positions), spread(dgraph.Before(positions))
	bits := m.edges(ctx, node, before).sample(graph.SliceAxis(uniforms, 1, graph.AxisRange(1)))
	index := graph.Dot(node, graph.ConvertDType(graph.Iota(g, shapes.Make(dtypes.Int32, nodes, 1), 0), network))
	return graph.StopGradient(graph.ConvertDType(graph.Concatenate([]*graph.Node{index, bits}, 1), dtypes.Int32))
}

// ScoreLoss returns a scalar with the gradient of the expected loss
//
//	E Σ_j [log h(θ_j | j, pa_j) + log q(v_j | S_j) + log q(pa_j | j, S_j) − log p(pa_j)] − log r
//
// with respect to q(m), over nodes j with parents pa_j. S_j is the set of nodes before j, and h the
// density of the flow divided by the density of the target. For the prior over graphs, r is the
// probability of the order in a random sort of its graph ([dgraph.LogSorted]); for the prior over
// orders r is one. In the gradient, log q of a node's parents is multiplied by the loss of this
// node, less the mean loss of the node in the other graphs along the same order. Log q of a next
// node is multiplied by the sum of the losses at its position and later positions, averaged over
// the graphs along the order, less the mean over other orders. All these losses include −log r.
// Shapes are codes [G·N,1+N] and logH [G·N]. losses [G] holds the loss of each graph, and nonFinite
// is the number of rows left out because logH is not finite.
func (m *GraphModels) ScoreLoss(ctx *vti.Context, codes, logH *graph.Node) (scalar, nonFinite, losses *graph.Node) {
	g, nodes := codes.Graph(), m.structure.Nodes
	graphs := codes.Shape().Dim(0) / nodes
	perOrder := copies(graphs)
	next, parents := m.logProbs(ctx, codes)
	finite := graph.IsFinite(logH)
	nonFinite = graph.ReduceAllSum(graph.ConvertDType(graph.LogicalNot(finite), dtypes.Int32))
	logH = graph.Where(finite, logH, graph.ZerosLike(logH))
	local := graph.Sub(logH, logPriorOfFamilies(m.structure, nodeOf(codes), parentsOf(codes)))
	local = graph.StopGradient(graph.Add(graph.Reshape(local, graphs, nodes), parents))
	sorted := graph.Zeros(g, shapes.Make(dtypes.Float64, graphs, 1))
	if !m.structure.Orders {
		positions, _, bits := m.rowsOf(codes)
		adjacency := graph.GreaterThan(graph.Einsum("gti,gtj->gij", bits, positions), graph.ScalarZero(g, network))
		sorted = graph.Neg(graph.InsertAxes(dgraph.LogSorted(adjacency, positions), -1))
	}
	rows := graph.StopGradient(graph.Add(local, next))
	losses = graph.Add(graph.ReduceSum(rows, 1), graph.Squeeze(sorted, 1))
	if mass := m.structure.LogMass(); !math.IsNaN(mass) {
		losses = graph.AddScalar(losses, mass)
	}

	after := graph.ConvertDType(graph.LowerTriangular(g, nodes), dtypes.Float64) // [u,t], u ≥ t
	toNext := graph.Add(graph.Dot(rows, after), sorted)
	toParents := graph.Add(local, sorted)
	byOrder := func(x *graph.Node) *graph.Node { return graph.Reshape(x, graphs/perOrder, perOrder, nodes) }
	orders := graph.ReduceAndKeep(byOrder(toNext), graph.ReduceMean, 1) // [O,1,N]
	if graphs > perOrder {
		orders = leaveOneOut(orders, 0)
	}
	parentScores := leaveOneOut(byOrder(toParents), 1)
	if perOrder == 1 {
		parentScores = leaveOneOut(byOrder(toParents), 0)
	}
	scores := graph.Add(graph.Mul(orders, byOrder(next)), graph.Mul(parentScores, byOrder(parents)))
	return graph.DivScalar(graph.ReduceAllSum(scores), float64(graphs)), nonFinite, losses
}

// leaveOneOut subtracts from each element the mean of the other elements along an axis. It returns
// zeros if the axis has a single element.
func leaveOneOut(x *graph.Node, axis int) *graph.Node {
	count := float64(x.Shape().Dim(axis))
	if count < 2 {
		return graph.Sub(x, x)
	}
	return graph.MulScalar(graph.Sub(x, graph.ReduceAndKeep(x, graph.ReduceMean, axis)), count/(count-1))
}

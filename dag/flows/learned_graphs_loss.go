package flows

import (
	"math/bits"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"

	"github.com/transdim/vti"
	dgraph "github.com/transdim/vti/dag/graph"
)

// memoryOfFamily is the number of draws of a family that its expected loss remembers. Chosen by
// hand: short, since the flow moves.
const memoryOfFamily = 10

// ScoreLoss is a scalar with the gradient of the expected loss
//
//	E Σ_j [log h(θ_j | j, pa_j) + log q(v_j | S_j) + log q(pa_j | j, S_j) − log p(j, pa_j)]
//	  + E log orders(A)
//
// with respect to q(m), where h is the density of the flow over that of the target and the last
// term is there under the prior over graphs. A table of what log h of each family is expected to
// be, from steps before, is the control variate: its expectation under q(m) is exact, a sum over
// sets of nodes (expectedLoss), and so is its gradient. Score functions are left with what differs
// from it: parents are credited with that of their own family alone, the next node with those of
// its own position and after, both with log orders(A), and from each the mean over the other graphs
// is subtracted. codes [G·N,2], logH [G·N]; losses [G] are those of graphs, nonFinite counts rows
// that were left out.
func (m *LearnedGraphs) ScoreLoss(ctx *vti.Context, codes, logH *graph.Node) (scalar, nonFinite, losses *graph.Node) {
	g, nodes := codes.Graph(), m.structure.Nodes
	graphs := codes.Shape().Dim(0) / nodes
	byGraph := func(x *graph.Node) *graph.Node { return graph.Reshape(x, graphs, nodes) }
	l := m.bind(ctx, g)
	family := column(codes, 0)
	next, parents := m.logProbs(l, codes)
	expectedOf := ctx.Checked(false).VariableWithValue(expectedVariable, negated(m.pilot)).SetTrainable(false)
	expected := graph.StopGradient(expectedOf.ValueGraph(g))

	finite := graph.IsFinite(logH)
	nonFinite = graph.ReduceAllSum(graph.ConvertDType(graph.LogicalNot(finite), dtypes.Int32))
	guess := gather(expected, family)
	logH = graph.StopGradient(graph.Where(finite, logH, guess))
	surprise := graph.Sub(logH, guess)

	prior := gather(graph.Const(g, m.prior), family)
	rows := graph.Sub(graph.Add(logH, graph.StopGradient(graph.Add(next, parents))), prior)
	losses = graph.AddScalar(graph.ReduceSum(byGraph(rows), 1), m.logMass)
	orders := graph.Zeros(g, shapes.Make(dtypes.Float64, graphs, 1))
	if !m.structure.Orders {
		counted := graph.Log(dgraph.CountOrders(m.adjacency(family, graphs)))
		losses = graph.Add(losses, counted)
		orders = leaveOneOut(graph.InsertAxes(counted, -1))
	}
	node := graph.Reshape(gather(graph.Const(g, m.node), family), graphs, nodes, 1)
	own := graph.ConvertDType(graph.Equal(node, graph.Iota(g, shapes.Make(dtypes.Int32, 1, 1, nodes), 2)), dtypes.Float64) // [G, position, N]
	ofNode := leaveOneOut(graph.Einsum("gt,gtj->gj", byGraph(surprise), own))
	toParents := graph.Add(graph.Einsum("gj,gtj->gt", ofNode, own), orders)
	after := make([][]float64, nodes) // sums of a position and all after it
	for u := range nodes {
		after[u] = make([]float64, nodes)
		for t := range u + 1 {
			after[u][t] = 1
		}
	}
	toNext := graph.Add(leaveOneOut(graph.Dot(byGraph(surprise), graph.Const(g, after))), orders)
	scores := graph.Add(graph.Mul(graph.StopGradient(toParents), byGraph(parents)), graph.Mul(graph.StopGradient(toNext), byGraph(next)))
	scalar = graph.Add(graph.DivScalar(graph.ReduceAllSum(scores), float64(graphs)), m.expectedLoss(l, expected))

	index := graph.InsertAxes(family, -1)
	zeros := graph.ZerosLike(expected)
	sum := graph.ScatterSum(zeros, index, surprise, false, false)
	count := graph.ScatterSum(zeros, index, graph.ConvertDType(finite, dtypes.Float64), false, false)
	expectedOf.SetValueGraph(graph.Add(expected, graph.Div(sum, graph.AddScalar(count, memoryOfFamily))))
	return scalar, nonFinite, losses
}

// leaveOneOut subtracts from each row the mean of the others: [G, ·] of at least two.
func leaveOneOut(x *graph.Node) *graph.Node {
	others := float64(x.Shape().Dim(0) - 1)
	return graph.MulScalar(graph.Sub(x, graph.ReduceAndKeep(x, graph.ReduceMean, 0)), (others+1)/others)
}

func negated(values []float64) []float64 {
	out := make([]float64, len(values))
	for i, x := range values {
		out[i] = -x
	}
	return out
}

// adjacency of the graphs of rows: family [G·N] -> [G,N,N] Bool, by cause and effect.
func (m *LearnedGraphs) adjacency(family *graph.Node, graphs int) *graph.Node {
	g, nodes := family.Graph(), m.structure.Nodes
	parents, node := make([][]float32, len(m.families)), make([][]float32, len(m.families))
	for i, f := range m.families {
		parents[i], node[i] = make([]float32, nodes), make([]float32, nodes)
		node[i][f.Node] = 1
		for k := range f.Parents.Nodes() {
			parents[i][k] = 1
		}
	}
	of := func(table [][]float32) *graph.Node {
		return graph.Reshape(graph.Gather(graph.Const(g, table), graph.InsertAxes(family, -1)), graphs, nodes, nodes)
	}
	edges := graph.Einsum("gti,gtj->gij", of(parents), of(node))
	return graph.GreaterThan(edges, graph.Scalar(g, dtypes.Float32, 0.5))
}

// expectedLoss is the exact expectation under q(m) of the sum over nodes of expected [F] + log q(m)
// − log p, by sums over the sets S of nodes so far:
//
//	V(S) = Σ_v q(v | S) [log q(v | S) + E(expected + log q(pa) − log p | v, S) + V(S + v)].
func (m *LearnedGraphs) expectedLoss(l *graphLogits, expected *graph.Node) *graph.Node {
	g, nodes := expected.Graph(), m.structure.Nodes
	// means over the subsets of a set, as partial has their weights
	mean := m.bySet(graph.Sub(graph.Add(expected, l.family), graph.Const(g, m.prior)), 0)
	for k := range nodes {
		without, with := halves(mean, k)
		a, b := halves(l.partial[k], k)
		_, both := halves(l.partial[k+1], k)
		shifted := graph.Add(graph.Mul(graph.Exp(graph.Sub(a, both)), without), graph.Mul(graph.Exp(graph.Sub(b, both)), with))
		mean = rejoined(mean, without, shifted)
	}
	cost := graph.Transpose(graph.Reshape(graph.Sub(mean, l.partial[nodes]), nodes, m.sets()), 0, 1) // [2^N, N]
	bySize, place := make([][]int32, nodes+1), make([]int32, m.sets())
	for set := range m.sets() {
		size := bits.OnesCount(uint(set))
		place[set] = int32(len(bySize[size]))
		bySize[size] = append(bySize[size], int32(set))
	}
	value := graph.Zeros(g, shapes.Make(dtypes.Float64, 1)) // of the set of all nodes
	for size := nodes - 1; size >= 0; size-- {
		sets := bySize[size]
		larger := make([]int32, 0, len(sets)*nodes)
		possible := make([][]bool, len(sets))
		for c, set := range sets {
			possible[c] = make([]bool, nodes)
			for j := range nodes {
				possible[c][j] = m.startsAfter(int(set), j)
				if !possible[c][j] {
					larger = append(larger, 0)
					continue
				}
				larger = append(larger, place[int(set)|1<<j])
			}
		}
		index := graph.InsertAxes(graph.Const(g, sets), -1)
		next, own := graph.Gather(l.next, index), graph.Gather(cost, index)
		then := graph.Reshape(gather(value, graph.Const(g, larger)), len(sets), nodes)
		allowed := graph.Const(g, possible)
		zero := graph.ZerosLike(next)
		inside := graph.Where(allowed, graph.Add(graph.Add(next, own), then), zero)
		value = graph.ReduceSum(graph.Mul(graph.Where(allowed, graph.Exp(next), zero), inside), 1)
	}
	return graph.Reshape(value)
}

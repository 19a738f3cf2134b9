package graph

import (
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"

	"github.com/transdim/vti/internal/made"
)

// LogSorted returns the log probability that a random sort of the nodes of an acyclic graph gives
// an order. A random sort draws the node at each position with equal probabilities among the nodes
// whose parents all have earlier positions. Over the topological orders of a graph A these
// probabilities add up to one. Hence log p(A) plus this value is the log probability of a pair of
// graph and order, with the marginal p(A). Shapes are, for a batch of B graphs of N nodes:
// adjacency [B,N,N] Bool, positions [B,N,N] of 0 and 1 by position and node -> [B] float64
func LogSorted(adjacency, positions *graph.Node) *graph.Node {
	dtype := positions.DType()
	before := Before(positions)
	after := graph.OneMinus(before) // nodes at this or a later position
	missing := graph.Einsum("bti,bij->btj", after, graph.ConvertDType(adjacency, dtype))
	free := graph.LogicalAnd(graph.LessThan(missing, half(missing)), graph.GreaterThan(after, half(after)))
	count := graph.ReduceSum(graph.ConvertDType(free, dtypes.Float64), -1)
	return graph.Neg(graph.ReduceSum(graph.Log(graph.MaxScalar(count, 1)), -1))
}

// Before marks the nodes that stand before each position of an order, for a batch of B orders of N
// nodes. Shapes are [B,N,N] -> [B,N,N], by position and node, with ones for marked nodes.
func Before(positions *graph.Node) *graph.Node {
	earlier := made.Earlier(positions.Graph(), positions.Shape().Dim(1), positions.DType())
	return graph.Einsum("st,bsj->btj", earlier, positions)
}

func half(like *graph.Node) *graph.Node { return graph.MulScalar(graph.OnesLike(like), 0.5) }

package graph

import (
	"fmt"
	"math/bits"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"

	"github.com/transdim/vti/space"
)

// MostCountedNodes bounds the graphs whose topological orders are counted inside a graph function:
// a row takes N 2^N steps, and 10! is exact in float32.
const MostCountedNodes = 10

// CountOrders counts the topological orders of acyclic graphs, as [Graph.Orders] does: adjacency
// [B,N,N] Bool -> [B] float64. A set T of nodes can come first in as many orders as the sets T∖j of
// those j in T whose parents are all in T∖j, taken together; sets of one size are done at a time.
// It panics above 10 nodes.
func CountOrders(adjacency *graph.Node) *graph.Node {
	g, batch, nodes := adjacency.Graph(), adjacency.Shape().Dim(0), adjacency.Shape().Dim(1)
	if nodes > MostCountedNodes {
		panic(fmt.Errorf("graph.countOrders: %d nodes, at most %d can be counted", nodes, MostCountedNodes))
	}
	bySize := make([][]uint, nodes+1)
	place := make([]int32, 1<<nodes) // among the sets of its size
	for set := range uint(1) << nodes {
		size := bits.OnesCount(set)
		place[set] = int32(len(bySize[size]))
		bySize[size] = append(bySize[size], set)
	}
	edges := graph.ConvertDType(adjacency, dtypes.Float32)
	counts := graph.Ones(g, shapes.Make(dtypes.Float32, batch, 1))
	for _, sets := range bySize[1:] {
		// [C, N]: nodes that are not in T; parents of j that may be among them, if j is in T
		outside, most := make([][]float32, len(sets)), make([][]float32, len(sets))
		var before []int32 // [C·N], of T∖j
		for c, set := range sets {
			outside[c], most[c] = make([]float32, nodes), make([]float32, nodes)
			for j := range nodes {
				bit := uint(1) << j
				if set&bit == 0 {
					outside[c][j], most[c][j] = 1, -1
					before = append(before, 0)
				} else {
					most[c][j] = 0.5 // none
					before = append(before, place[set&^bit])
				}
			}
		}
		missing := graph.Einsum("bij,ci->bcj", edges, graph.Const(g, outside))
		earlier := graph.Reshape(space.TakeColumns(counts, before), batch, len(sets), nodes)
		possible := graph.LessThan(missing, graph.InsertAxes(graph.Const(g, most), 0))
		counts = graph.ReduceSum(graph.Where(possible, earlier, graph.ZerosLike(earlier)), 2)
	}
	counts = graph.ConvertDType(counts, dtypes.Float64)
	return graph.Squeeze(counts, 1)
}

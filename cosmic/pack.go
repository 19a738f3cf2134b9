package cosmic

import (
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
)

// packing holds the permutation P_m of proposition 2.2 of the VTI paper for each row of a batch. It
// puts the d_m active coordinates in the first d_m positions, called slots, and the others after
// them, each group in its original order.
type packing struct {
	active  *graph.Node // [B, D] Bool: slot s is in use, s < d_m
	pack    permutation // from coordinates to slots
	unpack  permutation // from slots to coordinates
	reverse permutation // puts the first d_m slots in reverse order
}

// newPacking computes the permutations of mask [B, D] Bool without a sort: the number of active
// coordinates up to each one is a product with a triangular matrix of ones (exact in float32 for D
// < 2^24).
func newPacking(mask *graph.Node) packing {
	g, batch, dim := mask.Graph(), mask.Shape().Dim(0), mask.Shape().Dim(1)
	count := func(m, weights *graph.Node) *graph.Node {
		product := graph.MatMul(graph.ConvertDType(m, dtypes.Float32), graph.ConvertDType(weights, dtypes.Float32))
		return graph.ConvertDType(product, dtypes.Int32)
	}
	rank := count(mask, graph.UpperTriangular(g, dim)) // [B, D] active coordinates among the first i+1
	used := graph.BroadcastToDims(
		graph.ReduceAndKeep(graph.ConvertDType(mask, dtypes.Int32), graph.ReduceSum, 1), batch, dim)

	index := shapes.Make(dtypes.Int32, batch, dim)
	column := graph.Iota(g, index, 1)
	rowStart := graph.MulScalar(graph.Iota(g, index, 0), dim)
	flat := func(position *graph.Node) *graph.Node {
		return graph.Reshape(graph.Add(rowStart, position), batch*dim, 1)
	}
	slots := flat(graph.Where(mask, graph.AddScalar(rank, -1), graph.Add(used, graph.Sub(column, rank))))
	active := graph.LessThan(column, used)
	places := shapes.Make(dtypes.Int32, batch*dim)
	held := graph.Scatter(slots, graph.Reshape(flat(column), batch*dim), places, false, true)
	order := graph.Reshape(held, batch*dim, 1) // the coordinate held by each slot
	reversal := flat(graph.Where(active, graph.AddScalar(graph.Sub(used, column), -1), column))
	return packing{active, permutation{order, slots}, permutation{slots, order}, permutation{reversal, reversal}}
}

// permutation is a stage that permutes the elements of x [B, D]: element i of the result comes from
// the position forth[i] of the flattened x. back is the inverse permutation. Both are [B·D, 1]
// int32.
type permutation struct{ forth, back *graph.Node }

func (p permutation) toParams(x *graph.Node) (y, logSlope *graph.Node) {
	return permute(x, p.forth), nil
}

func (p permutation) toBase(y *graph.Node) (x, logSlope *graph.Node) { return permute(y, p.back), nil }

func permute(x, positions *graph.Node) *graph.Node {
	flat := graph.Reshape(x, x.Shape().Size())
	return graph.Reshape(graph.Gather(flat, positions), x.Shape().Dimensions...)
}

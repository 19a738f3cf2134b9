package modeldist

import (
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
)

// maxFan is the largest number of children of a node of the search tree. It makes trees of few
// levels in which comparing a row of children is cheap. Half and twice the value give the same
// answers (docs/benchmarks/constants.md).
const maxFan = 32

// invertCDF returns, for each u, the first outcome at which the cumulative weight exceeds the
// fraction u of the total: weights [R, M] float64, not negative, and u [B] float64 in [0, 1) -> [B]
// int32. R is B for a row of weights for each u, or 1 for a row that all u share.
//
// The weights of a row are the leaves of a tree in which every node holds the sum of its children.
// Each u walks down from the root. The cost is therefore O(R·M + B·fan·levels) with fan children of
// a node, and if R is 1 no array of size B·M exists. Sums over a tree have only a few rounding
// errors for any M.
//
// An outcome of weight zero is never returned: only children of positive weight are chosen. If
// rounding leaves u above the last running sum, the last child of positive weight is chosen.
func invertCDF(weights, u *graph.Node) *graph.Node {
	g := weights.Graph()
	rows, outcomes := weights.Shape().Dim(0), weights.Shape().Dim(1)
	fan, levels := treeSize(outcomes)

	leaves := fan
	for range levels - 1 {
		leaves *= fan
	}
	if leaves > outcomes {
		padding := graph.Zeros(g, shapes.Make(weights.DType(), rows, leaves-outcomes))
		weights = graph.Concatenate([]*graph.Node{weights, padding}, 1)
	}
	// children[l] is [R·fan^l, fan], with a row for each node of level l. The nodes of one tree are
	// consecutive.
	children := make([]*graph.Node, levels)
	sums := weights
	for level := levels - 1; level >= 0; level-- {
		children[level] = graph.Reshape(sums, -1, fan)
		sums = graph.ReduceSum(children[level], 1)
	}

	node := graph.Zeros(g, shapes.Make(dtypes.Int32, u.Shape().Dim(0)))
	if rows > 1 {
		node = graph.Iota(g, node.Shape(), 0)
	}
	tree := node
	target := graph.Mul(u, sums) // u times the total less the weights to the left of the current node
	runningSum := graph.ConvertDType(graph.UpperTriangular(g, fan), weights.DType())
	for _, rowsOfLevel := range children {
		row := graph.Gather(rowsOfLevel, graph.InsertAxes(node, -1)) // [B, fan]
		running := graph.MatMul(row, runningSum)
		child := firstBeyond(row, running, target)
		before := graph.Mul(graph.OneHot(child, fan, row.DType()), graph.Sub(running, row))
		target = graph.Sub(target, graph.ReduceSum(before, 1))
		node = graph.Add(graph.MulScalar(node, fan), child)
	}
	return graph.Sub(node, graph.MulScalar(tree, leaves))
}

// firstBeyond returns the first column with positive weight whose running sum exceeds the target,
// or the last column with positive weight if no running sum does: row and running [B, F], target
// [B] -> [B] int32. Rows without a positive weight, or with NaN, give column 0.
func firstBeyond(row, running, target *graph.Node) *graph.Node {
	g := row.Graph()
	fan := row.Shape().Dim(1)
	column := graph.Iota(g, shapes.Make(dtypes.Int32, row.Shape().Dimensions...), 1)
	positive := graph.GreaterThan(row, graph.ScalarZero(g, row.DType()))
	beyond := graph.LogicalAnd(positive, graph.GreaterThan(running, graph.InsertAxes(target, -1)))
	first := graph.ReduceMin(graph.Where(beyond, column, graph.Const(g, int32(fan))), 1)
	last := graph.ReduceMax(graph.Where(positive, column, graph.Const(g, int32(0))), 1)
	return graph.Min(first, last)
}

// treeSize returns the fan-out and the number of levels of the search tree for m outcomes: the
// fewest levels that a fan-out of at most maxFan allows, and then the smallest fan-out with m
// leaves.
func treeSize(m int) (fan, levels int) {
	levels = 1
	for capacity := maxFan; capacity < m; capacity *= maxFan {
		levels++
	}
	for fan = 1; ; fan++ {
		capacity := 1
		for range levels {
			capacity *= fan
		}
		if capacity >= m {
			return fan, levels
		}
	}
}

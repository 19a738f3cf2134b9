package simd

import (
	"slices"

	"github.com/gomlx/gomlx/backends"
)

// contraction recognises Σ over axes of a·b, where a and b are broadcast against each other, as a
// matrix product, and returns nil for anything else. GoMLX writes the gradients of Dot and
// DotGeneral as such sums. Without this conversion every term of the product would be stored in
// memory.
//
// An axis of x along which both operands vary is contracting if it is summed, and a batch axis if
// not. An axis along which only one operand varies is free if it is not summed.
func (g *graph) contraction(dims, axes []int, x *node) *node {
	if x.op != backends.OpTypeMul || !x.dtype.IsFloat() {
		return nil
	}
	sides := [2]*node{x.inputs[0], x.inputs[1]}
	varies := func(side, axis int) bool {
		_, v := viewOf(sides[side])
		return v.strides[axis] != 0 && x.dims[axis] > 1
	}
	var batch, contract []int
	var free [2][]int
	for axis, d := range x.dims {
		summed := slices.Contains(axes, axis)
		left, right := varies(0, axis), varies(1, axis)
		switch {
		case d == 1: // the last statement restores this axis
		case left && right && summed:
			contract = append(contract, axis)
		case left && right:
			batch = append(batch, axis)
		case summed || !left && !right:
			return nil
		case left:
			free[0] = append(free[0], axis)
		default:
			free[1] = append(free[1], axis)
		}
	}
	if len(contract) == 0 || len(free[0]) == 0 || len(free[1]) == 0 {
		return nil // a matrix product would gain nothing over one fused pass
	}
	// The operand whose free axes come first becomes the left one, to avoid a transpose.
	if free[0][0] > free[1][0] {
		sides[0], sides[1] = sides[1], sides[0]
		free[0], free[1] = free[1], free[0]
	}
	// Bring the axes of each operand into the order batch, contracting, free; leave out the axes
	// along which the operand only repeats.
	var operands [2]*node
	for side := range sides {
		operands[side] = g.transposed(sides[side], slices.Concat(batch, contract, free[side]))
	}
	batchAxes, contractAxes := iotaInts(len(batch)), iotaInts(len(batch) + len(contract))[len(batch):]
	attr := productAttr{lhsContract: contractAxes, lhsBatch: batchAxes, rhsContract: contractAxes, rhsBatch: batchAxes}
	n := g.dotGeneral(attr.outputDims(operands[0].dims, operands[1].dims), attr, operands[0], operands[1])

	// Bring the axes of the product into the order of the axes of x, then insert the axes of size 1
	// in dims.
	order := slices.Concat(batch, free[0], free[1])
	permutation := make([]int, 0, len(order))
	for _, axis := range slices.Sorted(slices.Values(order)) {
		permutation = append(permutation, slices.Index(order, axis))
	}
	return g.reshaped(g.transposed(n, permutation), dims)
}

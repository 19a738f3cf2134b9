package gpu

import (
	"slices"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/support/xslices"
)

// contracting wraps a builder. It replaces sums of elementwise products of two factors, broadcast
// against each other, by matrix products. GoMLX writes the gradients of Dot and DotGeneral as such
// sums, and XLA does not convert them. For a layer of 256 units and a batch of 8,192 XLA would add
// up 5·10⁸ terms one by one, in a kernel that takes minutes to compile.
type contracting struct {
	backends.Builder
	factors  map[backends.Op][2]factor // the factors of each elementwise product built so far
	repeated map[backends.Op]factor    // the operand of each broadcast built so far
}

// factor is an operation that is a factor of a product, with its size along each axis of the
// product. The size is 1 along an axis along which the factor is repeated. The operation itself may
// lack the axes of size 1.
type factor struct {
	op    backends.Op
	sizes []int
}

func newContracting(builder backends.Builder) *contracting {
	return &contracting{Builder: builder, factors: map[backends.Op][2]factor{}, repeated: map[backends.Op]factor{}}
}

// BroadcastInDim repeats x along axes, and stores x as the operand of the result.
func (b *contracting) BroadcastInDim(x backends.Op, output shapes.Shape, axes []int) (backends.Op, error) {
	wide, err := b.Builder.BroadcastInDim(x, output, axes)
	if err != nil {
		return nil, err
	}
	narrow, err := b.factor(x)
	if err != nil {
		return nil, err
	}
	sizes := slices.Repeat([]int{1}, output.Rank())
	for i, axis := range axes {
		sizes[axis] = narrow.sizes[i]
	}
	b.repeated[wide] = factor{narrow.op, sizes}
	return wide, nil
}

// factor returns an operation as a factor. For a broadcast, it is the operand of the broadcast.
func (b *contracting) factor(x backends.Op) (factor, error) {
	if f, ok := b.repeated[x]; ok {
		return f, nil
	}
	shape, err := b.OpShape(x)
	return factor{x, shape.Dimensions}, err
}

// Mul multiplies element by element, and stores the two factors of the result.
func (b *contracting) Mul(left, right backends.Op) (backends.Op, error) {
	product, err := b.Builder.Mul(left, right)
	if err != nil {
		return nil, err
	}
	var factors [2]factor
	for side, x := range []backends.Op{left, right} {
		if factors[side], err = b.factor(x); err != nil {
			return nil, err
		}
	}
	b.factors[product] = factors
	return product, nil
}

// ReduceSum sums over axes. It builds a matrix product if x is a product that can be contracted.
func (b *contracting) ReduceSum(x backends.Op, axes ...int) (backends.Op, error) {
	if factors, ok := b.factors[x]; ok {
		if sum, err := b.contraction(x, factors, axes); sum != nil || err != nil {
			return sum, err
		}
	}
	return b.Builder.ReduceSum(x, axes...)
}

// contraction returns the sum over axes of x, the product of two factors, as a matrix product. It
// returns nil if the sum is no matrix product. If both factors vary along an axis of x, the axis is
// contracted if it is summed, and otherwise a batch axis. If only one factor varies along an axis
// that is not summed, the axis is free.
func (b *contracting) contraction(x backends.Op, factors [2]factor, axes []int) (backends.Op, error) {
	shape, err := b.OpShape(x)
	if err != nil {
		return nil, err
	}
	rank := shape.Rank()
	if !shape.DType.IsFloat() || len(factors[0].sizes) != rank || len(factors[1].sizes) != rank {
		return nil, nil // x holds integers, or a factor is a scalar
	}
	var batch, contracted, kept []int
	var free [2][]int
	for axis, size := range shape.Dimensions {
		left, right, summed := factors[0].sizes[axis] > 1, factors[1].sizes[axis] > 1, slices.Contains(axes, axis)
		if !summed {
			kept = append(kept, size)
		}
		switch {
		case left && right && summed:
			contracted = append(contracted, axis)
		case left && right:
			batch = append(batch, axis)
		case size == 1: // the last reshape restores the axis
		case summed || !left && !right:
			return nil, nil
		case left:
			free[0] = append(free[0], axis)
		default:
			free[1] = append(free[1], axis)
		}
	}
	if len(contracted) == 0 || len(free[0]) == 0 || len(free[1]) == 0 {
		return nil, nil // a matrix product would not be faster
	}
	// The axes of a factor are in the order batch, contracted, free; the axes of the product are in
	// the order batch, free of the left factor, free of the right factor.
	var operands [2]backends.Op
	for side, factor := range factors {
		if operands[side], err = b.arranged(factor, slices.Concat(batch, contracted, free[side])); err != nil {
			return nil, err
		}
	}
	batchAxes, contractedAxes := xslices.Iota(0, len(batch)), xslices.Iota(len(batch), len(contracted))
	product, err := b.DotGeneral(operands[0], contractedAxes, batchAxes, operands[1], contractedAxes, batchAxes)
	if err != nil {
		return nil, err
	}
	order := slices.Concat(batch, free[0], free[1])
	permutation := make([]int, 0, len(order))
	for _, axis := range slices.Sorted(slices.Values(order)) {
		permutation = append(permutation, slices.Index(order, axis))
	}
	if product, err = b.Transpose(product, permutation...); err != nil {
		return nil, err
	}
	return b.Reshape(product, kept...)
}

// arranged drops the axes of size 1 of a factor, and transposes the other axes into the given
// order, which lists each of them.
func (b *contracting) arranged(f factor, order []int) (backends.Op, error) {
	ascending := slices.Sorted(slices.Values(order))
	var dims, permutation []int
	for _, axis := range ascending {
		dims = append(dims, f.sizes[axis])
	}
	for _, axis := range order {
		permutation = append(permutation, slices.Index(ascending, axis))
	}
	x, err := b.Reshape(f.op, dims...)
	if err != nil {
		return nil, err
	}
	return b.Transpose(x, permutation...)
}

package simd

import (
	"slices"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/pkg/errors"
)

// Dot is the product of two vectors or matrices: it sums over the last axis of lhs and the first
// axis of rhs.
func (b *Builder) Dot(lhs, rhs backends.Op) (backends.Op, error) {
	in, err := b.check("Dot", lhs, rhs)
	if err != nil {
		return nil, err
	}
	rank := len(in[0].dims)
	if rank < 1 || rank > 2 || len(in[1].dims) < 1 || len(in[1].dims) > 2 {
		return nil, errors.Errorf("simd: Dot: want vectors or matrices, got %s and %s", in[0].shape(), in[1].shape())
	}
	return b.DotGeneral(lhs, []int{rank - 1}, nil, rhs, []int{0}, nil)
}

// DotGeneral multiplies lhs and rhs and sums the products over the contracting axes. Batch axes of
// lhs and rhs are paired. The axes of the result are the batch axes, then the remaining axes of
// lhs, then the remaining axes of rhs.
func (b *Builder) DotGeneral(lhs backends.Op, lhsContractingAxes, lhsBatchAxes []int,
	rhs backends.Op, rhsContractingAxes, rhsBatchAxes []int) (backends.Op, error) {
	in, err := b.check("DotGeneral", lhs, rhs)
	if err != nil {
		return nil, err
	}
	l, r := in[0], in[1]
	if l.dtype != r.dtype || l.dtype == dtypes.Bool {
		return nil, errors.Errorf("simd: DotGeneral: want numbers of one element type, got %s and %s", l.shape(), r.shape())
	}
	if err := checkAxes("DotGeneral (left)", l, slices.Concat(lhsContractingAxes, lhsBatchAxes)); err != nil {
		return nil, err
	}
	if err := checkAxes("DotGeneral (right)", r, slices.Concat(rhsContractingAxes, rhsBatchAxes)); err != nil {
		return nil, err
	}
	if len(lhsContractingAxes) != len(rhsContractingAxes) || len(lhsBatchAxes) != len(rhsBatchAxes) {
		return nil, errors.Errorf("simd: DotGeneral: want as many contracting and batch axes left and right, got %v %v and %v %v",
			lhsContractingAxes, lhsBatchAxes, rhsContractingAxes, rhsBatchAxes)
	}
	for i, axis := range slices.Concat(lhsContractingAxes, lhsBatchAxes) {
		other := slices.Concat(rhsContractingAxes, rhsBatchAxes)[i]
		if l.dims[axis] != r.dims[other] {
			return nil, errors.Errorf("simd: DotGeneral: axis %d of %s and axis %d of %s differ in size", axis, l.shape(), other, r.shape())
		}
	}
	attr := productAttr{lhsContract: slices.Clone(lhsContractingAxes), lhsBatch: slices.Clone(lhsBatchAxes),
		rhsContract: slices.Clone(rhsContractingAxes), rhsBatch: slices.Clone(rhsBatchAxes)}
	return b.add(backends.OpTypeDotGeneral, shapes.Make(l.dtype, attr.outputDims(l.dims, r.dims)...), attr, l, r), nil
}

// freeAxes returns the axes below rank that are neither in contract nor in batch.
func freeAxes(rank int, contract, batch []int) []int {
	free := []int{}
	for axis := range rank {
		if !slices.Contains(contract, axis) && !slices.Contains(batch, axis) {
			free = append(free, axis)
		}
	}
	return free
}

func (p productAttr) outputDims(lhs, rhs []int) []int {
	dims := []int{}
	for _, axis := range slices.Concat(p.lhsBatch, freeAxes(len(lhs), p.lhsContract, p.lhsBatch)) {
		dims = append(dims, lhs[axis])
	}
	for _, axis := range freeAxes(len(rhs), p.rhsContract, p.rhsBatch) {
		dims = append(dims, rhs[axis])
	}
	return dims
}

// RNGBitGenerator returns an array of the given shape filled with random bits, and the state from
// which the next call continues the stream; see random.go.
func (b *Builder) RNGBitGenerator(state backends.Op, shape shapes.Shape) (newState, values backends.Op, err error) {
	in, err := b.check("RNGBitGenerator", state)
	if err != nil {
		return nil, nil, err
	}
	if !in[0].shape().Equal(backends.RNGStateShape) {
		return nil, nil, errors.Errorf("simd: RNGBitGenerator: want a state of shape %s, got %s", backends.RNGStateShape, in[0].shape())
	}
	if err := checkDType("RNGBitGenerator", shape.DType); err != nil {
		return nil, nil, err
	}
	if shape.DType == dtypes.Bool {
		return nil, nil, errors.Errorf("simd: RNGBitGenerator: want numbers, got %s", shape)
	}
	n := b.add(opRandomState, backends.RNGStateShape.Clone(), randomBlocks(shape.Size()*shape.DType.Size()), in[0])
	return n, b.add(opRandomBits, shape.Clone(), nil, in[0]), nil
}

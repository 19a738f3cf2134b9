package simd

import (
	"slices"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/backends/shapeinference"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/pkg/errors"
)

// withIndexAxis returns indices with an explicit axis indexAxis, along which the numbers of an
// index vector lie. If indexAxis is the rank of indices, an index vector is a single number, and
// withIndexAxis appends an axis of size 1.
func (b *Builder) withIndexAxis(operation string, indices *node, indexAxis int) (*node, error) {
	if !indices.dtype.IsInt() {
		return nil, errors.Errorf("simd: %s: want integer indices, got %s", operation, indices.shape())
	}
	if indexAxis < 0 || indexAxis > len(indices.dims) {
		return nil, errors.Errorf("simd: %s: index axis %d is outside indices %s", operation, indexAxis, indices.shape())
	}
	if indexAxis < len(indices.dims) {
		return indices, nil
	}
	dims := append(slices.Clone(indices.dims), 1)
	return b.add(backends.OpTypeReshape, shapes.Make(indices.dtype, dims...), nil, indices), nil
}

// Gather collects slices of operand that start at startIndices. Starts are clamped so that slices
// lie inside operand.
func (b *Builder) Gather(operand, startIndices backends.Op, indexVectorAxis int,
	offsetOutputAxes, collapsedSliceAxes, startIndexMap, sliceSizes []int, indicesAreSorted bool) (backends.Op, error) {
	in, err := b.check("Gather", operand, startIndices)
	if err != nil {
		return nil, err
	}
	indices, err := b.withIndexAxis("Gather", in[1], indexVectorAxis)
	if err != nil {
		return nil, err
	}
	if !slices.IsSorted(offsetOutputAxes) {
		return nil, errors.Errorf("simd: Gather: want increasing offset axes, got %v", offsetOutputAxes)
	}
	shape, err := shapeinference.Gather(in[0].shape(), indices.shape(), min(indexVectorAxis, len(in[0].dims)),
		offsetOutputAxes, collapsedSliceAxes, startIndexMap, sliceSizes, indicesAreSorted)
	// Package shapeinference would refuse this indexVectorAxis, because it compares the axis with
	// the rank of operand instead of the rank of indices.
	if indexVectorAxis > len(in[0].dims) {
		shape, err = b.gatherShape(in[0], indices, indexVectorAxis, offsetOutputAxes, sliceSizes, collapsedSliceAxes)
	}
	if err != nil {
		return nil, err
	}
	attr := gatherAttr{indexAxis: indexVectorAxis, offsetAxes: slices.Clone(offsetOutputAxes),
		collapsedAxes: slices.Clone(collapsedSliceAxes), startMap: slices.Clone(startIndexMap), sliceDims: slices.Clone(sliceSizes)}
	return b.add(backends.OpTypeGather, shape, attr, in[0], indices), nil
}

// gatherShape returns the shape of the result of Gather: the dimensions of slices that are not
// collapsed, at offsetAxes, and the dimensions of indices other than indexAxis, at the remaining
// axes.
func (b *Builder) gatherShape(operand, indices *node, indexAxis int, offsetAxes, sliceDims, collapsed []int) (shapes.Shape, error) {
	batch := slices.Delete(slices.Clone(indices.dims), indexAxis, indexAxis+1)
	if len(sliceDims) != len(operand.dims) || len(offsetAxes)+len(collapsed) != len(operand.dims) {
		return shapes.Invalid(), errors.Errorf("simd: Gather: want one slice size per axis of %s and %d offset axes, got %v and %v",
			operand.shape(), len(operand.dims)-len(collapsed), sliceDims, offsetAxes)
	}
	var window []int
	for axis, d := range sliceDims {
		if d < 0 || d > operand.dims[axis] {
			return shapes.Invalid(), errors.Errorf("simd: Gather: slice size %d does not fit axis %d of %s", d, axis, operand.shape())
		}
		if !slices.Contains(collapsed, axis) {
			window = append(window, d)
		}
	}
	dims := make([]int, 0, len(batch)+len(window))
	for axis := range cap(dims) {
		if slices.Contains(offsetAxes, axis) {
			dims, window = append(dims, window[0]), window[1:]
		} else {
			dims, batch = append(dims, batch[0]), batch[1:]
		}
	}
	return shapes.Make(operand.dtype, dims...), nil
}

func (b *Builder) scatter(op backends.OpType, operand, scatterIndices, updates backends.Op, indexVectorAxis int,
	updateWindowAxes, insertedWindowAxes, scatterAxesToOperandAxes []int) (backends.Op, error) {
	in, err := b.check(op.String(), operand, scatterIndices, updates)
	if err != nil {
		return nil, err
	}
	indices, err := b.withIndexAxis(op.String(), in[1], indexVectorAxis)
	if err != nil {
		return nil, err
	}
	shape, err := shapeinference.ScatterOp(in[0].shape(), indices.shape(), in[2].shape(), indexVectorAxis,
		updateWindowAxes, insertedWindowAxes, scatterAxesToOperandAxes)
	if err != nil {
		return nil, err
	}
	if in[0].dtype == dtypes.Bool {
		return nil, errors.Errorf("simd: %s: want numbers, got %s", op, in[0].shape())
	}
	attr := scatterAttr{indexAxis: indexVectorAxis, windowAxes: slices.Clone(updateWindowAxes),
		insertedAxes: slices.Clone(insertedWindowAxes), operandAxes: slices.Clone(scatterAxesToOperandAxes)}
	return b.add(op, shape, attr, in[0], indices, in[2]), nil
}

// ScatterSum adds updates to operand at scatterIndices. An update that reaches outside operand is
// skipped, as in XLA.
func (b *Builder) ScatterSum(operand, scatterIndices, updates backends.Op, indexVectorAxis int,
	updateWindowAxes, insertedWindowAxes, scatterAxesToOperandAxes []int, _, _ bool) (backends.Op, error) {
	return b.scatter(backends.OpTypeScatterSum, operand, scatterIndices, updates, indexVectorAxis,
		updateWindowAxes, insertedWindowAxes, scatterAxesToOperandAxes)
}

// ScatterMax is ScatterSum with the larger of the two values instead of their sum.
func (b *Builder) ScatterMax(operand, scatterIndices, updates backends.Op, indexVectorAxis int,
	updateWindowAxes, insertedWindowAxes, scatterAxesToOperandAxes []int, _, _ bool) (backends.Op, error) {
	return b.scatter(backends.OpTypeScatterMax, operand, scatterIndices, updates, indexVectorAxis,
		updateWindowAxes, insertedWindowAxes, scatterAxesToOperandAxes)
}

// ScatterMin is ScatterSum with the smaller of the two values instead of their sum.
func (b *Builder) ScatterMin(operand, scatterIndices, updates backends.Op, indexVectorAxis int,
	updateWindowAxes, insertedWindowAxes, scatterAxesToOperandAxes []int, _, _ bool) (backends.Op, error) {
	return b.scatter(backends.OpTypeScatterMin, operand, scatterIndices, updates, indexVectorAxis,
		updateWindowAxes, insertedWindowAxes, scatterAxesToOperandAxes)
}

// checkStarts returns the nodes of operands, followed by the start index along each axis of the
// first operand as a scalar. The argument starts must hold either these scalars or one vector of
// them.
func (b *Builder) checkStarts(operation string, operands []backends.Op, starts []backends.Op) ([]*node, error) {
	in, err := b.check(operation, append(slices.Clone(operands), starts...)...)
	if err != nil {
		return nil, err
	}
	if rank := len(in[0].dims); len(starts) == 1 && slices.Equal(in[len(operands)].dims, []int{rank}) {
		vector := in[len(operands)]
		in, starts = in[:len(operands)], make([]backends.Op, rank)
		for axis := range starts {
			attr := sliceAttr{starts: []int{axis}, limits: []int{axis + 1}, steps: []int{1}}
			one := b.add(backends.OpTypeSlice, shapes.Make(vector.dtype, 1), attr, vector)
			in = append(in, b.add(backends.OpTypeReshape, shapes.Make(vector.dtype), nil, one))
		}
	}
	if len(starts) != len(in[0].dims) {
		return nil, errors.Errorf("simd: %s: want %d start indices for %s, got %d", operation, len(in[0].dims), in[0].shape(), len(starts))
	}
	for _, s := range in[len(operands):] {
		if len(s.dims) != 0 || !s.dtype.IsInt() {
			return nil, errors.Errorf("simd: %s: want scalar integer start indices, got %s", operation, s.shape())
		}
	}
	return in, nil
}

// DynamicSlice returns the slice of operand of shape sliceDims that starts at startIndices. Starts
// are clamped so that the slice lies inside operand.
func (b *Builder) DynamicSlice(operand backends.Op, startIndices []backends.Op, sliceDims []int) (backends.Op, error) {
	in, err := b.checkStarts("DynamicSlice", []backends.Op{operand}, startIndices)
	if err != nil {
		return nil, err
	}
	if len(sliceDims) != len(in[0].dims) {
		return nil, errors.Errorf("simd: DynamicSlice: want %d slice sizes for %s, got %v", len(in[0].dims), in[0].shape(), sliceDims)
	}
	for axis, d := range sliceDims {
		if d < 0 || d > in[0].dims[axis] {
			return nil, errors.Errorf("simd: DynamicSlice: slice size %d does not fit axis %d of %s", d, axis, in[0].shape())
		}
	}
	return b.add(backends.OpTypeDynamicSlice, shapes.Make(in[0].dtype, slices.Clone(sliceDims)...), nil, in...), nil
}

// DynamicUpdateSlice returns operand with update written over it at startIndices. Starts are
// clamped so that update lies inside operand.
func (b *Builder) DynamicUpdateSlice(operand, update backends.Op, startIndices []backends.Op) (backends.Op, error) {
	in, err := b.checkStarts("DynamicUpdateSlice", []backends.Op{operand, update}, startIndices)
	if err != nil {
		return nil, err
	}
	if in[0].dtype != in[1].dtype || len(in[0].dims) != len(in[1].dims) {
		return nil, errors.Errorf("simd: DynamicUpdateSlice: update %s does not match operand %s", in[1].shape(), in[0].shape())
	}
	for axis, d := range in[1].dims {
		if d > in[0].dims[axis] {
			return nil, errors.Errorf("simd: DynamicUpdateSlice: update %s does not fit operand %s", in[1].shape(), in[0].shape())
		}
	}
	return b.add(backends.OpTypeDynamicUpdateSlice, in[0].shape(), nil, in...), nil
}

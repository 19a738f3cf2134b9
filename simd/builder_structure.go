package simd

import (
	"slices"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/backends/shapeinference"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/pkg/errors"
)

// Identity returns a new operation with the value of x.
func (b *Builder) Identity(x backends.Op) (backends.Op, error) {
	in, err := b.check("Identity", x)
	if err != nil {
		return nil, err
	}
	return b.add(backends.OpTypeIdentity, in[0].shape(), nil, in[0]), nil
}

// Iota returns an array whose elements count from 0 along axis.
func (b *Builder) Iota(shape shapes.Shape, axis int) (backends.Op, error) {
	if _, err := b.check("Iota"); err != nil {
		return nil, err
	}
	if err := checkDType("Iota", shape.DType); err != nil {
		return nil, err
	}
	if shape.DType == dtypes.Bool || axis < 0 || axis >= shape.Rank() {
		return nil, errors.Errorf("simd: Iota: want numbers and an axis of shape %s, got axis %d", shape, axis)
	}
	return b.add(backends.OpTypeIota, shape.Clone(), axis), nil
}

// Reshape returns the elements of x in row-major order as an array of the given dimensions.
func (b *Builder) Reshape(x backends.Op, dimensions ...int) (backends.Op, error) {
	in, err := b.check("Reshape", x)
	if err != nil {
		return nil, err
	}
	shape, err := shapeinference.ReshapeOp(in[0].shape(), dimensions)
	if err != nil {
		return nil, err
	}
	return b.add(backends.OpTypeReshape, shape.Clone(), nil, in[0]), nil
}

// Transpose reorders axes: axis a of the result is axis permutation[a] of x.
func (b *Builder) Transpose(x backends.Op, permutation ...int) (backends.Op, error) {
	in, err := b.check("Transpose", x)
	if err != nil {
		return nil, err
	}
	shape, err := shapeinference.TransposeOp(in[0].shape(), permutation)
	if err != nil {
		return nil, err
	}
	return b.add(backends.OpTypeTranspose, shape, slices.Clone(permutation), in[0]), nil
}

// BroadcastInDim repeats x so that the result has outputShape. Axis a of x becomes axis
// broadcastAxes[a] of the result.
func (b *Builder) BroadcastInDim(x backends.Op, outputShape shapes.Shape, broadcastAxes []int) (backends.Op, error) {
	in, err := b.check("BroadcastInDim", x)
	if err != nil {
		return nil, err
	}
	if err := shapeinference.BroadcastInDimOp(in[0].shape(), outputShape, broadcastAxes); err != nil {
		return nil, err
	}
	dims := slices.Clone(outputShape.Dimensions)
	attr := broadcastAttr{dims: dims, axes: slices.Clone(broadcastAxes)}
	return b.add(backends.OpTypeBroadcastInDim, shapes.Make(in[0].dtype, dims...), attr, in[0]), nil
}

// Slice returns the elements of x at positions start, start+stride, … below limit along every axis.
func (b *Builder) Slice(x backends.Op, starts, limits, strides []int) (backends.Op, error) {
	in, err := b.check("Slice", x)
	if err != nil {
		return nil, err
	}
	rank := len(in[0].dims)
	steps := slices.Clone(strides)
	if len(steps) == 0 {
		steps = slices.Repeat([]int{1}, rank)
	}
	if len(starts) != rank || len(limits) != rank || len(steps) != rank {
		return nil, errors.Errorf("simd: Slice: want %d starts, limits and strides for shape %s, got %d, %d and %d",
			rank, in[0].shape(), len(starts), len(limits), len(steps))
	}
	dims := make([]int, rank)
	for axis, d := range in[0].dims {
		if starts[axis] < 0 || limits[axis] < starts[axis] || limits[axis] > d || steps[axis] < 1 {
			return nil, errors.Errorf("simd: Slice: want 0 ≤ start ≤ limit ≤ %d and stride ≥ 1 on axis %d of %s, got %d, %d and %d",
				d, axis, in[0].shape(), starts[axis], limits[axis], steps[axis])
		}
		dims[axis] = (limits[axis] - starts[axis] + steps[axis] - 1) / steps[axis]
	}
	attr := sliceAttr{starts: slices.Clone(starts), limits: slices.Clone(limits), steps: steps}
	return b.add(backends.OpTypeSlice, shapes.Make(in[0].dtype, dims...), attr, in[0]), nil
}

// Reverse reverses the order of the elements of x along axes.
func (b *Builder) Reverse(x backends.Op, axes ...int) (backends.Op, error) {
	in, err := b.check("Reverse", x)
	if err != nil {
		return nil, err
	}
	if err := checkAxes("Reverse", in[0], axes); err != nil {
		return nil, err
	}
	return b.add(backends.OpTypeReverse, in[0].shape(), slices.Clone(axes), in[0]), nil
}

// Concatenate joins operands along axis.
func (b *Builder) Concatenate(axis int, operands ...backends.Op) (backends.Op, error) {
	in, err := b.check("Concatenate", operands...)
	if err != nil {
		return nil, err
	}
	all := make([]shapes.Shape, len(in))
	for i, n := range in {
		all[i] = n.shape()
	}
	shape, err := shapeinference.ConcatenateOp(all, axis)
	if err != nil {
		return nil, err
	}
	if len(in) == 1 {
		return b.add(backends.OpTypeIdentity, shape, nil, in[0]), nil
	}
	return b.add(backends.OpTypeConcatenate, shape, axis, in...), nil
}

// Pad inserts fillValue before, after and between the elements of x. A negative amount before or
// after removes elements instead.
func (b *Builder) Pad(x, fillValue backends.Op, axesConfig ...backends.PadAxis) (backends.Op, error) {
	in, err := b.check("Pad", x, fillValue)
	if err != nil {
		return nil, err
	}
	rank := len(in[0].dims)
	if len(in[1].dims) != 0 || in[1].dtype != in[0].dtype || len(axesConfig) > rank {
		return nil, errors.Errorf("simd: Pad: want a scalar fill value of type %s and at most %d axes, got %s and %d",
			in[0].dtype, rank, in[1].shape(), len(axesConfig))
	}
	axes := make([]backends.PadAxis, rank)
	copy(axes, axesConfig)
	dims := make([]int, rank)
	for axis, d := range in[0].dims {
		p := axes[axis]
		dims[axis] = p.Start + d + max(0, d-1)*p.Interior + p.End
		if p.Interior < 0 || dims[axis] < 0 {
			return nil, errors.Errorf("simd: Pad: padding %+v leaves no room on axis %d of %s", p, axis, in[0].shape())
		}
	}
	return b.add(backends.OpTypePad, shapes.Make(in[0].dtype, dims...), padAttr{axes}, in...), nil
}

// Bitcast reinterprets the bits of x as elements of dtype. If the sizes of elements differ, the
// result has one axis more or less at the end.
func (b *Builder) Bitcast(x backends.Op, dtype dtypes.DType) (backends.Op, error) {
	in, err := b.check("Bitcast", x)
	if err != nil {
		return nil, err
	}
	if err := checkDType("Bitcast", dtype); err != nil {
		return nil, err
	}
	from, to, dims := in[0].dtype.Size(), dtype.Size(), slices.Clone(in[0].dims)
	switch {
	case to > from:
		last := len(dims) - 1
		if last < 0 || dims[last] != to/from {
			return nil, errors.Errorf("simd: Bitcast to %s: want a last axis of size %d, got %s", dtype, to/from, in[0].shape())
		}
		dims = dims[:last]
	case to < from:
		dims = append(dims, from/to)
	}
	return b.add(backends.OpTypeBitcast, shapes.Make(dtype, dims...), nil, in[0]), nil
}

func checkAxes(operation string, x *node, axes []int) error {
	for i, axis := range axes {
		if axis < 0 || axis >= len(x.dims) || slices.Contains(axes[:i], axis) {
			return errors.Errorf("simd: %s: want distinct axes of %s, got %v", operation, x.shape(), axes)
		}
	}
	return nil
}

package simd

import (
	"slices"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/backends/shapeinference"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/pkg/errors"
)

// reduce records a reduction of x over axes, or over all axes of x if axes is empty. The argument
// accepts reports whether the reduction supports an element type.
func (b *Builder) reduce(op backends.OpType, x backends.Op, axes []int, accepts func(dtypes.DType) bool) (backends.Op, error) {
	in, err := b.check(op.String(), x)
	if err != nil {
		return nil, err
	}
	if !accepts(in[0].dtype) {
		return nil, errors.Errorf("simd: %s: element type of %s does not fit", op, in[0].shape())
	}
	if len(axes) == 0 {
		axes = iotaInts(len(in[0].dims))
	}
	if err := checkAxes(op.String(), in[0], axes); err != nil {
		return nil, err
	}
	axes = slices.Sorted(slices.Values(axes))
	dims := []int{}
	for axis, d := range in[0].dims {
		if !slices.Contains(axes, axis) {
			dims = append(dims, d)
		}
	}
	return b.add(op, shapes.Make(in[0].dtype, dims...), axes, in[0]), nil
}

func isNumber(d dtypes.DType) bool  { return d != dtypes.Bool }
func isInteger(d dtypes.DType) bool { return d.IsInt() }
func isBool(d dtypes.DType) bool    { return d == dtypes.Bool }

// ArgMinMax returns the position along axis of the smallest or largest element. Among equal
// elements it chooses the first, and a NaN counts as smaller or larger than all numbers.
func (b *Builder) ArgMinMax(x backends.Op, axis int, outputDType dtypes.DType, isMin bool) (backends.Op, error) {
	in, err := b.check("ArgMinMax", x)
	if err != nil {
		return nil, err
	}
	shape, err := shapeinference.ArgMinMaxOp(in[0].shape(), axis, outputDType)
	if err != nil {
		return nil, err
	}
	if err := checkDType("ArgMinMax", outputDType); err != nil {
		return nil, err
	}
	if in[0].dims[axis] == 0 {
		return nil, errors.Errorf("simd: ArgMinMax: axis %d of %s is empty", axis, in[0].shape())
	}
	return b.add(backends.OpTypeArgMinMax, shape, argAttr{axis: axis, min: isMin}, in[0]), nil
}

// ReduceWindow reduces the elements under a window that moves over x. Positions of the window
// outside x, and positions between the elements of x that baseDilations inserts, are ignored.
func (b *Builder) ReduceWindow(x backends.Op, reduction backends.ReduceOpType, window, strides, baseDilations,
	windowDilations []int, paddings [][2]int) (backends.Op, error) {
	in, err := b.check("ReduceWindow", x)
	if err != nil {
		return nil, err
	}
	shape, err := shapeinference.ReduceWindowOp(in[0].shape(), window, strides, baseDilations, windowDilations, paddings)
	if err != nil {
		return nil, err
	}
	ordered := reduction == backends.ReduceOpMax || reduction == backends.ReduceOpMin
	if !ordered && (in[0].dtype == dtypes.Bool || reduction == backends.ReduceOpUndefined) {
		return nil, errors.Errorf("simd: ReduceWindow: want numbers and a reduction, got %s and %s", in[0].shape(), reduction)
	}
	attr := newWindow(len(in[0].dims), window, strides, baseDilations, windowDilations, paddings)
	attr.reduce = reduction
	return b.add(backends.OpTypeReduceWindow, shape, attr, in[0]), nil
}

// newWindow copies the parameters of a window. Parameters that are empty get the defaults of GoMLX:
// strides equal to the size of the window, no dilation and no padding.
func newWindow(rank int, window, strides, baseDilations, windowDilations []int, paddings [][2]int) windowAttr {
	ones := slices.Repeat([]int{1}, rank)
	attr := windowAttr{window: ones, baseDilation: ones, dilation: ones, paddings: make([][2]int, rank)}
	if len(window) > 0 {
		attr.window = slices.Clone(window)
	}
	attr.steps = attr.window
	if len(strides) > 0 {
		attr.steps = slices.Clone(strides)
	}
	if len(baseDilations) > 0 {
		attr.baseDilation = slices.Clone(baseDilations)
	}
	if len(windowDilations) > 0 {
		attr.dilation = slices.Clone(windowDilations)
	}
	copy(attr.paddings, paddings)
	return attr
}

// selectAndScatter records the gradient of ReduceWindow with Max or Min. Each window has one
// element in source. This element is added at the position of the extreme element of operand under
// the window; if several elements are equal, at the position of the first.
func (b *Builder) selectAndScatter(op backends.OpType, reduction backends.ReduceOpType, operand, source backends.Op,
	window, strides []int, paddings [][2]int) (backends.Op, error) {
	in, err := b.check(op.String(), operand, source)
	if err != nil {
		return nil, err
	}
	shape, err := shapeinference.ReduceWindowOp(in[0].shape(), window, strides, nil, nil, paddings)
	if err != nil {
		return nil, err
	}
	if in[0].dtype == dtypes.Bool || !shape.Equal(in[1].shape()) {
		return nil, errors.Errorf("simd: %s: want numbers and a source of shape %s, got %s", op, shape, in[1].shape())
	}
	attr := newWindow(len(in[0].dims), window, strides, nil, nil, paddings)
	attr.reduce = reduction
	return b.add(op, in[0].shape(), attr, in...), nil
}

// SelectAndScatterMax returns an array of the shape of operand, to which each element of source is
// added at the position of the largest element of operand in the corresponding window.
func (b *Builder) SelectAndScatterMax(operand, source backends.Op, window, strides []int, paddings [][2]int) (backends.Op, error) {
	return b.selectAndScatter(backends.OpTypeSelectAndScatterMax, backends.ReduceOpMax, operand, source, window, strides, paddings)
}

// SelectAndScatterMin returns an array of the shape of operand, to which each element of source is
// added at the position of the smallest element of operand in the corresponding window.
func (b *Builder) SelectAndScatterMin(operand, source backends.Op, window, strides []int, paddings [][2]int) (backends.Op, error) {
	return b.selectAndScatter(backends.OpTypeSelectAndScatterMin, backends.ReduceOpMin, operand, source, window, strides, paddings)
}

// ReduceSum adds up the elements along axes (all axes when none is given).
func (b *Builder) ReduceSum(x backends.Op, axes ...int) (backends.Op, error) {
	return b.reduce(backends.OpTypeReduceSum, x, axes, isNumber)
}

// ReduceProduct multiplies the elements along axes (all axes when none is given).
func (b *Builder) ReduceProduct(x backends.Op, axes ...int) (backends.Op, error) {
	return b.reduce(backends.OpTypeReduceProduct, x, axes, isNumber)
}

// ReduceMax takes the largest of the elements along axes (all axes when none is given).
func (b *Builder) ReduceMax(x backends.Op, axes ...int) (backends.Op, error) {
	return b.reduce(backends.OpTypeReduceMax, x, axes, isNumber)
}

// ReduceMin takes the smallest of the elements along axes (all axes when none is given).
func (b *Builder) ReduceMin(x backends.Op, axes ...int) (backends.Op, error) {
	return b.reduce(backends.OpTypeReduceMin, x, axes, isNumber)
}

// ReduceBitwiseAnd combines by & the elements along axes (all axes when none is given).
func (b *Builder) ReduceBitwiseAnd(x backends.Op, axes ...int) (backends.Op, error) {
	return b.reduce(backends.OpTypeReduceBitwiseAnd, x, axes, isInteger)
}

// ReduceBitwiseOr combines by | the elements along axes (all axes when none is given).
func (b *Builder) ReduceBitwiseOr(x backends.Op, axes ...int) (backends.Op, error) {
	return b.reduce(backends.OpTypeReduceBitwiseOr, x, axes, isInteger)
}

// ReduceBitwiseXor combines by ^ the elements along axes (all axes when none is given).
func (b *Builder) ReduceBitwiseXor(x backends.Op, axes ...int) (backends.Op, error) {
	return b.reduce(backends.OpTypeReduceBitwiseXor, x, axes, isInteger)
}

// ReduceLogicalAnd combines by && the elements along axes (all axes when none is given).
func (b *Builder) ReduceLogicalAnd(x backends.Op, axes ...int) (backends.Op, error) {
	return b.reduce(backends.OpTypeReduceLogicalAnd, x, axes, isBool)
}

// ReduceLogicalOr combines by || the elements along axes (all axes when none is given).
func (b *Builder) ReduceLogicalOr(x backends.Op, axes ...int) (backends.Op, error) {
	return b.reduce(backends.OpTypeReduceLogicalOr, x, axes, isBool)
}

// ReduceLogicalXor combines by != the elements along axes (all axes when none is given).
func (b *Builder) ReduceLogicalXor(x backends.Op, axes ...int) (backends.Op, error) {
	return b.reduce(backends.OpTypeReduceLogicalXor, x, axes, isBool)
}

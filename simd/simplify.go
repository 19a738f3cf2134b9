package simd

import (
	"reflect"
	"slices"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
)

// elementwise adds an element-wise operation after broadcasting its inputs. It simplifies the
// operation only where the result has the same bits, including −0 and NaN. Values that repeat along
// an axis are computed once.
func (g *graph) elementwise(op backends.OpType, dtype dtypes.DType, dims []int, inputs ...*node) *node {
	in := make([]*node, len(inputs))
	for i, n := range inputs {
		in[i] = g.broadcastTo(n, dims)
	}
	if n := g.identityRule(op, dtype, in); n != nil {
		return n
	}
	if small := commonDims(dims, in); small != nil {
		for i, n := range in {
			base, v := viewOf(n)
			v.dims = small
			in[i] = g.seen(base, v)
		}
		n := g.elementwise(op, dtype, small, in...)
		return g.broadcastTo(n, dims)
	}
	return g.add(op, dtype, dims, nil, in...)
}

// commonDims returns dims with 1 in place of the size of each axis along which no input varies. It
// returns nil if all axes stay as they are.
func commonDims(dims []int, inputs []*node) []int {
	if len(inputs) == 0 || product(dims) == 0 {
		return nil
	}
	small := slices.Clone(dims)
	for axis := range small {
		varies := false
		for _, n := range inputs {
			varies = varies || n.op != opView || n.attr.(view).strides[axis] != 0
		}
		if !varies {
			small[axis] = 1
		}
	}
	if slices.Equal(small, dims) {
		return nil
	}
	return small
}

// identityRule returns a node with the same elements as the operation op on the inputs in: an
// input, the operand of an input, or a cheaper operation. It returns nil if no rule applies.
func (g *graph) identityRule(op backends.OpType, dtype dtypes.DType, in []*node) *node {
	is := func(i int, value float64) bool {
		c, ok := uniformConstant(in[i])
		return ok && c == value
	}
	switch op {
	case backends.OpTypeConvertDType:
		if in[0].dtype == dtype {
			return in[0]
		}
	case backends.OpTypeMul:
		if is(0, 1) {
			return in[1]
		}
		if is(1, 1) {
			return in[0]
		}
	case backends.OpTypeDiv:
		if is(1, 1) {
			return in[0]
		}
	case backends.OpTypeSub:
		if is(1, 0) && !negativeZero(in[1]) {
			return in[0]
		}
	case backends.OpTypePow:
		switch {
		case !dtype.IsFloat():
		case is(1, 1):
			return in[0]
		case is(1, 2):
			return g.elementwise(backends.OpTypeMul, dtype, in[0].dims, in[0], in[0])
		case is(1, -1):
			return g.elementwise(backends.OpTypeDiv, dtype, in[0].dims, g.scalar(dtype, 1), in[0])
		}
	case backends.OpTypeNeg, backends.OpTypeLogicalNot, backends.OpTypeBitwiseNot:
		if in[0].op == op {
			return in[0].inputs[0]
		}
	case backends.OpTypeWhere:
		if in[1] == in[2] {
			return in[1]
		}
		if c, ok := uniformConstant(in[0]); ok {
			if c != 0 {
				return in[1]
			}
			return in[2]
		}
	}
	return nil
}

// uniformConstant returns the value of the elements of n as a float64, if n is a constant with
// equal elements; otherwise it returns false.
func uniformConstant(n *node) (float64, bool) {
	base, v := viewOf(n)
	if base.op != backends.OpTypeConstant || !v.uniform() {
		return 0, false
	}
	return loadNumber(base.dtype, base.attr.(constantAttr).data.pointer(), v.offset), true
}

func negativeZero(n *node) bool {
	c, ok := uniformConstant(n)
	return ok && c == 0 && 1/c < 0
}

// reduction adds a reduction of x along axes. axes are in increasing order, and dims are the
// dimensions of the result.
func (g *graph) reduction(op backends.OpType, dims, axes []int, x *node) *node {
	terms := 1
	for _, axis := range axes {
		terms *= x.dims[axis]
	}
	switch {
	case terms == 1:
		return g.reshaped(x, dims)
	case terms == 0:
		return g.broadcastTo(g.neutral(op, x.dtype), dims)
	}
	if op == backends.OpTypeReduceSum {
		if n := g.contraction(dims, axes, x); n != nil {
			return n
		}
	}
	// Transpose x so that the axes of the reduction come last.
	if _, _, ok := rowsOf(x.dims, axes); !ok {
		kept := freeAxes(len(x.dims), axes, nil)
		x = g.transposed(x, slices.Concat(kept, axes))
		axes = iotaInts(len(x.dims))[len(kept):]
	}
	return g.add(op, x.dtype, dims, axes, x)
}

// neutral returns the result of a reduction of no elements, as a scalar.
func (g *graph) neutral(op backends.OpType, dtype dtypes.DType) *node {
	switch op {
	case backends.OpTypeReduceProduct, backends.OpTypeReduceLogicalAnd:
		return g.scalar(dtype, 1)
	case backends.OpTypeReduceBitwiseAnd:
		return g.constant(dtype, nil, &block{words: []uint64{^uint64(0)}})
	case backends.OpTypeReduceMax, backends.OpTypeReduceMin:
		extreme := dtype.LowestValue()
		if op == backends.OpTypeReduceMin {
			extreme = dtype.HighestValue()
		}
		data := &block{words: make([]uint64, 1)}
		reflect.NewAt(dtype.GoType(), data.pointer()).Elem().Set(reflect.ValueOf(extreme).Convert(dtype.GoType()))
		return g.constant(dtype, nil, data)
	}
	return g.scalar(dtype, 0)
}

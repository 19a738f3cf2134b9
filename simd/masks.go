package simd

import (
	"fmt"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
)

// constantMask reports which elements of n may differ from 0, if n is the element-wise product of
// an array and a constant of zeros and ones. It returns nil if n is not such a product or if the
// constant has no zeros. Element i of the result stands for element i of n in row-major order,
// after its axes are rearranged by permutation.
func (l *lowering) constantMask(n *node, permutation []int) []bool {
	base, v := viewOf(n)
	if base.op != backends.OpTypeMul {
		return nil
	}
	for _, factor := range base.inputs {
		if mask := l.zeroPattern(factor, v.transpose(permutation)); mask != nil {
			return mask
		}
	}
	return nil
}

// zeroPattern reports which elements of the view v of factor are not 0, if factor is a constant of
// zeros and ones. It returns nil if factor is anything else or has no zeros. Calls with equal
// arguments return the same slice.
func (l *lowering) zeroPattern(factor *node, v view) []bool {
	constant, seen := viewOf(factor)
	if constant.op != backends.OpTypeConstant || !constant.dtype.IsFloat() {
		return nil
	}
	key := fmt.Sprint(constant.id, seen, v)
	mask, ok := l.patterns[key]
	if !ok {
		elem := constant.dtype.Size()
		dense, read := newBlock(factor.bytes()), newBlock(v.size()*elem)
		k := l.backend.kernels
		first, second := k.strided(seen, elem), k.strided(v, elem)
		first.fill(dense.pointer(), constant.attr.(constantAttr).data.pointer(), 0, factor.size())
		second.fill(read.pointer(), dense.pointer(), 0, v.size())
		if constant.dtype == dtypes.Float32 {
			mask = maskOf(elements[float32](read.pointer(), v.size()))
		} else {
			mask = maskOf(elements[float64](read.pointer(), v.size()))
		}
		l.patterns[key] = mask
	}
	return mask
}

// maskOf reports which elements of x are 1. It returns nil if an element is neither 0 nor 1, or if
// no element is 0.
func maskOf[T float](x []T) []bool {
	mask, zeros := make([]bool, len(x)), 0
	for i, y := range x {
		switch y {
		case 1:
			mask[i] = true
		case 0:
			zeros++
		default:
			return nil
		}
	}
	if zeros == 0 {
		return nil
	}
	return mask
}

// findOutMasks fills outMask with the matrix products whose only use is an element-wise
// multiplication by a constant of zeros and ones: the elements that a zero multiplies need not be
// computed. The gradient of a masked weight is such a product.
func (l *lowering) findOutMasks(nodes []*node) {
	for _, n := range nodes {
		if n.op != backends.OpTypeMul {
			continue
		}
		for i, in := range n.inputs {
			base, v := viewOf(in)
			if base.op != backends.OpTypeDotGeneral || base.attr.(int) != 0 || l.uses[base.id] != 1 || l.uses[in.id] != 1 || !v.dense(base.size()) {
				continue
			}
			if mask := l.zeroPattern(n.inputs[1-i], rowMajor(n.dims)); mask != nil {
				l.outMask[base] = mask
			}
		}
	}
}

package simd

import (
	"fmt"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
)

// constantMask returns which elements of n, a product of an array with a constant of zeros and
// ones, may be other than 0, or nil when n is no such product or nothing is 0. Element i stands for
// row-major position i of n after its axes are rearranged by permutation.
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

// zeroPattern reports which elements of factor, a constant of zeros and ones, are not 0, seen
// through v. It returns nil for anything else, and when there are no zeros. Equal calls return the
// same slice.
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

// maskOf reports which numbers are 1, if all others are 0 and there are some.
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

// findOutMasks finds the products whose only use is a multiplication by a constant of zeros and
// ones: the elements under a zero need not be computed. The gradient of a masked weight is one.
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

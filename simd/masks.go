package simd

import (
	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
)

// constantMask returns which elements of n, a product of an array with a constant of zeros and ones, may be other than
// 0, or nil when n is no such product or nothing is 0. Element i is that of row-major position i.
func constantMask(n *node) []bool {
	base, v := viewOf(n)
	if base.op != backends.OpTypeMul {
		return nil
	}
	for _, factor := range base.inputs {
		if mask := zeroPattern(factor, v); mask != nil {
			return mask
		}
	}
	return nil
}

// zeroPattern tells which elements of factor, a constant of zeros and ones, are not 0, seen through v. It returns nil for
// anything else, and when there are no zeros.
func zeroPattern(factor *node, v view) []bool {
	constant, seen := viewOf(factor)
	if constant.op != backends.OpTypeConstant || !zerosAndOnes(constant) {
		return nil
	}
	mask, zeros := make([]bool, v.size()), 0
	data := constant.attr.(constantAttr).data.pointer()
	for i := range mask {
		mask[i] = loadNumber(constant.dtype, data, seen.at(v.at(i))) != 0
		if !mask[i] {
			zeros++
		}
	}
	if zeros == 0 {
		return nil
	}
	return mask
}

func zerosAndOnes(constant *node) bool {
	if constant.dtype != dtypes.Float32 && constant.dtype != dtypes.Float64 {
		return false
	}
	data := constant.attr.(constantAttr).data.pointer()
	for i := range constant.size() {
		if x := loadNumber(constant.dtype, data, i); x != 0 && x != 1 {
			return false
		}
	}
	return true
}

// findOutMasks finds the products whose only use is a multiplication by a constant of zeros and ones: the elements under
// a zero need not be computed. The gradient of a masked weight is one.
func (l *lowering) findOutMasks(nodes []*node) {
	l.outMask = map[*node][]bool{}
	for _, n := range nodes {
		if n.op != backends.OpTypeMul {
			continue
		}
		for i, in := range n.inputs {
			base, v := viewOf(in)
			if base.op != backends.OpTypeDotGeneral || base.attr.(int) != 0 || l.uses[base.id] != 1 || l.uses[in.id] != 1 || !v.dense(base.size()) {
				continue
			}
			if mask := zeroPattern(n.inputs[1-i], rowMajor(n.dims)); mask != nil {
				l.outMask[base] = mask
			}
		}
	}
}

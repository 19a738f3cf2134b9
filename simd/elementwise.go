package simd

import (
	"unsafe"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/dtypes"

	"github.com/transdim/vti/internal/kernel"
)

// tileFunc computes n elements of an element-wise operation: dst from a, b and c, as far as the
// operation has operands. dst may be an operand.
type tileFunc func(dst, a, b, c unsafe.Pointer, n int)

// opType is an element-wise operation on operands of one element type.
type opType struct {
	op    backends.OpType
	dtype dtypes.DType
}

type conversion struct{ from, to dtypes.DType }

// kernels holds the functions of all element-wise operations on one instruction set. To add an
// operation, put its function here, list it in elementwiseOps, and give Builder a method for it.
type kernels struct {
	isa      kernel.ISA
	vectors  map[opType]tileFunc // all operands are arrays
	scalarB  map[opType]tileFunc // b points to one element, which repeats
	scalarA  map[opType]tileFunc // a points to one element, which repeats
	converts map[conversion]tileFunc
	rows     map[opType]rowFunc // reductions along rows
	moves    map[int]*moves     // by bytes of an element
}

func kernelsOf(isa kernel.ISA) *kernels {
	k := &kernels{
		isa:      isa,
		vectors:  map[opType]tileFunc{},
		scalarB:  map[opType]tileFunc{},
		scalarA:  map[opType]tileFunc{},
		converts: map[conversion]tileFunc{},
		rows:     map[opType]rowFunc{},
		moves:    map[int]*moves{4: movesOf(kernel.VectorsOf[float32](isa)), 8: movesOf(kernel.VectorsOf[float64](isa))},
	}
	addSigned[int8](k, dtypes.Int8)
	addSigned[int16](k, dtypes.Int16)
	addSigned[int32](k, dtypes.Int32)
	addSigned[int64](k, dtypes.Int64)
	addIntegers[uint8](k, dtypes.Uint8)
	addIntegers[uint16](k, dtypes.Uint16)
	addIntegers[uint32](k, dtypes.Uint32)
	addIntegers[uint64](k, dtypes.Uint64)
	addBools(k)
	addFloats[float32](k, dtypes.Float32)
	addFloats[float64](k, dtypes.Float64)
	addConversions(k)
	return k
}

// find returns the function of a node, nil if its types do not support it.
func (k *kernels) find(n *node) tileFunc {
	if n.op == backends.OpTypeConvertDType {
		return k.converts[conversion{n.inputs[0].dtype, n.dtype}]
	}
	return k.vectors[opTypeOf(n)]
}

// opTypeOf is the key of a node in the tables: its operation and the type of its last operand.
func opTypeOf(n *node) opType { return opType{n.op, n.inputs[len(n.inputs)-1].dtype} }

var elementwiseOps = func() map[backends.OpType]bool {
	set := map[backends.OpType]bool{}
	for _, op := range []backends.OpType{
		backends.OpTypeIdentity, backends.OpTypeConvertDType, backends.OpTypeWhere,
		backends.OpTypeAbs, backends.OpTypeBitCount, backends.OpTypeBitwiseNot, backends.OpTypeCeil, backends.OpTypeClz,
		backends.OpTypeCos, backends.OpTypeErf, backends.OpTypeExp, backends.OpTypeExpm1, backends.OpTypeFloor,
		backends.OpTypeIsFinite, backends.OpTypeIsNaN, backends.OpTypeLog, backends.OpTypeLog1p, backends.OpTypeLogicalNot,
		backends.OpTypeLogistic, backends.OpTypeNeg, backends.OpTypeRound, backends.OpTypeRsqrt, backends.OpTypeSign,
		backends.OpTypeSin, backends.OpTypeSqrt, backends.OpTypeTanh,
		backends.OpTypeAdd, backends.OpTypeBitwiseAnd, backends.OpTypeBitwiseOr, backends.OpTypeBitwiseXor,
		backends.OpTypeDiv, backends.OpTypeLogicalAnd, backends.OpTypeLogicalOr, backends.OpTypeLogicalXor,
		backends.OpTypeMax, backends.OpTypeMin, backends.OpTypeMul, backends.OpTypePow, backends.OpTypeRem,
		backends.OpTypeSub, backends.OpTypeShiftLeft, backends.OpTypeShiftRightArithmetic, backends.OpTypeShiftRightLogical,
		backends.OpTypeEqual, backends.OpTypeNotEqual, backends.OpTypeLessThan, backends.OpTypeLessOrEqual,
		backends.OpTypeGreaterThan, backends.OpTypeGreaterOrEqual,
		backends.OpTypeEqualTotalOrder, backends.OpTypeNotEqualTotalOrder, backends.OpTypeLessThanTotalOrder,
		backends.OpTypeLessOrEqualTotalOrder, backends.OpTypeGreaterThanTotalOrder, backends.OpTypeGreaterOrEqualTotalOrder,
	} {
		set[op] = true
	}
	return set
}()

func isElementwise(op backends.OpType) bool { return elementwiseOps[op] }

// combines maps a reduction to the operation that combines two values.
var combines = map[backends.OpType]backends.OpType{
	backends.OpTypeReduceSum:        backends.OpTypeAdd,
	backends.OpTypeReduceProduct:    backends.OpTypeMul,
	backends.OpTypeReduceMax:        backends.OpTypeMax,
	backends.OpTypeReduceMin:        backends.OpTypeMin,
	backends.OpTypeReduceBitwiseAnd: backends.OpTypeBitwiseAnd,
	backends.OpTypeReduceBitwiseOr:  backends.OpTypeBitwiseOr,
	backends.OpTypeReduceBitwiseXor: backends.OpTypeBitwiseXor,
	backends.OpTypeReduceLogicalAnd: backends.OpTypeLogicalAnd,
	backends.OpTypeReduceLogicalOr:  backends.OpTypeLogicalOr,
	backends.OpTypeReduceLogicalXor: backends.OpTypeLogicalXor,
}

func isReduction(op backends.OpType) bool {
	_, ok := combines[op]
	return ok
}

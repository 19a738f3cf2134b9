package simd

import (
	"unsafe"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/dtypes"

	"github.com/transdim/vti/internal/kernel"
)

// tileFunc computes n elements of an element-wise operation: it writes dst from the operands a, b
// and c. An operation with fewer operands ignores the remaining arguments. dst may be one of the
// operands.
type tileFunc func(dst, a, b, c unsafe.Pointer, n int)

// opType is an operation together with the element type of its operands.
type opType struct {
	op    backends.OpType
	dtype dtypes.DType
}

type conversion struct{ from, to dtypes.DType }

// kernels holds the functions of all element-wise operations on one instruction set. To add an
// operation, put its function here, list it in elementwiseOps, and give Builder a method for it.
type kernels struct {
	isa      kernel.ISA
	vectors  map[opType]tileFunc // variants in which all operands are arrays
	scalarB  map[opType]tileFunc // variants in which b is one element, used n times
	scalarA  map[opType]tileFunc // variants in which a is one element, used n times
	converts map[conversion]tileFunc
	rows     map[opType]rowFunc // reductions of each row to one element
	moves    map[int]*moves     // key: number of bytes of an element
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

// find returns the function that computes node n, or nil if the operation lacks the type.
func (k *kernels) find(n *node) tileFunc {
	if n.op == backends.OpTypeConvertDType {
		return k.converts[conversion{n.inputs[0].dtype, n.dtype}]
	}
	return k.vectors[opTypeOf(n)]
}

// opTypeOf returns the key of node n in the tables: its operation and the element type of its last
// operand.
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

// combines maps a reduction to the binary operation that it repeats.
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

package simd

import (
	"math/bits"
	"unsafe"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
)

// map1 and map2 turn a function of one or two elements into a tileFunc. The functions below have
// loops of their own for common operations, because a function call per element takes several times
// as long as the arithmetic.
func map1[S, T any](f func(S) T) tileFunc {
	return func(dst, a, _, _ unsafe.Pointer, n int) {
		x, z := elements[S](a, n), elements[T](dst, n)
		for i := range z {
			z[i] = f(x[i])
		}
	}
}

func map2[S, T any](f func(x, y S) T) tileFunc {
	return func(dst, a, b, _ unsafe.Pointer, n int) {
		x, y, z := elements[S](a, n), elements[S](b, n), elements[T](dst, n)
		for i := range z {
			z[i] = f(x[i], y[i])
		}
	}
}

func copyTile[T any](dst, a, _, _ unsafe.Pointer, n int) {
	copy(elements[T](dst, n), elements[T](a, n))
}

func selectTile[T any](dst, a, b, c unsafe.Pointer, n int) {
	cond, x, y, z := elements[bool](a, n), elements[T](b, n), elements[T](c, n), elements[T](dst, n)
	for i := range z {
		v := y[i]
		if cond[i] {
			v = x[i]
		}
		z[i] = v
	}
}

func addTile[T number](dst, a, b, _ unsafe.Pointer, n int) {
	x, y, z := elements[T](a, n), elements[T](b, n), elements[T](dst, n)
	for i := range z {
		z[i] = x[i] + y[i]
	}
}

func subTile[T number](dst, a, b, _ unsafe.Pointer, n int) {
	x, y, z := elements[T](a, n), elements[T](b, n), elements[T](dst, n)
	for i := range z {
		z[i] = x[i] - y[i]
	}
}

func mulTile[T number](dst, a, b, _ unsafe.Pointer, n int) {
	x, y, z := elements[T](a, n), elements[T](b, n), elements[T](dst, n)
	for i := range z {
		z[i] = x[i] * y[i]
	}
}

func maximumTile[T integer](dst, a, b, _ unsafe.Pointer, n int) {
	x, y, z := elements[T](a, n), elements[T](b, n), elements[T](dst, n)
	for i := range z {
		z[i] = max(x[i], y[i])
	}
}

func minimumTile[T integer](dst, a, b, _ unsafe.Pointer, n int) {
	x, y, z := elements[T](a, n), elements[T](b, n), elements[T](dst, n)
	for i := range z {
		z[i] = min(x[i], y[i])
	}
}

func andTile[T integer](dst, a, b, _ unsafe.Pointer, n int) {
	x, y, z := elements[T](a, n), elements[T](b, n), elements[T](dst, n)
	for i := range z {
		z[i] = x[i] & y[i]
	}
}

func orTile[T integer](dst, a, b, _ unsafe.Pointer, n int) {
	x, y, z := elements[T](a, n), elements[T](b, n), elements[T](dst, n)
	for i := range z {
		z[i] = x[i] | y[i]
	}
}

func xorTile[T integer](dst, a, b, _ unsafe.Pointer, n int) {
	x, y, z := elements[T](a, n), elements[T](b, n), elements[T](dst, n)
	for i := range z {
		z[i] = x[i] ^ y[i]
	}
}

func equalTile[T number](dst, a, b, _ unsafe.Pointer, n int) {
	x, y, z := elements[T](a, n), elements[T](b, n), elements[bool](dst, n)
	for i := range z {
		z[i] = x[i] == y[i]
	}
}

func notEqualTile[T number](dst, a, b, _ unsafe.Pointer, n int) {
	x, y, z := elements[T](a, n), elements[T](b, n), elements[bool](dst, n)
	for i := range z {
		z[i] = x[i] != y[i]
	}
}

func lessTile[T number](dst, a, b, _ unsafe.Pointer, n int) {
	x, y, z := elements[T](a, n), elements[T](b, n), elements[bool](dst, n)
	for i := range z {
		z[i] = x[i] < y[i]
	}
}

func lessEqualTile[T number](dst, a, b, _ unsafe.Pointer, n int) {
	x, y, z := elements[T](a, n), elements[T](b, n), elements[bool](dst, n)
	for i := range z {
		z[i] = x[i] <= y[i]
	}
}

// swapped returns f with its first two operands exchanged.
func swapped(f tileFunc) tileFunc {
	return func(dst, a, b, c unsafe.Pointer, n int) { f(dst, b, a, c, n) }
}

// addIntegers registers the operations that both signed and unsigned integers have.
func addIntegers[T integer](k *kernels, dtype dtypes.DType) {
	set := func(op backends.OpType, f tileFunc) { k.vectors[opType{op, dtype}] = f }
	set(backends.OpTypeIdentity, copyTile[T])
	set(backends.OpTypeWhere, selectTile[T])
	set(backends.OpTypeAdd, addTile[T])
	set(backends.OpTypeSub, subTile[T])
	set(backends.OpTypeMul, mulTile[T])
	set(backends.OpTypeDiv, map2(quotient[T]))
	set(backends.OpTypeRem, map2(remainder[T]))
	set(backends.OpTypePow, map2(power[T]))
	set(backends.OpTypeMax, maximumTile[T])
	set(backends.OpTypeMin, minimumTile[T])
	set(backends.OpTypeBitwiseAnd, andTile[T])
	set(backends.OpTypeBitwiseOr, orTile[T])
	set(backends.OpTypeBitwiseXor, xorTile[T])
	set(backends.OpTypeBitwiseNot, map1(func(x T) T { return ^x }))
	set(backends.OpTypeShiftLeft, map2(func(x, y T) T { return x << shiftCount(y) }))
	set(backends.OpTypeShiftRightArithmetic, map2(func(x, y T) T { return x >> shiftCount(y) }))
	set(backends.OpTypeShiftRightLogical, map2(shiftRightLogical[T]))
	size := int(8 * unsafe.Sizeof(T(0)))
	unsignedBits := func(x T) uint64 { return uint64(x) & (^uint64(0) >> (64 - size)) }
	set(backends.OpTypeBitCount, map1(func(x T) T { return T(bits.OnesCount64(unsignedBits(x))) }))
	set(backends.OpTypeClz, map1(func(x T) T { return T(size - bits.Len64(unsignedBits(x))) }))
	set(backends.OpTypeAbs, map1(func(x T) T {
		if x < 0 {
			return -x
		}
		return x
	}))
	set(backends.OpTypeSign, map1(func(x T) T {
		switch {
		case x > 0:
			return 1
		case x < 0:
			return ^T(0)
		}
		return 0
	}))
	addCompares[T](k, dtype)
	addSumRows[T](k, dtype)
	addRows(k, dtype, backends.OpTypeReduceProduct, func(x, y T) T { return x * y })
	addRows(k, dtype, backends.OpTypeReduceMax, larger[T])
	addRows(k, dtype, backends.OpTypeReduceMin, smaller[T])
	addRows(k, dtype, backends.OpTypeReduceBitwiseAnd, func(x, y T) T { return x & y })
	addRows(k, dtype, backends.OpTypeReduceBitwiseOr, func(x, y T) T { return x | y })
	addRows(k, dtype, backends.OpTypeReduceBitwiseXor, func(x, y T) T { return x ^ y })
}

// addSigned registers the operations on signed integers.
func addSigned[T signed](k *kernels, dtype dtypes.DType) {
	addIntegers[T](k, dtype)
	k.vectors[opType{backends.OpTypeNeg, dtype}] = map1(func(x T) T { return -x })
}

// addCompares registers comparisons. For integers, the total order is the usual order.
func addCompares[T number](k *kernels, dtype dtypes.DType) {
	for op, f := range map[backends.OpType]tileFunc{
		backends.OpTypeEqual: equalTile[T], backends.OpTypeEqualTotalOrder: equalTile[T],
		backends.OpTypeNotEqual: notEqualTile[T], backends.OpTypeNotEqualTotalOrder: notEqualTile[T],
		backends.OpTypeLessThan: lessTile[T], backends.OpTypeLessThanTotalOrder: lessTile[T],
		backends.OpTypeLessOrEqual: lessEqualTile[T], backends.OpTypeLessOrEqualTotalOrder: lessEqualTile[T],
		backends.OpTypeGreaterThan: swapped(lessTile[T]), backends.OpTypeGreaterThanTotalOrder: swapped(lessTile[T]),
		backends.OpTypeGreaterOrEqual: swapped(lessEqualTile[T]), backends.OpTypeGreaterOrEqualTotalOrder: swapped(lessEqualTile[T]),
	} {
		k.vectors[opType{op, dtype}] = f
	}
}

// addBools registers the operations on bools, which are stored as the bytes 0 and 1.
func addBools(k *kernels) {
	set := func(op backends.OpType, f tileFunc) { k.vectors[opType{op, dtypes.Bool}] = f }
	addCompares[uint8](k, dtypes.Bool)
	set(backends.OpTypeIdentity, copyTile[uint8])
	set(backends.OpTypeWhere, selectTile[uint8])
	set(backends.OpTypeLogicalAnd, andTile[uint8])
	set(backends.OpTypeLogicalOr, orTile[uint8])
	set(backends.OpTypeLogicalXor, xorTile[uint8])
	set(backends.OpTypeLogicalNot, map1(func(x uint8) uint8 { return x ^ 1 }))
	addRows(k, dtypes.Bool, backends.OpTypeReduceLogicalAnd, func(x, y uint8) uint8 { return x & y })
	addRows(k, dtypes.Bool, backends.OpTypeReduceLogicalOr, func(x, y uint8) uint8 { return x | y })
	addRows(k, dtypes.Bool, backends.OpTypeReduceLogicalXor, func(x, y uint8) uint8 { return x ^ y })
}

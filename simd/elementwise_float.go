package simd

import (
	"math"
	"unsafe"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/dtypes"

	"github.com/transdim/vti/internal/kernel"
)

// addFloats registers the operations on floats, most of them through the vector kernels.
func addFloats[T float](k *kernels, dtype dtypes.DType) {
	v := kernel.VectorsOf[T](k.isa)
	set := func(op backends.OpType, f tileFunc) { k.vectors[opType{op, dtype}] = f }
	set(backends.OpTypeIdentity, copyTile[T])
	set(backends.OpTypeWhere, func(dst, a, b, c unsafe.Pointer, n int) {
		v.Select(elements[T](dst, n), elements[bool](a, n), elements[T](b, n), elements[T](c, n))
	})
	set(backends.OpTypeRem, map2(func(x, y T) T { return T(math.Mod(float64(x), float64(y))) }))
	set(backends.OpTypeIsNaN, map1(func(x T) bool { return x != x }))
	set(backends.OpTypeIsFinite, map1(func(x T) bool { return x-x == 0 }))
	for op, f := range map[backends.OpType]func(dst, a []T){
		backends.OpTypeNeg: v.Neg, backends.OpTypeAbs: v.Abs, backends.OpTypeSqrt: v.Sqrt, backends.OpTypeFloor: v.Floor,
		backends.OpTypeCeil: v.Ceil, backends.OpTypeRound: v.Round, backends.OpTypeSign: v.Sign, backends.OpTypeExp: v.Exp,
		backends.OpTypeExpm1: v.Expm1, backends.OpTypeLog: v.Log, backends.OpTypeLog1p: v.Log1p, backends.OpTypeTanh: v.Tanh,
		backends.OpTypeLogistic: v.Logistic, backends.OpTypeErf: v.Erf, backends.OpTypeSin: v.Sin, backends.OpTypeCos: v.Cos,
		backends.OpTypeRsqrt: v.Rsqrt,
	} {
		set(op, func(dst, a, _, _ unsafe.Pointer, n int) { f(elements[T](dst, n), elements[T](a, n)) })
	}
	for op, f := range map[backends.OpType]func(dst, a, b []T){
		backends.OpTypeAdd: v.Add, backends.OpTypeSub: v.Sub, backends.OpTypeMul: v.Mul, backends.OpTypeDiv: v.Div,
		backends.OpTypeMax: v.Max, backends.OpTypeMin: v.Min, backends.OpTypePow: v.Pow,
	} {
		set(op, func(dst, a, b, _ unsafe.Pointer, n int) { f(elements[T](dst, n), elements[T](a, n), elements[T](b, n)) })
	}
	for op, f := range map[backends.OpType]func(dst []bool, a, b []T){
		backends.OpTypeEqual: v.Equal, backends.OpTypeNotEqual: v.NotEqual, backends.OpTypeLessThan: v.Less,
		backends.OpTypeLessOrEqual: v.LessEqual, backends.OpTypeGreaterThan: v.Greater, backends.OpTypeGreaterOrEqual: v.GreaterEqual,
	} {
		set(op, func(dst, a, b, _ unsafe.Pointer, n int) {
			f(elements[bool](dst, n), elements[T](a, n), elements[T](b, n))
		})
	}
	for op, f := range map[backends.OpType]func(x, y int64) bool{
		backends.OpTypeEqualTotalOrder:          func(x, y int64) bool { return x == y },
		backends.OpTypeNotEqualTotalOrder:       func(x, y int64) bool { return x != y },
		backends.OpTypeLessThanTotalOrder:       func(x, y int64) bool { return x < y },
		backends.OpTypeLessOrEqualTotalOrder:    func(x, y int64) bool { return x <= y },
		backends.OpTypeGreaterThanTotalOrder:    func(x, y int64) bool { return x > y },
		backends.OpTypeGreaterOrEqualTotalOrder: func(x, y int64) bool { return x >= y },
	} {
		set(op, map2(func(x, y T) bool { return f(totalOrder(x), totalOrder(y)) }))
	}
	addFloatScalars(k, dtype, v)
	addFloatRows(k, dtype, v)
}

// addFloatScalars registers the variants in which one operand is a scalar.
func addFloatScalars[T float](k *kernels, dtype dtypes.DType, v *kernel.Vectors[T]) {
	for op, f := range map[backends.OpType]func(dst, a []T, s T){
		backends.OpTypeAdd: v.AddScalar, backends.OpTypeSub: v.SubScalar, backends.OpTypeMul: v.MulScalar,
		backends.OpTypeDiv: v.DivScalar, backends.OpTypeMax: v.MaxScalar, backends.OpTypeMin: v.MinScalar,
	} {
		k.scalarB[opType{op, dtype}] = func(dst, a, b, _ unsafe.Pointer, n int) {
			f(elements[T](dst, n), elements[T](a, n), *(*T)(b))
		}
	}
	for op, f := range map[backends.OpType]func(dst, a []T, s T){
		backends.OpTypeAdd: v.AddScalar, backends.OpTypeMul: v.MulScalar, backends.OpTypeMax: v.MaxScalar,
		backends.OpTypeMin: v.MinScalar, backends.OpTypeSub: v.ScalarSub, backends.OpTypeDiv: v.ScalarDiv,
	} {
		k.scalarA[opType{op, dtype}] = func(dst, a, b, _ unsafe.Pointer, n int) {
			f(elements[T](dst, n), elements[T](b, n), *(*T)(a))
		}
	}
	for op, f := range map[backends.OpType]func(dst []bool, a []T, s T){
		backends.OpTypeEqual: v.EqualScalar, backends.OpTypeNotEqual: v.NotEqualScalar,
		backends.OpTypeLessThan: v.LessScalar, backends.OpTypeLessOrEqual: v.LessEqualScalar,
		backends.OpTypeGreaterThan: v.GreaterScalar, backends.OpTypeGreaterOrEqual: v.GreaterEqualScalar,
	} {
		k.scalarB[opType{op, dtype}] = func(dst, a, b, _ unsafe.Pointer, n int) {
			f(elements[bool](dst, n), elements[T](a, n), *(*T)(b))
		}
	}
	for op, f := range map[backends.OpType]func(dst []bool, a []T, s T){
		backends.OpTypeEqual: v.EqualScalar, backends.OpTypeNotEqual: v.NotEqualScalar,
		backends.OpTypeLessThan: v.GreaterScalar, backends.OpTypeLessOrEqual: v.GreaterEqualScalar,
		backends.OpTypeGreaterThan: v.LessScalar, backends.OpTypeGreaterOrEqual: v.LessEqualScalar,
	} {
		k.scalarA[opType{op, dtype}] = func(dst, a, b, _ unsafe.Pointer, n int) {
			f(elements[bool](dst, n), elements[T](b, n), *(*T)(a))
		}
	}
}

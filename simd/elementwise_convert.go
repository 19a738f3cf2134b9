package simd

import (
	"unsafe"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
)

// addConversions registers the conversions between all pairs of element types.
func addConversions(k *kernels) {
	convertInteger[int8](k, dtypes.Int8)
	convertInteger[int16](k, dtypes.Int16)
	convertInteger[int32](k, dtypes.Int32)
	convertInteger[int64](k, dtypes.Int64)
	convertInteger[uint8](k, dtypes.Uint8)
	convertInteger[uint16](k, dtypes.Uint16)
	convertInteger[uint32](k, dtypes.Uint32)
	convertInteger[uint64](k, dtypes.Uint64)
	convertFloat[float32](k, dtypes.Float32)
	convertFloat[float64](k, dtypes.Float64)
	k.converts[conversion{dtypes.Bool, dtypes.Bool}] = copyTile[bool]
}

// convertInteger registers the conversions to the integer type T.
func convertInteger[T integer](k *kernels, to dtypes.DType) {
	convertFromIntegers[T](k, to)
	k.converts[conversion{dtypes.Float32, to}] = map1(truncate[float32, T])
	k.converts[conversion{dtypes.Float64, to}] = map1(truncate[float64, T])
}

// convertFloat registers the conversions to the float type T.
func convertFloat[T float](k *kernels, to dtypes.DType) {
	convertFromIntegers[T](k, to)
	k.converts[conversion{dtypes.Float32, to}] = convertTile[float32, T]
	k.converts[conversion{dtypes.Float64, to}] = convertTile[float64, T]
}

// convertFromIntegers registers the conversions from integers and bools to T, and from T to bool.
func convertFromIntegers[T number](k *kernels, to dtypes.DType) {
	k.converts[conversion{dtypes.Int8, to}] = convertTile[int8, T]
	k.converts[conversion{dtypes.Int16, to}] = convertTile[int16, T]
	k.converts[conversion{dtypes.Int32, to}] = convertTile[int32, T]
	k.converts[conversion{dtypes.Int64, to}] = convertTile[int64, T]
	k.converts[conversion{dtypes.Uint8, to}] = convertTile[uint8, T]
	k.converts[conversion{dtypes.Uint16, to}] = convertTile[uint16, T]
	k.converts[conversion{dtypes.Uint32, to}] = convertTile[uint32, T]
	k.converts[conversion{dtypes.Uint64, to}] = convertTile[uint64, T]
	k.converts[conversion{dtypes.Bool, to}] = convertTile[uint8, T]
	k.converts[conversion{to, dtypes.Bool}] = nonZeroTile[T]
}

// convertTile converts elements from S to T. dst and a may be the same memory only if S and T have
// the same size; see tileCompiler.instruction.
func convertTile[S, T number](dst, a, _, _ unsafe.Pointer, n int) {
	x, z := elements[S](a, n), elements[T](dst, n)
	for i := range z {
		z[i] = T(x[i])
	}
}

func nonZeroTile[S number](dst, a, _, _ unsafe.Pointer, n int) {
	x, z := elements[S](a, n), elements[bool](dst, n)
	for i := range z {
		z[i] = x[i] != 0
	}
}

// truncate rounds x towards 0. NaN becomes 0, and a value out of range becomes the nearest integer
// of type T.
func truncate[S float, T integer](x S) T {
	bits := 8 * unsafe.Sizeof(T(0))
	var low, limit float64
	var lowest, highest T
	if ^T(0) < 0 {
		limit = float64(uint64(1) << (bits - 1))
		low = -limit
		lowest = T(1) << (bits - 1)
		highest = ^lowest
	} else {
		limit = 2 * float64(uint64(1)<<(bits-1))
		highest = ^T(0)
	}
	switch f := float64(x); {
	case f != f:
		return 0
	case f < low:
		return lowest
	case f >= limit:
		return highest
	default:
		return T(f)
	}
}

package simd

import (
	"math"
	"unsafe"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/pkg/errors"
)

type signed interface{ int8 | int16 | int32 | int64 }
type unsigned interface {
	uint8 | uint16 | uint32 | uint64
}
type integer interface{ signed | unsigned }
type float interface{ float32 | float64 }
type number interface{ integer | float }

// elements returns the n elements that start at p as a slice.
func elements[T any](p unsafe.Pointer, n int) []T { return unsafe.Slice((*T)(p), n) }

// loadNumber returns element i of the array of type dtype at p as a float64. For bools, true is 1.
func loadNumber(dtype dtypes.DType, p unsafe.Pointer, i int) float64 {
	switch dtype {
	case dtypes.Bool, dtypes.Uint8:
		return float64(elements[uint8](p, i+1)[i])
	case dtypes.Int8:
		return float64(elements[int8](p, i+1)[i])
	case dtypes.Int16:
		return float64(elements[int16](p, i+1)[i])
	case dtypes.Int32:
		return float64(elements[int32](p, i+1)[i])
	case dtypes.Int64:
		return float64(elements[int64](p, i+1)[i])
	case dtypes.Uint16:
		return float64(elements[uint16](p, i+1)[i])
	case dtypes.Uint32:
		return float64(elements[uint32](p, i+1)[i])
	case dtypes.Uint64:
		return float64(elements[uint64](p, i+1)[i])
	case dtypes.Float32:
		return float64(elements[float32](p, i+1)[i])
	case dtypes.Float64:
		return elements[float64](p, i+1)[i]
	}
	panic(errors.Errorf("simd: element type %s is not supported", dtype))
}

// storeNumber writes value as one element of type dtype at p. The type must represent value.
func storeNumber(dtype dtypes.DType, p unsafe.Pointer, value float64) {
	switch dtype {
	case dtypes.Bool, dtypes.Uint8:
		*(*uint8)(p) = uint8(int64(value))
	case dtypes.Int8:
		*(*int8)(p) = int8(int64(value))
	case dtypes.Int16:
		*(*int16)(p) = int16(int64(value))
	case dtypes.Int32:
		*(*int32)(p) = int32(int64(value))
	case dtypes.Int64:
		*(*int64)(p) = int64(value)
	case dtypes.Uint16:
		*(*uint16)(p) = uint16(int64(value))
	case dtypes.Uint32:
		*(*uint32)(p) = uint32(int64(value))
	case dtypes.Uint64:
		*(*uint64)(p) = uint64(value)
	case dtypes.Float32:
		*(*float32)(p) = float32(value)
	case dtypes.Float64:
		*(*float64)(p) = value
	default:
		panic(errors.Errorf("simd: element type %s is not supported", dtype))
	}
}

// isNaN reports whether x is a NaN. It is false for all integers.
func isNaN[T number](x T) bool { return x != x }

// larger and smaller return the larger or smaller of a and b, or NaN if one of them is NaN.
func larger[T number](a, b T) T {
	if a > b || isNaN(a) {
		return a
	}
	return b
}

func smaller[T number](a, b T) T {
	if a < b || isNaN(a) {
		return a
	}
	return b
}

// totalOrder maps a float to an integer so that integers are in the order −NaN < −Inf < … < −0 < +0
// < … < +Inf < +NaN of the floats.
func totalOrder[T float](x T) int64 {
	switch x := any(x).(type) {
	case float32:
		bits := int32(math.Float32bits(x))
		return int64(bits ^ (bits>>31)&math.MaxInt32)
	default:
		bits := int64(math.Float64bits(x.(float64)))
		return bits ^ (bits>>63)&math.MaxInt64
	}
}

// power returns xʸ. If y is negative, the result is 0 unless x is 1 or −1.
func power[T integer](x, y T) T {
	if y < 0 {
		switch {
		case x == 1 || y%2 == 0 && x+1 == 0:
			return 1
		case x+1 == 0:
			return x
		}
		return 0
	}
	result := T(1)
	for ; y > 0; y >>= 1 {
		if y&1 == 1 {
			result *= x
		}
		x *= x
	}
	return result
}

// quotient returns x/y, or a number with all bits set if y is 0.
func quotient[T integer](x, y T) T {
	if y == 0 {
		return ^T(0)
	}
	return x / y
}

// remainder returns x%y, which has the sign of x, or x if y is 0.
func remainder[T integer](x, y T) T {
	if y == 0 {
		return x
	}
	return x % y
}

// shiftCount returns the number of bits to shift by. It is 64 if y is negative or above 64.
func shiftCount[T integer](y T) uint {
	if y < 0 || y > 64 {
		return 64
	}
	return uint(y)
}

// shiftRightLogical shifts x to the right by y bits. Zeros are shifted in for any sign of x.
func shiftRightLogical[T integer](x, y T) T {
	bits := uint(8 * unsafe.Sizeof(x))
	mask := ^uint64(0) >> (64 - bits)
	return T(uint64(x) & mask >> shiftCount(y))
}

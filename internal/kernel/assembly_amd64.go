//go:build !noasm

package kernel

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

//go:generate go run ./gen

// best returns the best instruction set of this CPU whose registers the operating system saves.
func best() ISA {
	x := &cpu.X86
	switch {
	case !x.HasAVX2 || !x.HasFMA:
		return Portable
	case !x.HasBMI2 || !x.HasAVX512F || !x.HasAVX512BW || !x.HasAVX512DQ || !x.HasAVX512VL:
		return AVX2
	}
	return AVX512
}

// Assembly reads only the length of the slice dst. The functions below check that the other
// operands have the matching lengths.

func checkUnary[T Float](f func(dst, a []T)) func(dst, a []T) {
	return func(dst, a []T) {
		checkLength(len(dst), len(a))
		f(dst, a)
	}
}

// checkAngles returns a sine or cosine function for all angles. Its argument f computes sines or
// cosines in assembly, but returns angles that are too large for the assembly unchanged. For such
// angles the argument large computes the function.
func checkAngles[T Float](f func(dst, a []T), v *Vectors[T], large func(float64) float64) func(dst, a []T) {
	return func(dst, a []T) {
		f(dst, a)
		if v.MaxOf(dst) <= 1 && v.MinOf(dst) >= -1 {
			return
		}
		for i, x := range dst {
			if !(-1 <= x && x <= 1) {
				dst[i] = T(large(float64(x)))
			}
		}
	}
}

func checkBinary[T Float, R any](f func(dst []R, a, b []T)) func(dst []R, a, b []T) {
	return func(dst []R, a, b []T) {
		checkLength(len(dst), len(a))
		checkLength(len(dst), len(b))
		f(dst, a, b)
	}
}

func checkBinaryScalar[T Float](f func(dst, a, b []T, s T)) func(dst, a, b []T, s T) {
	return func(dst, a, b []T, s T) {
		checkLength(len(dst), len(a))
		checkLength(len(dst), len(b))
		f(dst, a, b, s)
	}
}

func checkScalar[T Float, R any](f func(dst []R, a []T, s T)) func(dst []R, a []T, s T) {
	return func(dst []R, a []T, s T) {
		checkLength(len(dst), len(a))
		f(dst, a, s)
	}
}

func checkSelect[T Float](f func(dst []T, cond []bool, a, b []T)) func(dst []T, cond []bool, a, b []T) {
	return func(dst []T, cond []bool, a, b []T) {
		checkLength(len(dst), len(cond))
		checkLength(len(dst), len(a))
		checkLength(len(dst), len(b))
		f(dst, cond, a, b)
	}
}

func checkRows[T Float](f func(dst []T, a *T, n int)) func(dst, a []T) {
	return func(dst, a []T) {
		if n := rowLength(len(dst), len(a)); len(dst) > 0 {
			f(dst, unsafe.SliceData(a), n)
		}
	}
}

func checkDots[T Float](f func(dst []T, a *T, stride int, x *T, n int)) func(dst, a []T, stride int, x []T) {
	return func(dst, a []T, stride int, x []T) {
		if checkStride(len(dst), len(a), stride, len(x)); len(dst) > 0 {
			f(dst, unsafe.SliceData(a), stride, unsafe.SliceData(x), len(x))
		}
	}
}

func checkSpread[T Float](f func(dst *T, a []T, n int)) func(dst, a []T) {
	return func(dst, a []T) {
		if n := rowLength(len(a), len(dst)); len(a) > 0 {
			f(unsafe.SliceData(dst), a, n)
		}
	}
}

func checkCopy[T Float](f func(dst *T, dstStride int, src *T, srcStride, rows, cols int)) func(
	dst []T, dstStride int, src []T, srcStride, rows, cols int) {
	return func(dst []T, dstStride int, src []T, srcStride, rows, cols int) {
		if rows > 0 && cols > 0 {
			_, _ = dst[(rows-1)*dstStride+cols-1], src[(rows-1)*srcStride+cols-1] // panics if these do not exist
			f(&dst[0], dstStride, &src[0], srcStride, rows, cols)
		}
	}
}

// transposeSquares is [Vectors.Transpose] with assembly for squares of n by n elements.
func transposeSquares[T Float](n int, squares func(dst *T, dstStride int, src *T, srcStride, rows, cols int)) func(
	dst []T, dstStride int, src []T, srcStride, rows, cols int) {
	return func(dst []T, dstStride int, src []T, srcStride, rows, cols int) {
		if rows == 0 || cols == 0 {
			return
		}
		_, _ = dst[(cols-1)*dstStride+rows-1], src[(rows-1)*srcStride+cols-1] // panics if these do not exist
		wholeRows, wholeCols := rows/n*n, cols/n*n
		if wholeRows > 0 && wholeCols > 0 {
			squares(&dst[0], dstStride, &src[0], srcStride, wholeRows, wholeCols)
		}
		if wholeCols < cols && wholeRows > 0 {
			transposeRows(dst[wholeCols*dstStride:], dstStride, src[wholeCols:], srcStride, wholeRows, cols-wholeCols)
		}
		if wholeRows < rows {
			transposeRows(dst[wholeRows:], dstStride, src[wholeRows*srcStride:], srcStride, rows-wholeRows, cols)
		}
	}
}

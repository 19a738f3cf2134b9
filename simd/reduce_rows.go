package simd

import (
	"unsafe"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/dtypes"

	"github.com/transdim/vti/simd/internal/kernel"
)

// rowFunc reduces each of several rows of cols ≥ 1 neighbouring elements at a to one element at dst.
type rowFunc func(dst, a unsafe.Pointer, rows, cols int)

func addRows[T any](k *kernels, dtype dtypes.DType, op backends.OpType, combine func(x, y T) T) {
	k.rows[opType{op, dtype}] = func(dst, a unsafe.Pointer, rows, cols int) {
		x, z := elements[T](a, rows*cols), elements[T](dst, rows)
		for i := range z {
			row := x[i*cols : (i+1)*cols]
			sum := row[0]
			for _, y := range row[1:] {
				sum = combine(sum, y)
			}
			z[i] = sum
		}
	}
}

// addSumRows registers sums, whose loops need no call per element.
func addSumRows[T number](k *kernels, dtype dtypes.DType) {
	k.rows[opType{backends.OpTypeReduceSum, dtype}] = func(dst, a unsafe.Pointer, rows, cols int) {
		sumRows(elements[T](dst, rows), elements[T](a, rows*cols), cols)
	}
}

// shortRow is the length up to which a plain loop is faster than the call of a vector kernel.
const shortRow = 8

func addFloatRows[T float](k *kernels, dtype dtypes.DType, v *kernel.Vectors[T]) {
	k.rows[opType{backends.OpTypeReduceSum, dtype}] = floatRows(v.Sum, sumRows[T])
	k.rows[opType{backends.OpTypeReduceMax, dtype}] = floatRows(v.MaxOf, combineShortRows(larger[T]))
	k.rows[opType{backends.OpTypeReduceMin, dtype}] = floatRows(v.MinOf, combineShortRows(smaller[T]))
	addRows(k, dtype, backends.OpTypeReduceProduct, func(x, y T) T { return x * y })
}

// floatRows reduces long rows by one function and short ones, all at once, by another.
func floatRows[T float](long func([]T) T, short func(z, x []T, cols int)) rowFunc {
	return func(dst, a unsafe.Pointer, rows, cols int) {
		x, z := elements[T](a, rows*cols), elements[T](dst, rows)
		if cols > shortRow {
			for i := range z {
				z[i] = long(x[i*cols : (i+1)*cols])
			}
			return
		}
		short(z, x, cols)
	}
}

func sumRows[T number](z, x []T, cols int) {
	for i := range z {
		sum := x[0]
		for _, y := range x[1:cols] {
			sum += y
		}
		z[i] = sum
		x = x[cols:]
	}
}

func combineShortRows[T float](combine func(x, y T) T) func(z, x []T, cols int) {
	return func(z, x []T, cols int) {
		for i := range z {
			best := x[0]
			for _, y := range x[1:cols] {
				best = combine(best, y)
			}
			z[i] = best
			x = x[cols:]
		}
	}
}

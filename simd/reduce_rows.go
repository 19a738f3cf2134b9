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

// shortRow is the length up to which a plain loop is faster than the call of a vector kernel.
const shortRow = 8

func addFloatRows[T float](k *kernels, dtype dtypes.DType, v *kernel.Vectors[T]) {
	k.rows[opType{backends.OpTypeReduceSum, dtype}] = floatRows(v.Sum, func(x, y T) T { return x + y })
	k.rows[opType{backends.OpTypeReduceMax, dtype}] = floatRows(v.MaxOf, larger[T])
	k.rows[opType{backends.OpTypeReduceMin, dtype}] = floatRows(v.MinOf, smaller[T])
	addRows(k, dtype, backends.OpTypeReduceProduct, func(x, y T) T { return x * y })
}

func floatRows[T float](long func([]T) T, combine func(x, y T) T) rowFunc {
	return func(dst, a unsafe.Pointer, rows, cols int) {
		x, z := elements[T](a, rows*cols), elements[T](dst, rows)
		for i := range z {
			row := x[i*cols : (i+1)*cols]
			if cols > shortRow {
				z[i] = long(row)
				continue
			}
			sum := row[0]
			for _, y := range row[1:] {
				sum = combine(sum, y)
			}
			z[i] = sum
		}
	}
}

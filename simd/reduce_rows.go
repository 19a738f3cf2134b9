package simd

import (
	"unsafe"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/dtypes"

	"github.com/transdim/vti/internal/kernel"
)

// rowFunc reduces each row of a matrix of rows × cols elements at a to one element at dst. cols is
// at least 1.
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

// addSumRows registers the sum of rows with a loop that makes no function call per element.
func addSumRows[T number](k *kernels, dtype dtypes.DType) {
	k.rows[opType{backends.OpTypeReduceSum, dtype}] = func(dst, a unsafe.Pointer, rows, cols int) {
		sumRows(elements[T](dst, rows), elements[T](a, rows*cols), cols)
	}
}

// sumRows sets z to the sums of the rows of x, each of cols elements. It adds in order.
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

func addFloatRows[T float](k *kernels, dtype dtypes.DType, v *kernel.Vectors[T]) {
	for op, f := range map[backends.OpType]func(dst, a []T){
		backends.OpTypeReduceSum: v.SumRows, backends.OpTypeReduceMax: v.MaxRows, backends.OpTypeReduceMin: v.MinRows,
	} {
		k.rows[opType{op, dtype}] = func(dst, a unsafe.Pointer, rows, cols int) {
			f(elements[T](dst, rows), elements[T](a, rows*cols))
		}
	}
	addRows(k, dtype, backends.OpTypeReduceProduct, func(x, y T) T { return x * y })
}

//go:build openblas && cgo

package openblas

/*
#cgo LDFLAGS: -lopenblas
#include <cblas.h>
*/
import "C"

// SetThreads sets the number of threads that a product uses.
func SetThreads(n int) { C.openblas_set_num_threads(C.int(n)) }

// Product32 computes c = a·b, where a has m×k, b has k×n and c has m×n elements. All three are
// row-major without gaps.
func Product32(m, k, n int, c, a, b []float32) {
	C.cblas_sgemm(C.CblasRowMajor, C.CblasNoTrans, C.CblasNoTrans, C.int(m), C.int(n), C.int(k),
		1, (*C.float)(&a[0]), C.int(k), (*C.float)(&b[0]), C.int(n), 0, (*C.float)(&c[0]), C.int(n))
}

// Product64 is [Product32] for float64.
func Product64(m, k, n int, c, a, b []float64) {
	C.cblas_dgemm(C.CblasRowMajor, C.CblasNoTrans, C.CblasNoTrans, C.int(m), C.int(n), C.int(k),
		1, (*C.double)(&a[0]), C.int(k), (*C.double)(&b[0]), C.int(n), 0, (*C.double)(&c[0]), C.int(n))
}

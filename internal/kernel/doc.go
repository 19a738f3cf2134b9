// Package kernel holds the numeric kernels of the CPU backend (package simd) and of other code that
// computes on slices: element-wise functions on slices ([Vectors]) and matrix products
// ([ProductPlan]), for float32 and float64.
//
// Each kernel exists in plain Go for every CPU, and in assembly for amd64 with AVX2 and with
// AVX-512. [Detect] returns the instruction set to use. The environment variable VTI_SIMD=portable,
// avx2 or avx512 selects a lower one; tests run all instruction sets that [Available] returns. The
// build tag noasm leaves the assembly out. The kernels allocate no memory and start no goroutines.
//
//	v := kernel.VectorsOf[float32](kernel.Detect())
//	v.Exp(y, x) // y[i] = exp(x[i])
//
//	p := kernel.NewProductPlan[float32](kernel.Detect(), m, k, n, nil, nil)
//	shared, local := make([]float32, p.SharedScratch()), make([]float32, p.LocalScratch())
//	a, b, c := kernel.Dense(x, m, k), kernel.Dense(w, n, k).Transpose(), kernel.Dense(y, m, n)
//	p.Run(c, a, b, false, shared, local) // y = x·wᵀ, on this goroutine
//
// # Results
//
// The last bits of the results of most functions differ between instruction sets. With one
// instruction set, a result depends on the values of the operands only: not on the alignment or the
// length of a slice, nor on the number of goroutines that share a product.
//
// # Assembly
//
// The generator in gen writes all files named *_avx2_amd64.*, *_avx512_amd64.* and tables_amd64.go;
// a test in gen fails if these files are not up to date. It describes a kernel once, as operations
// on machine vectors, for both element types and both instruction sets, and computes the
// coefficients of polynomials from power series with a precision of 512 bits. A new function of one
// argument needs a method like exp in gen/explog.go, a line in gen/elementwise.go, a field in
// [Vectors] with its portable version, and an entry in each table of the tests. The tests then
// check its precision, its special values, and that it stays inside its slices.
//
// Goroutines cannot be preempted while they run assembly. Callers should therefore cut slices of
// many millions of elements into pieces.
package kernel

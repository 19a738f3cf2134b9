// Package simd is a GoMLX backend for CPUs: it compiles graphs, fuses their element-wise operations, and runs them with
// vector kernels on all cores, without cgo.
//
//	import _ "github.com/transdim/vti/simd" // then backends.NewWithConfig("simd")
package simd

// Package openblas calls the matrix products of OpenBLAS, so that benchmarks can compare them with
// the products of package kernel in one run. It needs cgo, the build tag openblas, and the library
// (libopenblas-dev on Debian); without the tag the package is empty. Only benchmarks import it.
package openblas

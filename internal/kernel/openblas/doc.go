// Package openblas calls the matrix products of OpenBLAS, to measure this module's own against them
// in one run. It needs cgo, the build tag openblas, and the library (libopenblas-dev on Debian);
// without the tag it is empty. Only benchmarks import it.
package openblas

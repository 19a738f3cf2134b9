// Package simd is a GoMLX backend for CPUs. It compiles graphs, fuses their element-wise
// operations, and runs them with vector kernels on all cores. There is no cgo and nothing to
// install: import it, and ask for it by name.
//
//	import _ "github.com/transdim/vti/simd"
//
//	backend, err := backends.NewWithConfig("simd")
//
// Setting the environment variable GOMLX_BACKEND=simd makes it the default of a program that
// imports it. Options follow a colon, for instance "simd:threads=4,isa=avx2"; see [New].
//
// # Supported operations
//
// All operations that the graph package of GoMLX v0.26 and its gradients emit, on bool, int8 to
// int64, uint8 to uint64, float32 and float64. Convolutions, FFT, complex numbers, batch
// normalisation, 16-bit floats and collectives are missing: they return an error that names the
// operation or the type when the graph is built.
//
// It runs on every CPU that Go supports. On amd64, assembly for AVX2 with FMA or for AVX-512 is
// chosen at start-up; the environment variable VTI_SIMD=portable, avx2 or avx512 lowers the choice.
// The last bits of results depend on the instruction set. They do not depend on the number of
// threads, nor on other work: two executions of a graph on the same instruction set agree bit for
// bit.
//
// Execute may be called from many goroutines at once. Buffers are ordinary Go memory, shared with
// the caller at no cost; donated buffers are overwritten by outputs where that is possible. An
// execution that has run before allocates its outputs and nothing else.
//
// # How fast it is
//
// The benchmarks of this package measure it on your machine:
//
//	go test -run '^$' -bench . github.com/transdim/vti/simd
//
// On two cores of an Intel Xeon with AVX-512:
//
//	residual masked network, forward and backward, batch 1024 (BenchmarkMADE)
//	    5 layers × 5 blocks × width 16             2.1 ms
//	    4 layers × 6 blocks × width 128             31 ms
//	    4 layers × 6 blocks × width 512            235 ms, 340 GFLOP/s counting masks as dense
//	ten operations over 64 MiB (BenchmarkChain)    9.8 ms, a copy takes 5.2 ms
//	200 operations on scalars (BenchmarkOverhead)    7 µs
//	compiling 8,568 nodes (BenchmarkCompile)        42 ms
//
// # How it works
//
// A [Builder] records nodes. Compile turns them into a program, in these passes, each in a file of
// its own:
//
//   - graph.go: the compiler's copy of the graph. Rearrangements of elements — reshapes,
//     transposes, broadcasts, slices, reverses, iota — become a view (view.go): an offset and one
//     stride per axis, which costs nothing. Equal nodes are merged, and nodes that no output needs
//     are never copied.
//   - simplify.go: operations such as multiplication by one are removed; values that repeat along
//     an axis are computed once.
//   - fold.go: values that depend only on constants are computed at compile time.
//   - contract.go: sums of broadcast products become matrix products. GoMLX writes the gradients of
//     Dot like that.
//   - masks.go: an operand multiplied by a constant of zeros and ones before a product, or a
//     product multiplied by one, lets the product skip blocks of zeros.
//   - fuse.go: element-wise operations over the same elements, and the sums at their ends, are
//     grouped into units. A value goes to memory only if another unit reads it.
//   - lower.go: every unit becomes a step. A group becomes a tile program (tile_compile.go,
//     tile_layout.go), a product one or several plans of the kernels (product.go); other
//     operations have their own steps (copy.go, gather.go, …).
//   - plan.go: all temporary values are placed in one arena. Values that are not alive at the same
//     time may share memory, and a step that can work in place does.
//
// Bias and activation form a separate group after a product: applied to tiles of the product while
// these are in the cache, they took as long or longer in every size measured (width 16 to 512,
// batch 1024).
//
// Execution (execute.go, program.go) runs the steps in order. A tile program (tile.go) takes a few
// thousand elements at a time and runs all its instructions on them while they are in the L1 cache.
// Each step cuts its work into tasks whose size depends on shapes alone, and combines partial sums
// in order, so that the number of threads does not change results. A fixed set of helpers shares
// the tasks (pool.go): the caller publishes a job, works on it itself, and waits only for helpers
// that are already inside a task. No goroutine ever waits for a free one, so deadlock is
// impossible.
//
// # How to add an operation
//
// An element-wise operation takes three lines: a tileFunc in the tables of elementwise_int.go or
// elementwise_float.go, its name in elementwiseOps, and a method of Builder. It is fused, folded
// and tested in all its types from then on, once it has a line in conformance_table_test.go with
// its meaning on float64.
//
// Any other operation takes a method of Builder that checks and records it, a step with a run
// method, and a case in lowerNode that emits the step together with the values it reads and writes.
// A step that shares out its work implements tasked and calls frame.parallel.
//
// # Files
//
//	backend.go, buffer.go             the backend, its options and its arrays
//	builder.go, builder_*.go, node.go recording operations, by kind
//	compile.go, graph.go, view.go     the compiler's copy of the graph
//	simplify.go, fold.go              removing superfluous operations, folding constants
//	contract.go, masks.go             finding products, and blocks of zeros in them
//	product_graph.go                  DotGeneral as a product of matrices
//	fuse.go, lower.go, plan.go        units, steps, and places in memory
//	tile.go, tile_*.go                groups of element-wise operations, a tile at a time
//	elementwise.go, elementwise_*.go  these operations, by type of element
//	reduce_rows.go, numbers.go        reductions of rows; elements as numbers
//	product.go                        products of matrices
//	copy.go, strided.go               rearranging elements
//	gather.go, window.go              gathering, scattering and moving windows
//	argminmax.go, random.go           positions of extremes; random bits
//	program.go, execute.go, pool.go   running steps on all cores
package simd

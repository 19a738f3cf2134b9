// Package simd is a GoMLX backend for CPUs. It compiles graphs, fuses their element-wise
// operations, and runs them with vector kernels on all cores. It needs no cgo and no installed
// libraries. A program imports it and selects it by name:
//
//	import _ "github.com/transdim/vti/simd"
//
//	backend, err := backends.NewWithConfig("simd")
//
// If the environment variable GOMLX_BACKEND is "simd", this backend is the default of a program
// that imports it. Options follow a colon, for instance "simd:threads=4,isa=avx2"; see [New].
//
// # Supported operations
//
// The backend supports all operations that the graph package of GoMLX v0.26 and its gradients emit,
// except convolutions, FFT, complex numbers, batch normalisation and collectives. The element types
// are bool, int8 to int64, uint8 to uint64, float32 and float64; 16-bit floats are missing. When a
// graph is built, an operation or type that is missing returns an error that names it.
//
// It runs on every CPU that Go supports. On amd64, assembly for AVX2 with FMA or for AVX-512 is
// chosen at start-up; the environment variable VTI_SIMD=portable, avx2 or avx512 lowers the choice.
// The last bits of results depend on the instruction set. They do not depend on the number of
// threads, nor on the load of the machine: two executions of a graph on the same instruction set
// agree bit for bit.
//
// Execute may be called from many goroutines at once. Buffers are ordinary Go memory, shared with
// the caller at no cost. Outputs overwrite donated buffers where that is possible. From the second
// execution of a graph on, an execution allocates memory only for its outputs.
//
// # How fast it is
//
// The benchmarks of this package measure its speed on your machine:
//
//	go test -run '^$' -bench . github.com/transdim/vti/simd
//
// On two cores of an Intel Xeon with AVX-512, they took:
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
// A [Builder] records nodes. Compile turns them into a program. Its passes are the following, each
// in its own file:
//
//   - graph.go: the compiler's copy of the graph. Rearrangements of elements — reshapes,
//     transposes, broadcasts, slices, reverses, iota — become views (view.go). A view is an offset
//     and one stride per axis, and costs nothing at run time. Equal nodes are merged, and nodes
//     that no output depends on are not copied.
//   - simplify.go: operations such as multiplication by one are removed; values that repeat along
//     an axis are computed once.
//   - fold.go: values that depend only on constants are computed at compile time.
//   - contract.go: sums of broadcast products become matrix products. GoMLX writes the gradients of
//     Dot like that.
//   - masks.go: if an operand of a matrix product, or the product itself, is multiplied by a
//     constant of zeros and ones (a mask), the product skips blocks of zeros.
//   - fuse.go: element-wise operations over the same elements, and the sums at their ends, are
//     grouped. A group, or a single other operation, is called a unit. A value is written to memory
//     only if another unit reads it.
//   - lower.go: every unit becomes a step. A group becomes a tile program (tile_compile.go,
//     tile_layout.go), a matrix product becomes one or two plans of the kernels (product.go), and
//     other operations have their own steps (copy.go, gather.go, …).
//   - plan.go: all temporary values are placed in one arena. Values that are not alive at the same
//     time may share memory, and a step works in place if it can.
//
// Bias and activation after a matrix product form a separate group. Applying them to tiles of the
// product while these are in the cache was not faster for any size that was measured (width 16 to
// 512, batch 1024).
//
// Execution (execute.go, program.go) runs the steps in order. A tile program (tile.go) takes a few
// thousand elements at a time and runs all its instructions on them while they are in the L1 cache.
// Each step cuts its work into tasks. The size of tasks depends on shapes alone, and partial sums
// are added in order, so that the number of threads does not change results. A fixed set of
// goroutines, the helpers, takes tasks from the goroutine that called Execute (pool.go). The caller
// publishes its tasks as a job, works on that job itself, and waits only for helpers that are
// already inside a task. No goroutine ever waits for another one to become free, so deadlock is
// impossible.
//
// # How to add an operation
//
// An element-wise operation needs a tileFunc in the tables of elementwise_int.go or
// elementwise_float.go, an entry in elementwiseOps, and a method of Builder. It is then fused with
// other operations and computed at compile time if its operands are constants. A line in
// conformance_table_test.go with its meaning on float64 tests it with all its types.
//
// Any other operation needs a method of Builder that checks and records it, a step with a run
// method, and a case in lowerNode that emits the step together with the values that it reads and
// writes. A step that divides its work among goroutines implements tasked and calls frame.parallel.
//
// # Files
//
//	backend.go, buffer.go             the backend, its options and its arrays
//	builder.go, builder_*.go, node.go recording operations, by kind
//	compile.go, graph.go, view.go     the compiler's copy of the graph
//	simplify.go, fold.go              removing superfluous operations, folding constants
//	contract.go, masks.go             finding products, and blocks of zeros in them
//	product_graph.go                  DotGeneral as a product of matrices
//	fuse.go, lower.go, plan.go        units, steps, and positions in memory
//	tile.go, tile_*.go                groups of element-wise operations, a tile at a time
//	elementwise.go, elementwise_*.go  these operations, by type of element
//	reduce_rows.go, numbers.go        reductions of rows; elements as numbers
//	product.go                        products of matrices
//	copy.go, strided.go               rearranging elements
//	gather.go, window.go              gathering, scattering and moving windows
//	argminmax.go, random.go           positions of extremes; random bits
//	program.go, execute.go, pool.go   running steps on all cores
package simd

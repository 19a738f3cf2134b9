package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// productSizes holds m, k and n of products of an m×k matrix with a k×n matrix: layers of networks
// on a batch of 1,024, and gradients of such layers.
var productSizes = [][3]int{{1024, 512, 512}, {1024, 1024, 1024}, {1024, 128, 128}, {1024, 64, 64}, {1024, 16, 16},
	{1024, 7, 16}, {1024, 16, 248}, {512, 1024, 512}, {128, 1024, 128}, {64, 1024, 64}, {16, 1024, 16}, {7, 1024, 16},
	{1024, 512, 1}, {4, 4, 4}}

func BenchmarkProduct(b *testing.B) {
	benchmarkProduct[float32](b)
	benchmarkProduct[float64](b)
}

// benchmarkProduct measures products of each size on one thread: without a transposed operand, and
// with one, as in gradients.
func benchmarkProduct[T Float](b *testing.B) {
	for _, isa := range Available() {
		for _, s := range productSizes {
			m, k, n := s[0], s[1], s[2]
			p := NewProductPlan[T](isa, m, k, n, nil, nil)
			for name, product := range map[string][3]Matrix[T]{
				"":             {newDense[T](m, n), newDense[T](m, k), newDense[T](k, n)},
				"/transposedB": {newDense[T](m, n), newDense[T](m, k), newDense[T](n, k).Transpose()},
				"/transposedA": {newDense[T](m, n), newDense[T](k, m).Transpose(), newDense[T](k, n)},
			} {
				b.Run(fmt.Sprintf("float%d/%dx%dx%d%s/%v", 8*sizeOf[T](), m, k, n, name, isa), func(b *testing.B) {
					shared, local := make([]T, p.SharedScratch()), make([]T, p.LocalScratch())
					for b.Loop() {
						p.Run(product[0], product[1], product[2], false, shared, local)
					}
					reportFlops(b, m, k, n)
				})
			}
		}
	}
}

// BenchmarkProductMasked measures 1024×512×512 with a triangular mask on B, as in a masked layer,
// and with such a mask on C, as in the gradient of the weights of a masked layer. The GFLOP/s count
// all terms, including zeros.
func BenchmarkProductMasked(b *testing.B) {
	const batch, width = 1024, 512
	mask := make([]bool, width*width)
	for i := range mask {
		mask[i] = i/width <= i%width
	}
	x, w := newDense[float32](batch, width), newDense[float32](width, width)
	run := func(name string, rhsMask, outMask []bool, c, a, y Matrix[float32]) {
		b.Run(name, func(b *testing.B) {
			p := NewProductPlan[float32](Detect(), a.Rows, a.Cols, y.Cols, rhsMask, outMask)
			shared, local := make([]float32, p.SharedScratch()), make([]float32, p.LocalScratch())
			for b.Loop() {
				p.Run(c, a, y, false, shared, local)
			}
			reportFlops(b, a.Rows, a.Cols, y.Cols)
		})
	}
	out, gradient := newDense[float32](batch, width), newDense[float32](width, width)
	run("forward/dense", nil, nil, out, x, w)
	run("forward/masked", mask, nil, out, x, w)
	run("gradient/dense", nil, nil, gradient, x.Transpose(), out)
	run("gradient/masked", nil, mask, gradient, x.Transpose(), out)
}

// BenchmarkProductThreads measures 1024×512×512 on one goroutine and on two goroutines that divide
// the tasks, in the same run. It reports the ratio of the shortest times.
func BenchmarkProductThreads(b *testing.B) {
	const m, k, n = 1024, 512, 512
	c, x, y := newDense[float32](m, n), newDense[float32](m, k), newDense[float32](k, n)
	p := NewProductPlan[float32](Detect(), m, k, n, nil, nil)
	shared := make([]float32, p.SharedScratch())
	locals := [2][]float32{make([]float32, p.LocalScratch()), make([]float32, p.LocalScratch())}
	product := func(threads int) {
		for phase := range p.Phases() {
			var next atomic.Int64
			var group sync.WaitGroup
			for _, local := range locals[:threads] {
				group.Go(func() {
					for task := int(next.Add(1)) - 1; task < p.Tasks(phase); task = int(next.Add(1)) - 1 {
						p.RunTask(phase, task, c, x, y, false, shared, local)
					}
				})
			}
			group.Wait()
		}
	}
	best := [2]time.Duration{math.MaxInt64, math.MaxInt64}
	for b.Loop() {
		for i := range best {
			start := time.Now()
			product(i + 1)
			best[i] = min(best[i], time.Since(start))
		}
	}
	b.ReportMetric(2*m*k*n/float64(best[1].Nanoseconds()), "GFLOP/s")
	b.ReportMetric(float64(best[0])/float64(best[1]), "speedup")
}

func newDense[T Float](rows, cols int) Matrix[T] {
	rng := rand.New(rand.NewPCG(7, 8))
	x := Dense(make([]T, rows*cols), rows, cols)
	for i := range x.Data {
		x.Data[i] = T(rng.NormFloat64())
	}
	return x
}

func reportFlops(b *testing.B, m, k, n int) {
	b.ReportMetric(2*float64(m*k*n)*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
}

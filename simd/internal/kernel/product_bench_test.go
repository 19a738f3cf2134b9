package kernel

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// productSizes are [m, k]·[k, n]: layers of networks on a batch of 1,024, and gradients of such layers.
var productSizes = [][3]int{{1024, 512, 512}, {1024, 1024, 1024}, {1024, 128, 128}, {1024, 64, 64}, {1024, 16, 16},
	{1024, 7, 16}, {1024, 16, 248}, {512, 1024, 512}, {128, 1024, 128}, {64, 1024, 64}, {16, 1024, 16}, {7, 1024, 16}}

func BenchmarkProduct(b *testing.B) {
	benchmarkProduct[float32](b)
	benchmarkProduct[float64](b)
}

// benchmarkProduct measures one product on one thread, also with a transposed operand as in gradients.
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
						p.Run(product[0], product[1], product[2], false, nil, shared, local)
					}
					reportFlops(b, m, k, n)
				})
			}
		}
	}
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

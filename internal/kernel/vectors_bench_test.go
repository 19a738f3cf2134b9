package kernel

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// BenchmarkExp measures exp on slices of 4,096 elements, which stay in the L1 or L2 cache, and on
// slices of 1<<24 elements.
func BenchmarkExp(b *testing.B) {
	for _, n := range []int{1 << 12, 1 << 24} {
		benchmarkUnary[float32](b, "Exp", n)
		benchmarkUnary[float64](b, "Exp", n)
	}
}

// BenchmarkUnary measures every function of one argument on slices of 4,096 elements.
func BenchmarkUnary(b *testing.B) {
	for name := range unaryKernels(VectorsOf[float32](Portable)) {
		b.Run(name, func(b *testing.B) {
			benchmarkUnary[float32](b, name, 1<<12)
			benchmarkUnary[float64](b, name, 1<<12)
		})
	}
}

// BenchmarkKernels measures every kernel on slices of 4,096 elements with the best instruction set.
func BenchmarkKernels(b *testing.B) {
	benchmarkKernels[float32](b)
	benchmarkKernels[float64](b)
}

func benchmarkKernels[T Float](b *testing.B) {
	const n = 1 << 12
	rng := rand.New(rand.NewPCG(23, 24))
	x := operands[T]{make([]T, n), make([]T, n), make([]T, n), make([]bool, n), make([]bool, n), 0.5}
	for i := range n {
		x.a[i], x.b[i], x.cond[i] = T(rng.Float64()), T(rng.Float64()), rng.IntN(2) == 0
	}
	for name, run := range kernels(VectorsOf[T](Detect())) {
		b.Run(fmt.Sprintf("%s/float%d", name, 8*sizeOf[T]()), func(b *testing.B) {
			for b.Loop() {
				run(x)
			}
			b.ReportMetric(float64(n)*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "elements/ns")
		})
	}
}

// BenchmarkRows measures the kernels on rows with 4,096 elements in short rows.
func BenchmarkRows(b *testing.B) {
	v := VectorsOf[float32](Detect())
	for _, n := range []int{8, 16, 32} {
		rows, all := make([]float32, 4096/n), make([]float32, 4096)
		other := make([]float32, 4096)
		for name, run := range map[string]func(){
			"SumRows":   func() { v.SumRows(rows, all) },
			"MaxRows":   func() { v.MaxRows(rows, all) },
			"Spread":    func() { v.Spread(all, rows) },
			"Transpose": func() { v.Transpose(other, 4096/n, all, n, 4096/n, n) },
		} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				for b.Loop() {
					run()
				}
				b.ReportMetric(float64(len(all))*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "elements/ns")
			})
		}
	}
}

func benchmarkUnary[T Float](b *testing.B, name string, n int) {
	rng := rand.New(rand.NewPCG(15, 16))
	x, y := make([]T, n), make([]T, n)
	for i := range x {
		x[i] = T(rng.NormFloat64())
		if domains[name][0][0] == 0 {
			x[i] *= x[i]
		}
	}
	for _, isa := range Available() {
		f := unaryKernels(VectorsOf[T](isa))[name]
		b.Run(fmt.Sprintf("float%d/%d/%v", 8*sizeOf[T](), n, isa), func(b *testing.B) {
			for b.Loop() {
				f(y, x)
			}
			b.ReportMetric(float64(n)*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "elements/ns")
		})
	}
}

//go:build openblas && cgo

package kernel

import (
	"fmt"
	"testing"
	"time"

	"github.com/transdim/vti/internal/kernel/openblas"
)

// BenchmarkProductOpenBLAS measures OpenBLAS and this package alternately on one thread. It reports
// the shortest time of OpenBLAS divided by the shortest time of this package.
//
//	go test -tags openblas -run '^$' -bench ProductOpenBLAS ./internal/kernel
func BenchmarkProductOpenBLAS(b *testing.B) {
	openblas.SetThreads(1)
	for _, s := range productSizes {
		compareProducts(b, s, openblas.Product32)
	}
	for _, s := range productSizes {
		compareProducts(b, s, openblas.Product64)
	}
}

func compareProducts[T Float](b *testing.B, size [3]int, other func(m, k, n int, c, a, b []T)) {
	m, k, n := size[0], size[1], size[2]
	b.Run(fmt.Sprintf("float%d/%dx%dx%d", 8*sizeOf[T](), m, k, n), func(b *testing.B) {
		p := NewProductPlan[T](Detect(), m, k, n, nil, nil)
		shared, local := make([]T, p.SharedScratch()), make([]T, p.LocalScratch())
		c, x, y := newDense[T](m, n), newDense[T](m, k), newDense[T](k, n)
		ours, theirs := time.Duration(1<<62), time.Duration(1<<62)
		for b.Loop() {
			ours = min(ours, elapsed(func() { p.Run(c, x, y, false, shared, local) }))
			theirs = min(theirs, elapsed(func() { other(m, k, n, c.Data, x.Data, y.Data) }))
		}
		flops := 2 * float64(m*k*n)
		b.ReportMetric(flops/float64(ours.Nanoseconds()), "GFLOP/s")
		b.ReportMetric(flops/float64(theirs.Nanoseconds()), "OpenBLAS-GFLOP/s")
		b.ReportMetric(float64(theirs)/float64(ours), "ratio")
	})
}

func elapsed(f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}

package likelihood

import (
	"testing"

	"github.com/transdim/vti/internal/stream"
)

// BenchmarkRows measures the sum of the kernels of 100 rows, and their slopes and curvatures,
// together and one row after the other.
func BenchmarkRows(b *testing.B) {
	const n, scale = 100, 1.3
	for _, kind := range Kinds() {
		if kind.HasCategories() {
			continue
		}
		random := stream.Rand(1, kind.String())
		l := New(kind, Shape{})
		var y, eta, slope, curvature [n]float64
		var sum [1]float64
		for i := range y {
			eta[i] = random.NormFloat64()
			y[i] = l.Draw(eta[i], scale, random)
		}
		for name, run := range map[string]func(){
			"sum/together":    func() { LogKernelSums(l, y[:], nil, eta[:], scale, sum[:]) },
			"sum/by row":      func() { sumEach(l, y[:], nil, eta[:], scale, sum[:]) },
			"newton/together": func() { Newtons(l, y[:], nil, eta[:], scale, slope[:], curvature[:]) },
			"newton/by row":   func() { expandEach(l.NewtonAt, y[:], eta[:], scale, slope[:], curvature[:]) },
		} {
			b.Run(kind.String()+"/"+name, func(b *testing.B) {
				for b.Loop() {
					run()
				}
			})
		}
	}
}

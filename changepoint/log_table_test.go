package changepoint

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/internal/stream"
)

// Sums from scaled columns equal sums of logarithms, whether columns are of similar size or further
// apart than floating-point numbers reach, and with entries and whole columns that are zero.
func TestLogTable(t *testing.T) {
	random := stream.Rand(1, "test")
	const rows, columns = 5, 40
	for _, spread := range []float64{0, 1, 100, 1000, 1e5} {
		logs, other := matrix(rows, columns), make([]float64, columns)
		table, sums := newLogTable(logs), make([]float64, rows-1)
		for i := range columns {
			other[i] = spread * random.NormFloat64()
			for k := range logs {
				if i%7 != 3 && random.Float64() < 0.9 {
					logs[k][i] = spread * random.NormFloat64()
				}
			}
			from := min(i, 2)
			table.dots(sums, other, from, i)
			for k, sum := range sums {
				want := logDot(logs[k][from:i], other[from:i])
				if math.IsInf(want, -1) {
					require.Equal(t, want, sum)
				} else {
					require.InDelta(t, want, sum, 1e-13*max(1, math.Abs(want)), "spread %g, column %d, row %d", spread, i, k)
				}
			}
			table.complete(i)
		}
	}
}

// BenchmarkPosterior times the posterior of 1,000 rows with four changes of the mean.
func BenchmarkPosterior(b *testing.B) {
	random, y := stream.Rand(1, "bench"), make([]float64, 1000)
	for i := range y {
		y[i] = float64(3*(i/200%2)) + random.NormFloat64()
	}
	p := problemOf(b, Options{}, y)
	for b.Loop() {
		_, err := p.Posterior(b.Context())
		require.NoError(b, err)
	}
}

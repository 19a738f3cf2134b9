package weighted

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/internal/stream"
)

// TestCounts checks that the count of every row is the floor or the ceiling of its expectation,
// whatever the sum of the weights.
func TestCounts(t *testing.T) {
	random := stream.Rand(1, "counts")
	weights := make([]float64, 3000)
	var total float64
	for i := range weights {
		weights[i] = math.Exp(2*random.NormFloat64()) * float64(i%5)
		total += weights[i]
	}
	const n = 10_000
	drawn := 0
	for i, count := range Counts(weights, n, random) {
		require.Less(t, math.Abs(float64(count)-n*weights[i]/total), 1+1e-6, "row %d", i)
		drawn += count
	}
	require.Equal(t, n, drawn)
	require.Equal(t, []int{0, 0, 7, 0}, Counts([]float64{0, 0, 1e-300, 0}, 7, random))
	require.Equal(t, []int{0, 0}, Counts([]float64{0, 0}, 7, random))
	require.Equal(t, []int{0, 0}, Counts([]float64{math.NaN(), 1}, 7, random))
	require.Empty(t, Counts(nil, 7, random))
}

// TestRows checks that rows come in random order: the first half of them must have the mean of all.
func TestRows(t *testing.T) {
	random := stream.Rand(2, "rows")
	const n = 10_000
	weights := []float64{1, 2, 3, 4}
	rows := Rows(weights, n, random)
	require.Len(t, rows, n)
	var early float64
	for _, row := range rows[:n/2] {
		early += float64(row) / (n / 2)
	}
	require.InDelta(t, 2, early, 4/math.Sqrt(n)) // variance 1, half of the rows: a false alarm in 16,000 runs
	require.Empty(t, Rows([]float64{0}, n, random))
}

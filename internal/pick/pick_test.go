package pick

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/transdim/vti/internal/stream"
)

var ways = map[string]func(weights []float64, u float64) int{
	"index": Index,
	"log": func(weights []float64, u float64) int {
		logs := make([]float64, len(weights))
		for i, weight := range weights {
			logs[i] = math.Log(weight) + 900 // exp would overflow
		}
		return Log(logs, u)
	},
	"table": func(weights []float64, u float64) int { return NewTable(weights).Index(u) },
}

// TestFrequencies compares the frequencies of indices with their weights by chi-square tests. Each
// test fails by chance in one of 10⁵ runs.
func TestFrequencies(t *testing.T) {
	weights := []float64{0, 3, 0.5, 0, 1.5, 5, 0}
	for name, index := range ways {
		random := stream.Rand(1, "pick/"+name)
		const n = 20_000
		counts := make([]float64, len(weights))
		for range n {
			counts[index(weights, random.Float64())]++
		}
		square := 0.0
		for i, weight := range weights {
			if weight == 0 {
				require.Zero(t, counts[i], name)
				continue
			}
			expected := n * weight / 10
			square += (counts[i] - expected) * (counts[i] - expected) / expected
		}
		require.Less(t, square, distuv.ChiSquared{K: 3}.Quantile(1-1e-5), name)
	}
}

// TestEnds checks that the ends of [0, 1) give the first and the last index of positive weight.
func TestEnds(t *testing.T) {
	for name, index := range ways {
		require.Equal(t, 1, index([]float64{0, 1, 2, 0}, 0), name)
		require.Equal(t, 2, index([]float64{0, 1, 2, 0}, math.Nextafter(1, 0)), name)
		require.Equal(t, 0, index([]float64{4}, 0.5), name)
	}
	shares := []float64{0.3, 0.3, 0.3, 0} // the sum is 0.9, as if rounding had lost a tenth
	require.Equal(t, 2, Func(4, 0.95, func(i int) float64 { return shares[i] }))
	require.Equal(t, 1, Func(2, 0.5, func(int) float64 { return math.NaN() }))
}

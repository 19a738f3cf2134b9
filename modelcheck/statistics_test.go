package modelcheck

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/internal/stream"
)

// The median without sorting is that of sorted values, ties and few values included.
func TestMedian(t *testing.T) {
	random := stream.Rand(1, "median")
	for n := 1; n < 60; n++ {
		for _, kinds := range []int{1, 2, 5, 1000} {
			values := make([]float64, n)
			for i := range values {
				values[i] = float64(random.IntN(kinds))
			}
			sorted := slices.Sorted(slices.Values(values))
			require.Equal(t, (sorted[(n-1)/2]+sorted[n/2])/2, median(values), "%d of %v", n, sorted)
			slices.Sort(values)
			require.Equal(t, sorted, values, "the same values")
		}
	}
}

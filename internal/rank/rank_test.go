package rank

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/internal/stream"
)

// TestPlace compares the value of each rank with the sorted values, for values with ties, with
// infinities, and for few values.
func TestPlace(t *testing.T) {
	random := stream.Rand(1, "rank")
	for n := 1; n < 40; n++ {
		for _, kinds := range []int{1, 2, 5, 1000} {
			values := make([]float64, n)
			for i := range values {
				values[i] = float64(random.IntN(kinds))
			}
			sorted := slices.Sorted(slices.Values(values))
			for k := range n {
				Place(values, k)
				require.Equal(t, sorted[k], values[k], "rank %d of %v", k, sorted)
				if k > 0 {
					require.LessOrEqual(t, slices.Max(values[:k]), values[k])
				}
				require.GreaterOrEqual(t, slices.Min(values[k:]), values[k])
				require.Equal(t, sorted, slices.Sorted(slices.Values(values)), "the same values")
			}
		}
	}
	require.Panics(t, func() { Place(nil, 0) })
}

func TestMid(t *testing.T) {
	require.Equal(t, []float64{3, 1.5, 5, 1.5, 4}, Mid([]float64{2, -1, 7, -1, 3}))
	require.Equal(t, []float64{2, 2, 2}, Mid([]float64{1, 1, 1}))
	require.Empty(t, Mid(nil))
}

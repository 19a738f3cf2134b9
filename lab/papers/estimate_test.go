package papers

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"
)

// TestMeanOf checks that independent values have the usual standard error, and that a group of
// equal values counts as one value.
func TestMeanOf(t *testing.T) {
	values := []float64{1, 4, 2, 8}
	want := stat.StdDev(values, nil) / 2
	got := meanOf(values, nil)
	require.InDelta(t, 3.75, got.mean, 1e-12)
	require.InDelta(t, want, got.se, 1e-12)
	var repeated []float64
	var groups []int
	for g, v := range values {
		for range 3 {
			repeated, groups = append(repeated, v), append(groups, g)
		}
	}
	got = meanOf(repeated, groups)
	require.InDelta(t, 3.75, got.mean, 1e-12)
	require.InDelta(t, want, got.se, 1e-12)
}

func TestSlopeOf(t *testing.T) {
	require.InDelta(t, -2, slopeOf([]float64{0, 1, 2}, []float64{5, 3, 1}), 1e-12)
	require.True(t, math.IsNaN(slopeOf([]float64{0, 1}, []float64{5, 3})))
}

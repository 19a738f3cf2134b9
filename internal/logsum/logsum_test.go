package logsum

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSums compares results with sums of the numbers themselves: for both orders of the terms, for
// numbers far from 1, and for zeros.
func TestSums(t *testing.T) {
	require.InDelta(t, math.Log(5), Add(math.Log(2), math.Log(3)), 1e-15)
	require.InDelta(t, 1000+math.Log(5), Add(1000+math.Log(3), 1000+math.Log(2)), 1e-12)
	require.Equal(t, -7.0, Add(math.Inf(-1), -7), "zero adds nothing")
	require.Equal(t, math.Inf(-1), Add(math.Inf(-1), math.Inf(-1)))
	require.InDelta(t, -1000+math.Log(6), Of([]float64{-1000, -1000 + math.Log(2), -1000 + math.Log(3), math.Inf(-1)}), 1e-12)
	require.Equal(t, math.Inf(-1), Of(nil), "nothing adds up to zero")
	require.Equal(t, 0.0, Add(0, -Negligible-1), "what changes no digit is left out")
	require.InDeltaSlice(t, []float64{0.25, 0.75, 0}, Shares([]float64{-1000, -1000 + math.Log(3), math.Inf(-1)}), 1e-12)
}

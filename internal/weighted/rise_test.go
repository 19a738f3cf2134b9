package weighted

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRise(t *testing.T) {
	logLik := []float64{0, -4000, math.Inf(-1)}
	none := make([]float64, 3)
	require.Equal(t, 1.0, Rise(none, []float64{2, 2, 2}, 0.9, 1))
	require.Equal(t, 1.0, Rise(none, []float64{0, 0, math.Inf(-1)}, 0.5, 1), "a state without likelihood counts for nothing")
	// Weights 1 and w have (1 + w)² / (1 + w²) effective draws.
	w := math.Exp(-4000 * Rise(none, logLik, 0.5, 1))
	require.InDelta(t, 1.5, (1+w)*(1+w)/(1+w*w), 1e-9)
}

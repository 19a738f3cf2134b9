package vti

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFinite(t *testing.T) {
	require.True(t, finite(-1e308))
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		require.False(t, finite(x))
		require.False(t, finiteAll([]float64{0, x, 1}))
	}
	require.True(t, finiteAll(nil))
}

package weighted

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/internal/stream"
)

var levels = []float64{0.025, 0.975}

func TestSummariseByHand(t *testing.T) {
	// The quantity is absent with weight 4, and has the values −1, 2 and 3 with weights 1, 2 and 3.
	all, included := Summarise([]Value{{2, 2}, {-1, 1}, {3, 3}}, 10, levels)
	require.InDelta(t, 12.0/10, all.Mean, 1e-12)
	require.InDelta(t, 12.0/6, included.Mean, 1e-12)
	second := (1*1 + 2*4 + 3*9.0) / 10
	require.InDelta(t, math.Sqrt(second-1.44), all.SD, 1e-12)
	require.InDelta(t, math.Sqrt((1*9+2*0+3*1)/6.0), included.SD, 1e-12)
	require.Equal(t, []float64{-1, 3}, all.Quantiles)
}

func TestSummariseUniformWithPointMass(t *testing.T) {
	// Half of the mass is at zero and half is uniform on (−1, 3), so the quantiles of the mixture
	// are known.
	random := stream.Rand(1, "summarize")
	n := 20000
	in := make([]Value, n/2)
	for i := range in {
		in[i] = Value{4*random.Float64() - 1, 1}
	}
	all, included := Summarise(in, float64(n), levels)
	// The standard error of these quantiles is about 0.008; the tolerance is five standard errors.
	require.InDelta(t, -0.8, all.Quantiles[0], 0.04)
	require.InDelta(t, 2.8, all.Quantiles[1], 0.04)
	require.InDelta(t, -0.9, included.Quantiles[0], 0.04)
	require.InDelta(t, 0.5, all.Mean, 0.05)
}

func TestSummariseNeverIn(t *testing.T) {
	all, included := Summarise(nil, 2, levels)
	require.Equal(t, Summary{Quantiles: []float64{0, 0}}, all)
	require.True(t, math.IsNaN(included.Mean) && math.IsNaN(included.SD) && math.IsNaN(included.Quantiles[0]))
}

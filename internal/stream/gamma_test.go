package stream

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestGammaMoments checks that mean and variance equal the shape, to four standard errors: a false
// alarm for about 1 of 1,300 seeds.
func TestGammaMoments(t *testing.T) {
	const draws = 100_000
	for _, shape := range []float64{0.2, 1, 2.5, 60} {
		random, mean, square := Rand(1, "gamma"), 0.0, 0.0
		for range draws {
			x := Gamma(shape, random)
			mean += x / draws
			square += (x - shape) * (x - shape) / draws
		}
		require.InDelta(t, shape, mean, 4*math.Sqrt(shape/draws))
		// the fourth central moment is 3 shape² + 6 shape
		require.InDelta(t, shape, square, 4*math.Sqrt((2*shape*shape+6*shape)/draws))
	}
	require.Panics(t, func() { Gamma(0, Rand(1, "gamma")) })
}

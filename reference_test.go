package vti

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/internal/stream"
)

// The density of the mixture is right if the inverse ratio averages to one over draws from the
// mixture.
func TestReferenceDensityIsNormalised(t *testing.T) {
	random := stream.Rand(1, "reference")
	const n, dim = 200_000, 3
	var sum, sumOfSquares float64
	z := make([]float64, dim)
	for range n {
		wideReference.draw(random, z)
		var squares float64
		for _, x := range z {
			squares += x * x
		}
		inverse := math.Exp(-wideReference.logRatio(squares, dim))
		sum += inverse
		sumOfSquares += inverse * inverse
	}
	mean := sum / n
	se := math.Sqrt((sumOfSquares/n - mean*mean) / n)
	require.InDelta(t, 1, mean, 4*se) // a false alarm in 16,000 runs
}

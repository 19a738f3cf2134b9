package regression

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

// Mean and variance of a linear predictor given one row agree with sums over a fine grid.
func TestTiltedMomentsAgreeWithSums(t *testing.T) {
	model := &Outliers{[2]float64{math.Log(0.9), math.Log(0.1)}, [2]float64{0.25, 9}}
	for _, c := range [][3]float64{{0, 0, 1}, {3, -1, 0.5}, {-8, 2, 4}} {
		y, mean, variance := c[0], c[1], c[2]
		var grid, density []float64
		const step = 1e-3
		for s := -30.0; s < 30; s += step {
			value := math.Exp(-(s-mean)*(s-mean)/2/variance) / math.Sqrt(2*math.Pi*variance)
			rows := 0.0
			for k, noise := range model.Variance {
				rows += math.Exp(model.LogShare[k]-(y-s)*(y-s)/2/noise) / math.Sqrt(2*math.Pi*noise)
			}
			grid, density = append(grid, s), append(density, value*rows*step)
		}
		logIntegral, tiltedMean, tiltedVariance := model.Tilted(y, mean, variance)
		wantMean, wantVariance := stat.PopMeanVariance(grid, density)
		require.InDelta(t, math.Log(floats.Sum(density)), logIntegral, 1e-9)
		require.InDelta(t, wantMean, tiltedMean, 1e-9)
		require.InDelta(t, wantVariance, tiltedVariance, 1e-9)
	}
}

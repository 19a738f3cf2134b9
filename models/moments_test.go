package models

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/space"
)

// The test draws 400 samples, of independent weighted draws and of groups of dependent draws. The
// z-scores of the moments must have standard deviation 1. The standard deviation of 400 z-scores
// has a standard error of 0.035, and the test allows 4.5 of these.
func TestMomentsHaveTheirErrors(t *testing.T) {
	sp, err := space.NewSubsets(2, []int{0}, [][]int{{1}})
	require.NoError(t, err)
	random := rand.New(rand.NewPCG(3, 4))
	for _, grouped := range []bool{false, true} {
		var zMean, zSD []float64
		for range 400 {
			const n, groups = 2000, 200
			sample := WeightedSample{Theta: mat.NewDense(n, 2, nil)}
			shift := make([]float64, groups)
			for g := range shift {
				shift[g] = random.NormFloat64()
			}
			var total float64
			for i := range n {
				x, weight := random.NormFloat64(), 1.0
				if grouped {
					sample.Group = append(sample.Group, i%groups)
					x = (x + shift[i%groups]) / math.Sqrt2
				} else { // drawn with twice the standard deviation, and weighted to correct it
					x *= 2
					weight = math.Exp(-x*x/2 + x*x/8)
				}
				sample.Codes = append(sample.Codes, []int32{int32(i / groups % 2)})
				sample.Theta.Set(i, 1, x)
				sample.Weight = append(sample.Weight, weight)
				total += weight
			}
			for i := range sample.Weight {
				sample.Weight[i] /= total
			}
			m := sample.moments(sp)[1]
			zMean, zSD = append(zMean, m.Mean/m.MeanSE), append(zSD, (m.SD-1)/m.SDSE)
		}
		require.InDelta(t, 1, stat.StdDev(zMean, nil), 0.16)
		require.InDelta(t, 1, stat.StdDev(zSD, nil), 0.16)
		require.InDelta(t, 0, stat.Mean(zMean, nil), 0.23)
	}
}

package evaluate

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/internal/psis"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/lab/testkit"
)

// TestReferenceDensityIsNormalised checks the density of the mixture of noise: over draws from it,
// the standard normal density divided by the density of the mixture must have mean one.
func TestReferenceDensityIsNormalised(t *testing.T) {
	random := stream.Rand(1, "reference")
	const n, dim = 200_000, 3
	var sum, sumOfSquares float64
	z := make([]float64, dim)
	for range n {
		WideReference.Draw(random, z)
		ratios := WideReference.logRatios(z, dim)
		inverse := math.Exp(-ratios[len(ratios)-1])
		sum += inverse
		sumOfSquares += inverse * inverse
	}
	mean := sum / n
	se := math.Sqrt((sumOfSquares/n - mean*mean) / n)
	require.InDelta(t, 1, mean, 4*se) // a false alarm in 16,000 runs
}

// TestReferenceDensityOfActiveCoordinates checks that the density depends on active coordinates,
// even if one is zero by chance, but not on inactive coordinates, which are zero.
func TestReferenceDensityOfActiveCoordinates(t *testing.T) {
	log := func(x float64) float64 { return math.Log(2.0/3 + math.Exp(x*x/2*(1-1.0/16))/12) }
	for active, z := range map[int][]float64{3: {1, -2, 0}, 2: {1, -2, 0}} {
		ratios := WideReference.logRatios(z, active)
		require.InDelta(t, log(1)+log(2)+float64(active-2)*log(0), ratios[len(WideReference.scales)], 1e-12)
	}
}

// largestWeight returns the largest weight under r for a posterior in which one coordinate has the
// density 0.98 N(0, 1) + 0.02 N(0, 3²). All other coordinates have the distribution of the flow.
func largestWeight(r Reference, dim int) (largest float64) {
	z := make([]float64, dim)
	for z[0] = 0; z[0] < 20; z[0] += 0.1 {
		ratios := r.logRatios(z, dim)
		largest = math.Max(largest, (0.98+0.02/3*math.Exp(z[0]*z[0]/2*(1-1.0/9)))*math.Exp(-ratios[len(ratios)-1]))
	}
	return largest
}

// If a single coordinate has a longer tail than the flow, no weight is much larger than the others.
// Without the last component of the mixture, one draw could change the evidence.
func TestLongTailOfOneCoordinate(t *testing.T) {
	without := Reference{WideReference.scales, []float64{0.7, 0.15, 0.1, 0.05}, 0, WideReference.aloneScale}
	for _, dim := range []int{2, 12, 40} {
		require.Less(t, largestWeight(WideReference, dim), float64(2*dim+2))
		require.Greater(t, largestWeight(without, dim), 1e9)
	}
}

// weightsUnder returns the log weights of draws from the wide reference for a target that is exp(1)
// times a normal density with the given scale, and the control variates (components) of the draws.
func weightsUnder(name string, n, dim int, scale float64) (logWeights, components []float64) {
	random, z := stream.Rand(3, name), make([]float64, dim)
	for range n {
		WideReference.Draw(random, z)
		ratios := WideReference.logRatios(z, dim)
		logTarget := 1 - float64(dim)*math.Log(scale) + floats.Dot(z, z)/2*(1-1/(scale*scale))
		logWeights = append(logWeights, logTarget-ratios[len(ratios)-1])
		components = append(components, WideReference.Components(z, dim)...)
	}
	return logWeights, components
}

// With an exact flow the evidence has no error, since control variates remove it. The plain mean of
// the weights has a standard error of 0.3 to 0.4 for each draw.
func TestExactFlowsHaveExactEvidences(t *testing.T) {
	for _, dim := range []int{1, 5, 20} {
		logWeights, components := weightsUnder("exact", psis.ControlledDraws, dim, 1)
		smoothed := psis.Smooth(logWeights)
		require.Greater(t, smoothed.LogMeanSE*math.Sqrt(psis.ControlledDraws), 0.05)
		mean, se := psis.Controlled(logWeights, smoothed, components)
		require.InDelta(t, 1, mean, 1e-9)
		require.Less(t, se, 1e-9)
	}
}

// TestControlledErrorsAreRight checks standard errors of evidences, with control variates, for an
// inexact flow. They must not exceed the standard errors of plain means of weights. Over 400
// repetitions, z-scores must have mean 0, to 4.5 standard errors of 0.05, and standard deviation 1,
// to 4.5 standard errors of 0.035.
func TestControlledErrorsAreRight(t *testing.T) {
	testkit.Slow(t)
	for _, scale := range []float64{0.8, 1.2} {
		var z, gain []float64
		for repetition := range 400 {
			logWeights, components := weightsUnder(fmt.Sprint(scale, repetition), psis.ControlledDraws, 4, scale)
			smoothed := psis.Smooth(logWeights)
			mean, se := psis.Controlled(logWeights, smoothed, components)
			z, gain = append(z, (mean-1)/se), append(gain, se/smoothed.LogMeanSE)
		}
		require.InDelta(t, 1, stat.StdDev(z, nil), 4.5*0.035)
		require.InDelta(t, 0, stat.Mean(z, nil), 4.5*0.05)
		require.Less(t, stat.Mean(gain, nil), 1.0)
	}
}

// Control variates are not applied to weights without variance or to too few weights.
func TestControlsOnlyWhereTheyCanBe(t *testing.T) {
	logWeights, components := weightsUnder("few", psis.ControlledDraws-1, 3, 1)
	smoothed := psis.Smooth(logWeights)
	mean, se := psis.Controlled(logWeights, smoothed, components)
	require.Equal(t, []float64{smoothed.LogMean, smoothed.LogMeanSE}, []float64{mean, se})
	logWeights, components = weightsUnder("heavy", psis.ControlledDraws, 3, 4)
	smoothed = psis.Smooth(logWeights)
	require.Greater(t, smoothed.K, psis.FiniteVariance)
	mean, se = psis.Controlled(logWeights, smoothed, components)
	require.Equal(t, []float64{smoothed.LogMean, smoothed.LogMeanSE}, []float64{mean, se})
}

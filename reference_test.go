package vti

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/internal/psis"
	"github.com/transdim/vti/internal/stream"
)

// The inverse ratio averages to one over draws from the mixture if its density is right.
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

// weightsUnder returns the log weights of draws of the wide reference for a normal density with the
// given scale, times exp(1), and their components.
func weightsUnder(name string, n, dim int, scale float64) (logWeights, components []float64) {
	random, z := stream.Rand(3, name), make([]float64, dim)
	for range n {
		wideReference.draw(random, z)
		var squares float64
		for _, x := range z {
			squares += x * x
		}
		logTarget := 1 - float64(dim)*math.Log(scale) + squares/2*(1-1/(scale*scale))
		logWeights = append(logWeights, logTarget-wideReference.logRatio(squares, dim))
		components = append(components, wideReference.components(squares, dim)...)
	}
	return logWeights, components
}

// The evidence of an exact flow has no error; the plain mean has one of 0.3 to 0.4 a draw.
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

// Evidences of an inexact flow have standard errors that match their scatter and do not exceed the
// plain mean's. Over 400 repetitions z has standard deviation 1, with an error of 0.035, and mean
// 0, with an error of 0.05; both within 4.5 errors.
func TestControlledErrorsAreRight(t *testing.T) {
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

// Control variates leave weights without a variance, or too few weights, unchanged.
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

package vti

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
)

// TestChainsTestify checks testimony, which keeps evenly spaced draws of chains as witnesses. Later
// certificates by weights must cover the regions of these points. The masses of the witnesses must
// add up to the evidence. If the evidence is unknown, there must be no witnesses.
func TestChainsTestify(t *testing.T) {
	const draws = 100
	c := &Certificate{LogEvidence: -3, Sample: WeightedSample{Theta: mat.NewDense(draws, 1, nil), LogP: make([]float64, draws)}}
	for i := range draws {
		c.Sample.Codes = append(c.Sample.Codes, []int32{int32(i)})
		c.Sample.Theta.Set(i, 0, float64(i))
	}
	group := testimony(c)
	require.Len(t, group, mostWitnesses)
	total := 0.0
	for i, one := range group {
		total += math.Exp(one.LogMass)
		require.InDelta(t, float64(one.Code[0]), one.Theta[0], 0)
		require.InDelta(t, i*draws/mostWitnesses, one.Theta[0], 0)
	}
	require.InDelta(t, math.Exp(-3), total, 1e-12)
	c.LogEvidence = math.NaN()
	require.Empty(t, testimony(c))
}

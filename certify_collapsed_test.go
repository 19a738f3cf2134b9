package vti

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
)

// Chains that mix are not believed where populations find another evidence, more or less of it, or
// too few effective draws to tell; both evidences are told.
func TestPopulationsMustAgree(t *testing.T) {
	sp := newNormals(t, 1)
	certificate := func(verdict Verdict, log float64) *Certificate {
		return &Certificate{Verdict: verdict, Reasons: []string{"a reason"}, LogEvidence: log, LogEvidenceSE: 0.01, Sample: WeightedSample{Theta: mat.NewDense(1, 1, nil)}}
	}
	for _, log := range []float64{-2, 0} {
		chains := certificate(Trusted, -1)
		chains.confirmBy(sp, certificate(Trusted, log))
		require.Equal(t, Doubtful, chains.Verdict)
		require.False(t, chains.Confirmed)
		require.Contains(t, chains.Reasons[len(chains.Reasons)-1], "by populations, -1.00 ± 0.01 by chains")
	}
	chains := certificate(Trusted, -1)
	chains.confirmBy(sp, certificate(Doubtful, -1))
	require.Equal(t, Doubtful, chains.Verdict)
	require.Contains(t, chains.Reasons[1], "a reason; log evidence -1.00 ± 0.01 by populations")
	chains = certificate(Doubtful, math.NaN())
	chains.confirmBy(sp, certificate(Trusted, -1))
	require.Equal(t, []string{"a reason"}, chains.Reasons, "they have a reason of their own")
}

// What chains without parameters have found is for the weights that follow to see: witnesses stand
// for all of the evidence, or for nothing where that is not known.
func TestChainsTestify(t *testing.T) {
	const draws = 100
	c := &Certificate{LogEvidence: -3, Sample: WeightedSample{Theta: mat.NewDense(draws, 1, nil), LogP: make([]float64, draws)}}
	for i := range draws {
		c.Sample.Codes = append(c.Sample.Codes, []int32{int32(i)})
		c.Sample.Theta.Set(i, 0, float64(i))
	}
	group := c.testimony()
	require.Len(t, group, mostWitnesses)
	total := 0.0
	for i, one := range group {
		total += math.Exp(one.LogMass)
		require.InDelta(t, float64(one.Code[0]), one.Theta[0], 0)
		require.InDelta(t, i*draws/mostWitnesses, one.Theta[0], 0)
	}
	require.InDelta(t, math.Exp(-3), total, 1e-12)
	c.LogEvidence = math.NaN()
	require.Empty(t, c.testimony())
}

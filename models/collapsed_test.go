package models

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/space"
)

// Trusted chains become doubtful if the log evidence of populations is one nat smaller or larger,
// or if the populations are doubtful themselves; the reason names both log evidences. Chains that
// are doubtful already keep their own reason alone.
func TestPopulationsMustAgree(t *testing.T) {
	sp, err := space.NewSubsets(1, nil, [][]int{{0}})
	require.NoError(t, err)
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

package vti

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/internal/laplace"
)

// TestWeightsThatMissEvidenceFail checks that weights of draws from the flow are not trusted if
// draws around modes found more evidence, even if these draws are too imprecise for an answer.
func TestWeightsThatMissEvidenceFail(t *testing.T) {
	e := newEvaluatorOf(t, newNormals(t, 2), 16)
	e.around = &Certificate{LogEvidence: -2, LogEvidenceSE: 0.1}
	for _, c := range []struct {
		logEvidence float64
		want        Verdict
	}{{-2.1, Trusted}, {-3, Failed}} {
		w := &weighing{Certificate: &Certificate{Verdict: Trusted, LogEvidence: c.logEvidence, LogEvidenceSE: 0.01}}
		require.NoError(t, w.compare(t.Context(), e, CertifyConfig{}))
		require.Equal(t, c.want, w.Verdict, w.Reasons)
	}
}

// TestModelsWithoutModesHaveNoBound checks that the evidence of a model has no upper bound if a
// search finds no mode of the model, and that other models keep their bounds.
func TestModelsWithoutModesHaveNoBound(t *testing.T) {
	s := &importanceSampler{tallies: []tally{newTally(), newTally()}, modes: make([]laplace.Modes, 2)}
	s.leaveUnbounded([]int{1})
	require.True(t, math.IsInf(s.tallies[0].estimate().Bound, -1))
	s.tallies[1].logWeights = []float64{math.Inf(-1)}
	require.True(t, math.IsInf(s.tallies[1].estimate().Bound, 1))
}

package vti

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"
)

// Evidences of chosen models, and moments of their parameter draws, equal the closed forms.
func TestEvidences(t *testing.T) {
	target := newNormals(t, 3)
	posterior := &Posterior{evaluator: newEvaluatorOf(t, target, 128)}
	codes := [][]int32{{1, 1, 1}, {0, 1, 0}, {1, 0, 0}}
	evidences, err := posterior.Evidences(codes, "test")
	require.NoError(t, err)
	require.NoError(t, evidences.Draw(t.Context(), []int{4000, 4000, 0}, true))
	models := evidences.Models()
	for i, code := range codes[:2] {
		// 5 standard errors for two models: one false alarm in 800,000 runs
		require.InDelta(t, target.logEvidence(code), models[i].LogEvidence, 5*models[i].LogEvidenceSE+1e-12, "model %v", code)
		require.Equal(t, 4000, models[i].Draws)
	}
	require.Equal(t, math.Inf(-1), models[2].LogEvidence)
	require.Equal(t, math.Inf(1), models[2].KHat)
	require.Zero(t, evidences.NonFinite())

	theta, weights := evidences.Sample(1)
	column := make([]float64, len(weights))
	for i := range column {
		require.Zero(t, theta.At(i, 0))
		column[i] = theta.At(i, 1)
	}
	mean, sd := stat.PopMeanStdDev(column, weights)
	require.InDelta(t, 1, mean, 5*0.5/math.Sqrt(3000)) // the sample has about 3,500 effective draws
	require.InDelta(t, 0.5, sd, 5*0.5/math.Sqrt(2*3000))
	theta, weights = evidences.Sample(2)
	require.Nil(t, theta)
	require.Nil(t, weights)

	_, err = posterior.Evidences([][]int32{{1, 1, 1}, {2, 0, 0}}, "test")
	require.EqualError(t, err, "vti.Evidences: model 1: site 0: got outcome 2, want 0 to 1")
}

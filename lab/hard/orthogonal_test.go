package hard

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/varsel"
)

// TestOrthogonal compares the product over orthogonal columns with the sum over all models.
func TestOrthogonal(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const n, predictors = 12, 4
	p := &regressionProblem{x: orthogonalColumns(n, predictors+1, random), sigma: 0.7, always: []int{0}, y: make([]float64, n)}
	for j := range predictors {
		p.groups = append(p.groups, []int{j + 1})
	}
	p.priorMean, p.priorSD = make([]float64, predictors+1), slices.Repeat([]float64{1.5}, predictors+1)
	p.priorMean[0] = 0.3
	for i := range p.y {
		p.y[i] = 1 + p.x.At(i, 2) + 0.7*random.NormFloat64()
	}
	p.logPrior = varsel.Prior{Kind: varsel.BernoulliPrior, Pi: 0.1}.LogProbs(predictors)
	want, err := p.solve(p.gaussian)
	require.NoError(t, err)
	got, err := p.orthogonal(0.1)
	require.NoError(t, err)
	require.InDelta(t, want.logEvidence, got.logEvidence, 1e-9)
	require.InDeltaSlice(t, want.inclusion, got.inclusion, 1e-9)
	require.InDeltaSlice(t, want.meanIn[:predictors+1], got.meanIn[:predictors+1], 1e-9)
	require.InDeltaSlice(t, want.sdIn[:predictors+1], got.sdIn[:predictors+1], 1e-9)

	p.x.Set(3, 2, p.x.At(3, 2)+0.1)
	_, err = p.orthogonal(0.1)
	require.Error(t, err)
}

// TestOverSigma checks that a robust regression whose noise scale has a very narrow prior gives the
// posterior with the known noise scale.
func TestOverSigma(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	p := &regressionProblem{x: orthogonalColumns(5, 2, random), y: []float64{0.1, 0.5, -0.2, 4, 0.3}, priorMean: make([]float64, 2), priorSD: []float64{2, 2}, sigma: 0.4}
	want, err := p.robust(0.1, 10)([]int{0, 1})
	require.NoError(t, err)
	p.sigma, p.logSigmaMean, p.logSigmaSD = 0, math.Log(0.4), 0.05
	got, err := p.overSigma(func(q *regressionProblem) func([]int) (modelMoments, error) { return q.robust(0.1, 10) })([]int{0, 1})
	require.NoError(t, err)
	require.InDelta(t, want.logEvidence, got.logEvidence, 0.02)
	require.InDeltaSlice(t, want.mean, got.mean[:2], 0.02)
	require.InDelta(t, 0.4, got.mean[2], 0.02)
}

package hard

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/varsel"
)

// TestGaussianBlocks compares the product over blocks of columns with the sum over all models, with
// a known and an unknown noise scale.
func TestGaussianBlocks(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const n, directions = 12, 5
	basis := orthogonalColumns(n, directions, random)
	p := &regressionProblem{x: mat.NewDense(n, 7, nil), always: []int{0}, y: make([]float64, n), priorMean: make([]float64, 7), priorSD: slices.Repeat([]float64{1.5}, 7), logSigmaMean: -0.2, logSigmaSD: 1}
	for j, in := range [][]int{{0}, {1, 2}, {1, 2}, {1}, {3}, {4}, {4}} { // blocks 0 1 2, 3 and 4 5 of predictors
		for _, d := range in {
			size := 0.5 + random.Float64()
			for i := range n {
				p.x.Set(i, j, p.x.At(i, j)+size*basis.At(i, d))
			}
		}
		if j > 0 {
			p.groups = append(p.groups, []int{j})
		}
	}
	p.priorMean[0] = 0.3
	for i := range p.y {
		p.y[i] = 1 + p.x.At(i, 2) + 0.7*random.NormFloat64()
	}
	for _, prior := range []varsel.Prior{{Kind: varsel.BernoulliPrior, Pi: 0.1}, {Kind: varsel.BetaBinomialPrior, A: 1, B: 1, MaxSize: 3}} {
		p.logPrior = prior.LogProbs(6)
		for _, p.sigma = range []float64{0.7, 0} {
			want, err := p.solve(p.gaussian)
			require.NoError(t, err)
			got, err := p.gaussianBlocks()
			require.NoError(t, err)
			compareExact(t, want, got, 1e-6)
		}
	}
	p.x.Set(3, 2, p.x.At(3, 2)+0.1)
	_, err := p.gaussianBlocks()
	require.Error(t, err)
}

// compareExact compares two exact posteriors, except the moments of the coordinate 0, which is in
// every model.
func compareExact(t *testing.T, want, got *exactPosterior, tolerance float64) {
	t.Helper()
	require.InDelta(t, want.logEvidence, got.logEvidence, tolerance)
	require.InDeltaSlice(t, want.inclusion, got.inclusion, tolerance)
	for j := 1; j < len(want.meanIn); j++ {
		if math.IsNaN(want.meanIn[j]) {
			continue
		}
		require.InDelta(t, want.meanIn[j], got.meanIn[j], tolerance, j)
		require.InDelta(t, want.sdIn[j], got.sdIn[j], tolerance, j)
	}
}

// TestRowBlocks compares the product over blocks of rows with the sum over all models, for models
// of at most two predictors, which are in one block or in two.
func TestRowBlocks(t *testing.T) {
	testkit.Slow(t)
	random := rand.New(rand.NewPCG(5, 6))
	const n = 14
	p := &regressionProblem{x: mat.NewDense(n, 6, nil), always: []int{0}, y: make([]float64, n), priorMean: make([]float64, 6), priorSD: []float64{3, 1.5, 1, 1, 2, 1}}
	for i := range n {
		p.x.Set(i, 0, 1)
		block := i / 6 // six rows, six rows, and two rows outside of blocks
		for j := 1; j < 6; j++ {
			if (j <= 3) == (block == 0) && block < 2 {
				p.x.Set(i, j, random.NormFloat64())
			}
		}
		p.y[i] = float64(random.IntN(2))
	}
	for j := range 5 {
		p.groups = append(p.groups, []int{j + 1})
	}
	p.logPrior = varsel.Prior{Kind: varsel.UniformPrior, MaxSize: 2}.LogProbs(5)
	for _, row := range []rowDensity{logisticRow, poissonRow} {
		want, err := p.solve(p.quadrature(row))
		require.NoError(t, err)
		got, err := p.rowBlocks(row)
		require.NoError(t, err)
		compareExact(t, want, got, 1e-4)
	}
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

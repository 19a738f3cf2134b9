package vti

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/models"
	"github.com/transdim/vti/rjmcmc"
	"github.com/transdim/vti/space"
)

// single excludes all models except the models with exactly one coordinate.
type single struct{ normals }

func (s single) LogPrior(codes *Node) *Node {
	allowed := Equal(ReduceSum(codes, -1), Const(codes.Graph(), int32(1)))
	return Where(allowed, s.normals.LogPrior(codes), Infinity(codes.Graph(), dtypes.Float64, -1))
}

// Chains start in the random models of package rjmcmc, or in draws from q(m) if the prior excludes
// most of the random models.
func TestStartsOfChains(t *testing.T) {
	target := newNormals(t, 6)
	e := newEvaluatorOf(t, target, 128)
	starts, err := startsOfChains(e)
	require.NoError(t, err)
	require.Nil(t, starts)

	e = newEvaluatorOf(t, target, 128)
	e.Target = single{target}
	starts, err = startsOfChains(e)
	require.NoError(t, err)
	require.Len(t, starts, 128)
	for _, code := range starts {
		require.NoError(t, space.CheckCode(target, code))
	}

	cfg, err := chainConfig(e, "a")
	require.NoError(t, err)
	other, err := chainConfig(e, "b")
	require.NoError(t, err)
	require.NotEqual(t, cfg.Seed, other.Seed)
	require.NotEqual(t, e.Seed, cfg.Seed)
}

// walks returns autoregressive series [chains][n] with the given correlation of neighbours. Every
// second series is shifted by the argument apart, in standard deviations, as if it lay around
// another mode.
func walks(random *rand.Rand, chains, n int, correlation, apart float64) [][]float64 {
	series := make([][]float64, chains)
	for c := range series {
		x := random.NormFloat64()
		for range n {
			x = correlation*x + math.Sqrt(1-correlation*correlation)*random.NormFloat64()
			series[c] = append(series[c], x+apart*float64(c%2))
		}
	}
	return series
}

func rHatOf(series [][]float64, n int) float64 {
	first := make([][]float64, len(series))
	for c := range series {
		first[c] = series[c][:n]
	}
	return rjmcmc.Summarise(first).RHat
}

// TestLengthOfChainsIsForetold checks predictions of the length at which R-hat falls to 1.01: in 17
// of 20 sets of simulated chains, R-hat must then be between 1.006 and 1.015.
func TestLengthOfChainsIsForetold(t *testing.T) {
	testkit.Slow(t)
	random := rand.New(rand.NewPCG(1, 1))
	const n = 200
	accurate := 0
	for range 20 {
		series := walks(random, 64, 8*n, 0.8, 0)
		rHat := rHatOf(series, n)
		foretold := rjmcmc.LengthUntil(models.EnoughRHat, n, rHat, n/4, rHatOf(series, n/4))
		assert.Greater(t, rHat, 1.02)
		if then := rHatOf(series, min(int(foretold), 8*n)); then > 1.006 && then < 1.015 {
			accurate++
		}
	}
	assert.GreaterOrEqual(t, accurate, 17)
}

// TestChainsThatAreStuckDoNotGoOn checks that chains that stay in the mode in which they start are
// predicted not to agree within the largest factor by which chains may be prolonged.
func TestChainsThatAreStuckDoNotGoOn(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 1))
	const n = 200
	for range 20 {
		series := walks(random, 64, n, 0.9, 1)
		assert.Greater(t, rHatOf(series, n), 1.1)
		assert.Greater(t, rjmcmc.LengthUntil(models.EnoughRHat, n, rHatOf(series, n), n/4, rHatOf(series, n/4)), float64(longest*n))
	}
	assert.Equal(t, math.Inf(1), rjmcmc.LengthUntil(1.01, 704, math.Inf(1), 176, math.Inf(1)))
	assert.Equal(t, math.Inf(1), rjmcmc.LengthUntil(1.01, 704, 1.02, 176, 1.01))
	assert.InDelta(t, 1408, rjmcmc.LengthUntil(1.01, 704, 1.02, 176, 1.08), 1e-9, "as 1 + a/n")
	assert.InDelta(t, 1408, rjmcmc.LengthUntil(1.01, 704, 1.02, 176, 1.5), 1e-9, "faster at first")
}

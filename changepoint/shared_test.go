package changepoint

import (
	gocontext "context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/lab/testkit"
)

// TestTwoModesOfWhatSegmentsShare compares the posterior with sums over a fine grid of the whole
// range of the shared parameter. In some series pairs of rows alternate between two levels: either
// this is noise, or there are thirty segments. Other series have two parts, and the mean that all
// segments share may be the mean of either part. If the search misses one of the two modes, the
// probability of no change is reported as 0 instead of 0.28.
func TestTwoModesOfWhatSegmentsShare(t *testing.T) {
	testkit.Long(t)
	pairs := func(jitter float64) func(i int, random *rand.Rand) float64 {
		return func(i int, random *rand.Rand) float64 {
			return float64(1-i/2%2*2) + jitter*random.NormFloat64()
		}
	}
	parts := func(first int) func(i int, random *rand.Rand) float64 {
		return func(i int, random *rand.Rand) float64 {
			if i < first {
				return 0.05 * random.NormFloat64()
			}
			return 1 + 0.05*random.NormFloat64()
		}
	}
	for _, test := range []struct {
		kind  Kind
		value func(i int, random *rand.Rand) float64
	}{
		{Mean, pairs(0.06)}, {Mean, pairs(0.08)}, {Slope, pairs(0.08)}, {Variance, parts(28)}, {Variance, parts(30)}, {Variance, parts(31)},
	} {
		for seed := range uint64(2) {
			random := rand.New(rand.NewPCG(seed, 5))
			y := make([]float64, 60)
			for i := range y {
				y[i] = test.value(i, random)
			}
			p := problemOf(t, Options{Kind: test.kind}, y)
			post, err := p.Posterior(gocontext.Background())
			require.NoError(t, err)
			s := newSums(p.y, p.unitTimes())
			logDensity, from, to := p.noise(s), -7.0, 3.0
			if test.kind == Variance {
				logDensity, from, to = p.commonMean(s), -4, 4
			}
			const step = 0.01
			var grid []*node
			for x := from; x <= to; x += step {
				n := &node{logPrior: logDensity.logPrior(x)}
				n.recursion, err = newRecursion(gocontext.Background(), p.rows(logDensity.family(x)), p.Options.MaxChanges)
				require.NoError(t, err)
				grid = append(grid, n)
			}
			counts := p.logPriorCount()
			log, total := make([]float64, len(counts)), math.Inf(-1)
			for k := range counts {
				log[k] = math.Inf(-1)
				for _, n := range grid {
					log[k] = logsum.Add(log[k], n.logPrior+n.recursion.logEvidence[k]+counts[k]+math.Log(step))
				}
				total = logsum.Add(total, log[k])
			}
			require.InDelta(t, total+p.logJacobian(), post.LogEvidence, 1e-3, "%v, seed %d", test.kind, seed)
			for k, probability := range post.Probabilities {
				require.InDelta(t, math.Exp(log[k]-total), probability, 1e-3, "%v, %d changes, seed %d", test.kind, k, seed)
			}
		}
	}
}

// TestFarRow checks that a row larger than the others by many powers of ten takes no digits from
// their sums: the reversed series must give the same answer. With plain cumulated sums,
// probabilities would consist of rounding errors.
func TestFarRow(t *testing.T) {
	for _, kind := range []Kind{Mean, Slope} {
		random := rand.New(rand.NewPCG(1, 5))
		y := make([]float64, 50)
		for i := range y {
			y[i] = random.NormFloat64() + float64(i/30)*3
		}
		y[7] = 1e8
		forth, err := problemOf(t, Options{Kind: kind}, y).Posterior(gocontext.Background())
		require.NoError(t, err)
		slices.Reverse(y)
		back, err := problemOf(t, Options{Kind: kind}, y).Posterior(gocontext.Background())
		require.NoError(t, err)
		require.InDelta(t, forth.LogEvidence, back.LogEvidence, 1e-4, "%v", kind)
		for k, probability := range forth.Probabilities {
			require.InDelta(t, probability, back.Probabilities[k], 1e-4, "%v, %d changes", kind, k)
		}
		require.Greater(t, forth.Probabilities[2]+forth.Probabilities[3], 0.9)
	}
}

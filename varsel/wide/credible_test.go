package wide

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// The predictors form two blocks, correlated within. Made-up probabilities of models must give one
// credible set in each block, with only the members that it needs for the level.
func TestCredibleSets(t *testing.T) {
	models := [][]int{{0, 5}, {1, 5}, {0, 6}, {1, 6}, {2, 5}, {0, 5, 9}, {}}
	probability := []float64{0.4, 0.2, 0.1, 0.1, 0.1, 0.07, 0.03}
	block := func(j int) int { return j / 5 }
	correlation := func(a, b int) float64 {
		if block(a) == block(b) {
			return 0.9 - 0.01*math.Abs(float64(a-b))
		}
		return 0.1
	}
	sets := CredibleSets(models, probability, 10, 0.95, 0.5, correlation)
	require.Len(t, sets, 2)
	require.Equal(t, []int{5, 6}, sets[0].Members)
	require.Equal(t, []int{0, 1, 2}, sets[1].Members)
	for _, set := range sets {
		require.InDelta(t, 0.97, set.Probability, 1e-12)
		require.InDelta(t, 0.97, set.One, 1e-12)
	}
	require.InDelta(t, 0.89, sets[0].Purity, 1e-12)
	require.InDelta(t, 0.88, sets[1].Purity, 1e-12)
	// with a lower level some of the members suffice; with too small correlations there is no set
	require.Equal(t, []int{0, 1}, CredibleSets(models, probability, 10, 0.85, 0.5, correlation)[1].Members)
	require.Len(t, CredibleSets(models, probability, 10, 0.95, 0.95, correlation), 0)
}

// Sets must contain an effect with the probability that they state. For 2,000 tables, effects are
// drawn from the prior over models, and models are weighted by their exact probabilities given
// noisy signals. The share of sets that contain an effect must be within four standard errors of
// the mean stated probability, which gives a false alarm in one of 16,000 runs.
func TestCredibleSetsCover(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const predictors, block = 12, 4
	correlation := func(a, b int) float64 {
		if a/block == b/block {
			return 0.8
		}
		return 0
	}
	sets, covered, promised := 0, 0, 0.0
	for range 2000 {
		// one predictor of each block matters; the signal is a number for each predictor, and
		// models are all choices of one predictor from each block
		truth := make([]int, predictors/block)
		logOdds := make([]float64, predictors)
		for b := range truth {
			truth[b] = b*block + random.IntN(block)
			for j := range block {
				shift := 0.0
				if b*block+j == truth[b] {
					shift = 2
				}
				signal := shift + random.NormFloat64()
				logOdds[b*block+j] = 2 * signal // log N(s; 2, 1) − log N(s; 0, 1), up to a constant
			}
		}
		var models [][]int
		var probability []float64
		total := 0.0
		for code := range block * block * block {
			members := []int{code % block, block + code/block%block, 2*block + code/block/block}
			weight := 0.0
			for _, j := range members {
				weight += logOdds[j]
			}
			models, probability = append(models, members), append(probability, math.Exp(weight))
			total += math.Exp(weight)
		}
		for m := range probability {
			probability[m] /= total
		}
		for _, set := range CredibleSets(models, probability, predictors, 0.9, 0.5, correlation) {
			sets++
			promised += set.Probability
			require.InDelta(t, set.Probability, set.One, 1e-9)
			if slices.ContainsFunc(truth, func(j int) bool { return slices.Contains(set.Members, j) }) {
				covered++
			}
		}
	}
	require.Greater(t, sets, 5900)
	share, mean := float64(covered)/float64(sets), promised/float64(sets)
	require.Greater(t, mean, 0.9)
	require.InDelta(t, mean, share, 4*math.Sqrt(mean*(1-mean)/float64(sets)))
}

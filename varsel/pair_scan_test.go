package varsel

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/likelihood"
)

// Where σ is known what a pair adds is the difference of log evidences, but for the prior of the
// columns that a model has, which is wide.
func TestPairsGainWhatTheyAddToTheEvidence(t *testing.T) {
	model := ModelOptions{Sigma: 0.7, Prior: Prior{Kind: BetaBinomialPrior, A: 1, B: 1, MaxSize: 5}}
	problem := slotProblem(t, correlated(t, likelihood.GaussianKind, 50, 12, 3), DesignOptions{Always: []string{"x4"}}, model)
	slots := problem.Slots
	exact := problem.Posterior().(vti.ExactTarget)
	evidence := func(model ...int) float64 {
		items := make([]int32, len(model))
		for k, predictor := range model {
			items[k] = int32(slots.item[predictor])
		}
		values, err := exact.LogEvidences(t.Context(), [][]int32{slots.space.Code(items, nil)})
		require.NoError(t, err)
		return values[0]
	}
	base := []int{0, 5}
	f := newScreenFit(slots.bits)
	f.find(base)
	s := f.pairScan(base)
	n := s.rows
	for c := range s.predictor {
		single := s.gain(s.along[c], 0, 0, s.ridge[c], math.Inf(1))
		require.InDelta(t, evidence(append(slices.Clone(base), s.predictor[c])...)-evidence(base...), single, 0.1)
		for d := range c {
			r := 0.0
			for i := range n {
				r += s.columns[c*n+i] * s.columns[d*n+i]
			}
			together := s.gain(s.along[c], s.along[d], r, s.ridge[c], s.ridge[d])
			want := evidence(append(slices.Clone(base), s.predictor[c], s.predictor[d])...) - evidence(base...)
			require.InDelta(t, want, together, 0.15)
			require.GreaterOrEqual(t, explained(s.along[c], s.along[d], r), s.needed(together-s.alone[c]+s.price[c]), "no pair is passed over that gains more")
		}
	}
}

// The best pairs are those of all pairs, one by one, whether σ is known or not.
func TestBestPairsAreThoseOfAll(t *testing.T) {
	for _, sigma := range []float64{0, 0.5} {
		model := ModelOptions{Sigma: sigma, Prior: Prior{Kind: BetaBinomialPrior, A: 1, B: 1, MaxSize: 5}}
		data := hiddenPairs(t, model.Likelihood, 5, 40, 300, [2]float64{1, 0.3}, 0.3, hiddenPair{first: 3, second: 280, disturbance: 3}, hiddenPair{first: 30, second: 150, cause: 1, disturbance: 2})
		problem := slotProblem(t, data, DesignOptions{}, model)
		f := newScreenFit(problem.Slots.bits)
		f.find(nil)
		s := f.pairScan(nil)
		all := &bestPairs{scan: s, least: leastBeyond, most: len(s.predictor) * len(s.predictor)}
		for c := range s.predictor {
			for d := range c {
				all.weigh(d, c)
			}
		}
		require.Greater(t, len(all.pairs), 4)
		require.Equal(t, all.pairs[:4], s.best(4))
		require.Equal(t, all.pairs, s.best(1000))
		require.Equal(t, pair{3, 280, all.pairs[0].together, all.pairs[0].beyond}, all.pairs[0])
	}
}

// A pair stands out where rows are added up: inner products of 60 numbers for 1,000 rows.
func TestPairsAreFoundInSums(t *testing.T) {
	model := ModelOptions{Likelihood: likelihood.LogisticKind, Prior: Prior{Kind: BetaBinomialPrior, A: 1, B: 1, MaxSize: 5}}
	data := hiddenPairs(t, model.Likelihood, 9, 1000, 60, [2]float64{1, 0}, 0, hiddenPair{first: 3, second: 28, disturbance: 4})
	problem := slotProblem(t, data, DesignOptions{}, model)
	f := newScreenFit(problem.Slots.bits)
	f.find(nil)
	s := f.pairScan(nil)
	whole := s.best(1)
	s.shorten(60)
	require.Equal(t, 60, s.lengths)
	require.Len(t, s.short, 60*60)
	require.Equal(t, whole, s.best(1))
	require.Equal(t, 3, whole[0].first)
	require.Equal(t, 28, whole[0].second)
}

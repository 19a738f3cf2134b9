package varsel

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/likelihood"
)

// Where σ is known what a pair adds is the difference of log evidences, but for the prior of the
// columns that a model has, which is wide.
func TestPairsGainWhatTheyAddToTheEvidence(t *testing.T) {
	model := ModelOptions{Sigma: 0.7, Prior: Prior{Kind: BetaBinomialPrior, A: 1, B: 1, MaxSize: 5}}
	problem := slotProblem(t, correlated(t, likelihood.GaussianKind, 50, 12, 3), DesignOptions{Always: []string{"x4"}}, model)
	slots := problem.Slots
	exact := problem.forms()
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
	f := newScreenFit(slots.base)
	f.find(base)
	s := f.jointScan(base)
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
		f := newScreenFit(problem.Slots.base)
		f.find(nil)
		s := f.jointScan(nil)
		all := &bestJoint{scan: s, least: leastBeyond, most: len(s.predictor) * len(s.predictor)}
		for c := range s.predictor {
			for d := range c {
				all.weigh(d, c)
			}
		}
		require.Greater(t, len(all.sets), 4)
		require.Equal(t, all.sets[:4], s.best(4))
		require.Equal(t, all.sets, s.best(1000))
		require.Equal(t, jointGain{[]int{3, 280}, all.sets[0].together, all.sets[0].beyond}, all.sets[0])
	}
}

// So are the best triples, and what they gain is the difference of log evidences where σ is known.
func TestBestTriplesAreThoseOfAll(t *testing.T) {
	for _, sigma := range []float64{0, 0.3} {
		model := ModelOptions{Sigma: sigma, Prior: Prior{Kind: BetaBinomialPrior, A: 1, B: 1, MaxSize: 5}}
		data := hiddenPairs(t, model.Likelihood, 5, 40, 40, [2]float64{1, 0}, 0.3,
			hiddenPair{first: 3, second: 28, third: 11, disturbance: 2}, hiddenPair{first: 20, second: 15, third: 7, disturbance: 2}, hiddenPair{first: 30, second: 38, third: 35, disturbance: 2})
		problem := slotProblem(t, data, DesignOptions{}, model)
		slots := problem.Slots
		f := newScreenFit(slots.base)
		f.find(nil)
		s := f.jointScan(nil)
		all := &bestJoint{scan: s, least: leastBeyond, most: 40 * 40 * 40}
		for e := range s.predictor {
			for d := range e {
				for c := range d {
					b := s.along
					inner := [3]float64{s.inner(c, d), s.inner(c, e), s.inner(d, e)}
					r := mat.NewSymDense(3, []float64{1, inner[0], inner[1], 0, 1, inner[2], 0, 0, 1})
					var solved mat.VecDense
					require.NoError(t, solved.SolveVec(r, mat.NewVecDense(3, []float64{b[c], b[d], b[e]})))
					all.weighTriple([3]int{c, d, e}, inner, mat.Dot(&solved, mat.NewVecDense(3, []float64{b[c], b[d], b[e]})))
				}
			}
		}
		require.GreaterOrEqual(t, len(all.sets), 3)
		found := s.bestTriples(1000)
		require.Len(t, found, len(all.sets))
		for i, want := range all.sets {
			require.Equal(t, want.members, found[i].members)
			require.InDelta(t, want.together, found[i].together, 1e-6)
			if sigma > 0 {
				items := make([]int32, 3)
				for k, predictor := range want.members {
					items[k] = int32(slots.item[predictor])
				}
				values, err := problem.forms().LogEvidences(t.Context(), [][]int32{slots.space.Code(items, nil), slots.space.Code(nil, nil)})
				require.NoError(t, err)
				require.InDelta(t, values[0]-values[1], want.together, 0.15)
			}
		}
		members := [][]int{found[0].members, found[1].members, found[2].members}
		require.ElementsMatch(t, [][]int{{3, 11, 28}, {7, 15, 20}, {30, 35, 38}}, members)
	}
}

// A pair stands out where rows are added up: inner products of 60 numbers for 1,000 rows.
func TestPairsAreFoundInSums(t *testing.T) {
	model := ModelOptions{Likelihood: likelihood.LogisticKind, Prior: Prior{Kind: BetaBinomialPrior, A: 1, B: 1, MaxSize: 5}}
	data := hiddenPairs(t, model.Likelihood, 9, 1000, 60, [2]float64{1, 0}, 0, hiddenPair{first: 3, second: 28, disturbance: 4})
	problem := slotProblem(t, data, DesignOptions{}, model)
	f := newScreenFit(problem.Slots.base)
	f.find(nil)
	s := f.jointScan(nil)
	whole := s.best(1)
	s.shorten(60)
	require.Equal(t, 60, s.lengths)
	require.Len(t, s.short, 60*60)
	require.Equal(t, whole, s.best(1))
	require.Equal(t, []int{3, 28}, whole[0].members)
}

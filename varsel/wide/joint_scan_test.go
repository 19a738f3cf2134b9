package wide

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/likelihood"
)

// If σ is known, the gain of a pair equals the difference of the log evidences with and without the
// pair, up to the effect of the wide prior of the model's columns.
func TestPairsGainWhatTheyAddToTheEvidence(t *testing.T) {
	d := correlated(50, 12)
	d.Always, d.Predictors = []int{0, 5}, slices.Delete(d.Predictors, 4, 5)
	search := searchOf(d, 0.7)
	evidence := func(model ...int) float64 { return search.evidence(t, model...) }
	base := []int{0, 5}
	f := search.fit()
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

// The best pairs that a scan finds are the best of all pairs, computed one by one, for known and
// unknown σ.
func TestBestPairsAreThoseOfAll(t *testing.T) {
	for _, sigma := range []float64{0, 0.5} {
		d := hiddenPairs(likelihood.GaussianKind, 5, 40, 300, [2]float64{1, 0.3}, 0.3, hiddenPair{first: 3, second: 280, disturbance: 3}, hiddenPair{first: 30, second: 150, cause: 1, disturbance: 2})
		f := searchOf(d, sigma).fit()
		f.find(nil)
		s := f.jointScan(nil)
		all := &bestJoint{scan: s, least: leastBeyond, most: len(s.predictor) * len(s.predictor)}
		for c := range s.predictor {
			for d := range c {
				all.computePair(d, c)
			}
		}
		require.Greater(t, len(all.sets), 4)
		require.Equal(t, all.sets[:4], s.best(4))
		require.Equal(t, all.sets, s.best(1000))
		require.Equal(t, jointGain{[]int{3, 280}, all.sets[0].together, all.sets[0].beyond}, all.sets[0])
	}
}

// The best triples that a scan finds are the best of all triples. If σ is known, their gain is the
// difference of log evidences.
func TestBestTriplesAreThoseOfAll(t *testing.T) {
	for _, sigma := range []float64{0, 0.3} {
		d := hiddenPairs(likelihood.GaussianKind, 5, 40, 40, [2]float64{1, 0}, 0.3,
			hiddenPair{first: 3, second: 28, third: 11, disturbance: 2}, hiddenPair{first: 20, second: 15, third: 7, disturbance: 2}, hiddenPair{first: 30, second: 38, third: 35, disturbance: 2})
		search := searchOf(d, sigma)
		f := search.fit()
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
					pair := math.Max(0, s.gain(b[c], b[d], inner[0], s.ridge[c], s.ridge[d]))
					all.weighTriple([3]int{c, d, e}, inner, pair, mat.Dot(&solved, mat.NewVecDense(3, []float64{b[c], b[d], b[e]})))
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
				require.InDelta(t, search.evidence(t, want.members...)-search.evidence(t), want.together, 0.15)
			}
		}
		members := [][]int{found[0].members, found[1].members, found[2].members}
		require.ElementsMatch(t, [][]int{{3, 11, 28}, {7, 15, 20}, {30, 35, 38}}, members)
	}
}

// The inner products of columns are computed from 60 sums in place of 1,000 rows. The scan must
// still find the same best pair, with the same gain, as from the rows.
func TestPairsAreFoundInSums(t *testing.T) {
	f := searchOf(hiddenPairs(likelihood.LogisticKind, 9, 1000, 60, [2]float64{1, 0}, 0, hiddenPair{first: 3, second: 28, disturbance: 4}), 1).fit()
	f.find(nil)
	s := f.jointScan(nil)
	whole := s.best(1)
	s.shorten(60)
	require.Equal(t, 60, s.lengths)
	require.Len(t, s.short, 60*60)
	require.Equal(t, whole, s.best(1))
	require.Equal(t, []int{3, 28}, whole[0].members)
}

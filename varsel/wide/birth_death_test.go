package wide

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/space"
)

// TestBirthDeathUpdates adds and removes predictors, and compares updated fields with fields
// computed anew.
func TestBirthDeathUpdates(t *testing.T) {
	search := searchOf(correlated(60, 7), 0)
	search.Prior.MaxSize = 5
	b := search.Births(nil, nil).(*births)
	s, err := b.state([]int{0, 2})
	require.NoError(t, err)
	for _, predictor := range []int{1, 3, 0, 4, 2, 5, 0, 3, 1} {
		s.flip(b.fixed + predictor)
	}
	grown, linear, log := append([]float64(nil), s.grown...), append([]float64(nil), s.linear...), s.logEvidence
	require.True(t, s.refresh())
	require.InDelta(t, s.logEvidence, log, 1e-9)
	require.InDeltaSlice(t, s.grown, grown, 1e-9)
	require.InDeltaSlice(t, s.linear, linear, 1e-9)
	require.Len(t, s.members, b.fixed+3)
	// a model that was visited before comes back as it was
	before := s.modelOdds
	for _, predictor := range []int{0, 3, 3, 0} {
		s.flip(b.fixed + predictor)
	}
	require.Same(t, before, s.modelOdds)
	// the odds of adding a column are the odds of the two models given σ
	without := s.logEvidence + search.prior().Sizes[3]
	odds := s.rates(1) * s.odds[b.fixed+6] / s.sum
	s.flip(b.fixed + 6)
	require.InDelta(t, s.logEvidence+search.prior().Sizes[4]-without, math.Log(odds), 1e-9)
	// odds agree with their logarithms, also if these are too large for exponentials
	for _, most := range []float64{5, 750} {
		logs := s.logFactors(0, 1)
		floats.Scale(math.Sqrt(most/slices.Max(logs)), s.linear)
		s.rates(1)
		odds := slices.Clone(s.odds)
		logs = s.logFactors(0, 1)
		best := floats.MaxIdx(logs)
		for c, at := range s.memberIndex {
			if at >= 0 {
				require.Zero(t, odds[c])
			} else {
				require.InDelta(t, logs[c]-logs[best], math.Log(odds[c])-math.Log(odds[best]), 1e-9)
			}
		}
	}
}

// If rounding errors exceed the part of a column that the model does not explain, no odds of adding
// columns can be computed. The sweep then returns NaN, instead of running for ever.
func TestSweepWithoutOddsEnds(t *testing.T) {
	for _, power := range []float64{1, 0.8} {
		s := &birthState{
			births: &births{slots: 2, prior: space.LogTerms{Sizes: []float64{0, 0, 0}}, slab: 1},
			work:   make([]float64, oddsBlock), other: make([]float64, oddsBlock),
			modelOdds: &modelOdds{grown: []float64{2, -1, 2}, linear: []float64{1, 1, 1}, odds: make([]float64, 3), sums: make([]float64, 1)},
		}
		require.True(t, math.IsNaN(s.Sweep(power, rand.New(rand.NewPCG(1, 2)))))
	}
}

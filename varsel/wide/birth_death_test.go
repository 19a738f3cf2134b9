package wide

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/space"
)

// TestBirthDeathUpdates adds and removes predictors, and compares updated fields with fields
// computed anew.
func TestBirthDeathUpdates(t *testing.T) {
	search := searchOf(correlated(60, 7), 0)
	search.Prior.MaxSize = 5
	b := search.Births(nil, nil, nil).(*gaussian)
	s, random := &birthProcess{births: b.births}, stream.Rand(1, "updates")
	require.True(t, (&gaussianState{b, b.with([]int{0, 2})}).begin(s, random))
	at := func(predictor int) int { return slices.Index(s.columns, b.fixed+predictor) }
	for _, predictor := range []int{1, 3, 0, 4, 2, 5, 0, 3, 1} {
		s.flip(at(predictor))
	}
	grown, linear, log := append([]float64(nil), s.grown...), append([]float64(nil), s.linear...), s.logEvidence
	require.True(t, s.refresh())
	require.InDelta(t, s.logEvidence, log, 1e-9)
	require.InDeltaSlice(t, s.grown, grown, 1e-9)
	require.InDeltaSlice(t, s.linear, linear, 1e-9)
	require.Len(t, s.members, b.fixed+3)
	// the previous model comes back as it was
	before := s.modelOdds
	for range 2 {
		s.flip(at(3))
	}
	require.Same(t, before, s.modelOdds)
	// the odds of adding a column are the odds of the two models given σ
	without := s.logEvidence + search.prior().Sizes[3]
	odds := s.rates(1) * s.odds[at(6)] / s.sum
	s.flip(at(6))
	require.InDelta(t, s.logEvidence+search.prior().Sizes[4]-without, math.Log(odds), 1e-9)
	// odds agree with their logarithms, also if these are too large for exponentials
	for _, most := range []float64{5, 750} {
		logs := s.logFactors(1)
		floats.Scale(math.Sqrt(most/slices.Max(logs)), s.linear)
		s.rates(1)
		odds := slices.Clone(s.odds)
		logs = s.logFactors(1)
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
// columns can be computed. The process then ends, instead of running for ever.
func TestSweepWithoutOddsEnds(t *testing.T) {
	for _, power := range []float64{1, 0.8} {
		s := &birthProcess{
			births:    &births{slots: 2, prior: space.LogTerms{Sizes: []float64{0, 0, 0}}, slab: 1},
			modelOdds: &modelOdds{grown: []float64{2, -1, 2}, linear: []float64{1, 1, 1}, odds: make([]float64, 3)}, work: make([]float64, 3),
		}
		require.False(t, s.run(sweepTime, power, rand.New(rand.NewPCG(1, 2))))
	}
}

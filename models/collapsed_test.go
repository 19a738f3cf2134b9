package models

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/rjmcmc"
	"github.com/transdim/vti/space"
)

// Trusted chains become doubtful if the log evidence of populations is one nat smaller or larger,
// or if the populations are doubtful themselves; the reason names both log evidences. Chains that
// are doubtful already keep their own reason alone.
func TestPopulationsMustAgree(t *testing.T) {
	sp, err := space.NewSubsets(1, nil, [][]int{{0}})
	require.NoError(t, err)
	certificate := func(verdict Verdict, log float64) *Certificate {
		return &Certificate{Verdict: verdict, Reasons: []string{"a reason"}, LogEvidence: log, LogEvidenceSE: 0.01, Sample: WeightedSample{Theta: mat.NewDense(1, 1, nil)}}
	}
	for _, log := range []float64{-2, 0} {
		chains := certificate(Trusted, -1)
		chains.confirmBy(sp, certificate(Trusted, log))
		require.Equal(t, Doubtful, chains.Verdict)
		require.False(t, chains.Confirmed)
		require.Contains(t, chains.Reasons[len(chains.Reasons)-1], "by populations, -1.00 ± 0.01 by chains")
	}
	chains := certificate(Trusted, -1)
	chains.confirmBy(sp, certificate(Doubtful, -1))
	require.Equal(t, Doubtful, chains.Verdict)
	require.Contains(t, chains.Reasons[1], "a reason; log evidence -1.00 ± 0.01 by populations")
	chains = certificate(Doubtful, math.NaN())
	chains.confirmBy(sp, certificate(Trusted, -1))
	require.Equal(t, []string{"a reason"}, chains.Reasons, "they have a reason of their own")
}

// slow is a posterior over two models with the same probability. A state takes a millisecond for a
// sweep, and keeps its model nearly always.
type slow struct{}

func (slow) Prior(random *rand.Rand) (rjmcmc.CollapsedState, error) {
	return &slowState{random.Int32N(2)}, nil
}

func (s slow) Far(random *rand.Rand) (rjmcmc.CollapsedState, error) { return s.Prior(random) }

type slowState struct{ model int32 }

func (s *slowState) Sweep(_ float64, random *rand.Rand) float64 {
	time.Sleep(time.Millisecond)
	if random.Float64() < 1e-3 {
		s.model = 1 - s.model
	}
	return 0
}

func (s *slowState) Clone() rjmcmc.CollapsedState { return new(*s) }

func (s *slowState) Draw(_ *rand.Rand, code []int32, _ []float64) (float64, error) {
	code[0] = s.model
	return math.Log(0.5), nil
}

// unfitted is a q(m) whose fit takes longer than the time that is left.
type unfitted struct{ Proposal }

func (unfitted) Fit(ctx context.Context, _ [][]int32, _ []float64) error {
	<-ctx.Done()
	return ctx.Err()
}

func (unfitted) LogModel(codes [][]int32) ([]float64, error) { return make([]float64, len(codes)), nil }

// Chains that do not mix in time give an answer that says so, and not an error.
func TestChainsCutShort(t *testing.T) {
	sp, err := space.NewSubsets(1, nil, [][]int{{0}})
	require.NoError(t, err)
	synctest.Test(t, func(t *testing.T) {
		e := &Engine{
			Space: sp, Q: unfitted{}, AnswerOnly: true, Seed: 1,
			LogPrior: func(codes [][]int32) ([]float64, error) { return make([]float64, len(codes)), nil },
			Known:    Known{Collapsed: func([][]int32) rjmcmc.Collapsed { return slow{} }},
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		c, err := e.Collapsed(ctx, Config{})
		require.NoError(t, err)
		require.Error(t, ctx.Err(), "the time is over")
		require.NotEqual(t, Trusted, c.Verdict)
		require.Greater(t, c.RHat, EnoughRHat)
		require.GreaterOrEqual(t, c.Draws, collapsedChains*collapsedFirst/collapsedThin)
		require.Len(t, c.Models, 2)
	})
}

package rjmcmc

import (
	"context"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// coin is a posterior over two models with the same probability, without parameters in common.
type coin struct{}

func (c coin) Prior(random *rand.Rand) (CollapsedState, error) {
	return &coinState{random.Int32N(2)}, nil
}

func (c coin) Far(random *rand.Rand) (CollapsedState, error) { return c.Prior(random) }

type coinState struct{ side int32 }

func (s *coinState) Sweep(_ float64, random *rand.Rand) float64 {
	s.side = random.Int32N(2)
	return 0
}

func (s *coinState) Clone() CollapsedState { return new(*s) }

func (s *coinState) Draw(random *rand.Rand, code []int32, theta []float64) (float64, error) {
	code[0], theta[0] = s.side, random.NormFloat64()
	return 0, nil
}

// expiring is a context whose deadline passes when Err has been called some times.
type expiring struct {
	context.Context
	calls *atomic.Int64
}

func expiresAfter(ctx context.Context, calls int64) expiring {
	e := expiring{ctx, new(atomic.Int64)}
	e.calls.Store(calls)
	return e
}

func (e expiring) Err() error {
	if e.calls.Add(-1) < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

// A run grows by the requested factor, but by an eighth at least and by half at most, until Growth
// returns 1 or the iterations end.
func TestCollapsedChainsGrow(t *testing.T) {
	for _, c := range []struct {
		growth float64
		draws  []int
	}{
		{1.3, []int{100, 130, 169, 219, 284}},
		{1.01, []int{100, 112, 126, 141, 158}},
		{math.Inf(1), []int{100, 150, 225, 300}},
	} {
		var draws []int
		_, err := RunCollapsed(t.Context(), coin{}, 1, func([]int32, []bool) []bool { return []bool{true} }, CollapsedConfig{
			Chains: 1, Thin: 1, First: 100, Iterations: 300, Powers: []float64{1, 0}, Seed: 1,
			Growth: func(r *Result) float64 {
				if draws = append(draws, r.Draws()); len(draws) == 5 {
					return 1
				}
				return c.growth
			},
		})
		require.NoError(t, err)
		require.Equal(t, c.draws, draws)
	}
}

// If the deadline passes, chains keep the draws that all of them have made: a whole number of
// steps, the same draws as without a deadline. Without a draw, or if the run is cancelled, there is
// an error.
func TestCollapsedChainsEndInTime(t *testing.T) {
	cfg := CollapsedConfig{Chains: 4, BurnIn: 10, Thin: 2, Iterations: 1000, First: 500, Powers: []float64{1, 0}, Seed: 1}
	asked := 0
	cfg.Growth = func(*Result) float64 { asked++; return math.NaN() }
	run := func(ctx context.Context) (*Result, error) {
		return RunCollapsed(ctx, coin{}, 1, func([]int32, []bool) []bool { return []bool{true} }, cfg)
	}
	whole, err := run(t.Context())
	require.NoError(t, err)
	require.Equal(t, 4*500, whole.Draws())
	require.Equal(t, 3, asked, "after 500, 750 and 1000 iterations")
	const burnIn, step = 4 * 10, 4 * 2 * collapsedStep // in iterations of all chains
	for steps := range 3 {
		part, err := run(expiresAfter(t.Context(), burnIn+int64(steps)*step+step/2))
		if steps == 0 {
			require.ErrorIs(t, err, context.DeadlineExceeded)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, 4*steps*collapsedStep, part.Draws())
		for draw := range part.Draws() {
			require.Equal(t, whole.Codes(draw), part.Codes(draw))
			require.Equal(t, whole.Theta(draw), part.Theta(draw))
		}
		density := part.LogDensitySummary()
		require.Equal(t, 0.0, density.Mean, "summaries read the draws that are left")
	}
	require.Equal(t, 3, asked)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = run(cancelled)
	require.ErrorIs(t, err, context.Canceled)
}

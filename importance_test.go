package vti

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/space"
)

func TestEvenAllocation(t *testing.T) {
	excluded := math.Inf(-1)
	require.Equal(t, []int{mostDraws, 0, mostDraws}, evenAllocation([]float64{0, excluded, -5}))
	require.Equal(t, leastDraws, evenAllocation(make([]float64, 1<<15))[0])
	require.Equal(t, 128, evenAllocation(make([]float64, 1<<11))[0])
}

// The representative draw of a model is chosen in proportion to weight.
func TestTallyChoosesByWeight(t *testing.T) {
	const repeats = 20_000
	random := stream.Rand(1, "tally")
	counts := make([]float64, 4)
	for range repeats {
		drawn := tally{logTotal: math.Inf(-1)}
		for i, weight := range []float64{1, 0, 2, 5} {
			drawn.add(storedDraw{theta: []float64{float64(i)}, logWeight: math.Log(weight)}, random.Float64(), false)
		}
		draws, logWeights := drawn.representatives()
		require.Equal(t, []float64{0}, logWeights)
		counts[int(draws[0].theta[0])]++
	}
	for i, share := range []float64{0.125, 0, 0.25, 0.625} {
		// three draws are compared to 4 standard errors: one false alarm in 5,000 runs
		require.InDelta(t, share, counts[i]/repeats, 4*math.Sqrt(share*(1-share)/repeats))
	}
}

// TestImportanceSampler compares means of weights of an exact flow with the evidence of every
// model, for several sizes of batch. The error of a stopped sampler must name the number of draws
// done.
func TestImportanceSampler(t *testing.T) {
	target := newNormals(t, 2)
	e := newEvaluatorOf(t, target, 64)
	codes := space.ListModels(target)
	s := newImportanceSampler(e, codes, "test")
	var last int
	s.total = 4000
	s.progress = func(done, total int) {
		require.Equal(t, 4000, total)
		last = done
	}
	require.NoError(t, s.draw(t.Context(), []int{1000, 1000, 0, 2000}, true))
	require.Equal(t, 4000, last)
	for i, code := range codes {
		if i == 2 {
			require.Empty(t, s.tallies[i].logWeights)
			continue
		}
		estimate := s.tallies[i].estimate()
		// three models are compared to 5 standard errors: one false alarm in 500,000 runs
		require.InDelta(t, target.logEvidence(code), estimate.Log, 5*estimate.SE+1e-9, "model %v", code)
		require.Less(t, estimate.SE, 0.02)
		draws, logWeights := s.tallies[i].representatives()
		require.Len(t, draws, estimate.Draws)
		require.Len(t, logWeights, estimate.Draws)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := newImportanceSampler(e, codes, "test").draw(ctx, []int{1, 0, 0, 0}, false)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "stopped after 0 draws")
}

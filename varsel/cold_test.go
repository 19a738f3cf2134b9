package varsel

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/modeldist"
)

// coldVariation returns the total variation between a surrogate q(m), after a short fit, and the
// argument oracle, reference probabilities of the models of the VTI paper's problem. As in the
// paper, the flow starts as the identity, and q(m) as the prior.
func coldVariation(t *testing.T, device *gpu.Device, problem *Problem, oracle map[string]float64, belief modeldist.Belief, seed uint64, atOnce bool) float64 {
	t.Helper()
	cards := problem.Posterior().Space().Cards()
	models, err := modeldist.NewSurrogate(cards, modeldist.SurrogateConfig{Belief: belief, Seed: seed})
	require.NoError(t, err)
	posterior, err := vti.Fit(t.Context(), device, problem.Posterior(), vti.Config{
		Flow: cosmic.Config{Layers: 3, Blocks: 1, Hidden: 16}, Models: models, Steps: 600, Batch: 64, LearningRate: 0.01, Seed: seed,
		Start: vti.IdentityStart, LearnAtOnce: atOnce,
	})
	require.NoError(t, err)
	const draws = 1 << 14 // an error of about 0.02 in the total variation
	codes, _, _, err := posterior.Sample(draws, "cold")
	require.NoError(t, err)
	drawn := map[string]float64{}
	for _, code := range codes {
		drawn[modelText(problem.members(code), len(cards))]++
	}
	variation := 0.0
	for code, probability := range oracle {
		variation += math.Abs(drawn[code]/draws-probability) / 2
	}
	return variation
}

// With either form of the surrogate's belief about evidences, q(m) must come within a total
// variation of 0.1 of the reference. If q(m) learns from the first step on, it settles on the
// models that were fitted first, and the total variation must exceed 0.5.
func TestColdStartOfTheSurrogate(t *testing.T) {
	device, err := gpu.Open(gpu.CPU)
	require.NoError(t, err)
	defer device.Close()
	oracle := softmax(readEvidences(t, "../testdata/robust_vs/mid_1000_logz.csv"))
	problem := paperProblem(t, "mid")
	beliefs := []modeldist.Belief{modeldist.DiagonalBelief, modeldist.ProcessBelief}
	if testing.Short() {
		beliefs = beliefs[:1]
	}
	for _, belief := range beliefs {
		require.Less(t, coldVariation(t, device, problem, oracle, belief, 1, false), 0.1, "belief %d", belief)
		require.Greater(t, coldVariation(t, device, problem, oracle, belief, 1, true), 0.5, "belief %d", belief)
	}
}

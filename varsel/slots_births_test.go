package varsel

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/rjmcmc"
)

// TestBirthDeath compares the share of every model in chains of births and deaths (of predictors in
// the model) with its exact probability, for known and unknown σ. For known σ the test also raises
// evidences to a power. With unknown σ the chains raise the evidence given σ to the power, and its
// integral over σ has no closed form.
func TestBirthDeath(t *testing.T) {
	testkit.Slow(t)
	for name, c := range map[string]struct {
		sigma, power float64
		maxSize      int
		inclusion    []float64
	}{
		"σ unknown": {0, 1, 3, nil}, "σ known": {8, 1, 3, nil}, "tempered": {8, 0.4, 3, nil}, "at most two": {0, 1, 2, nil},
		"inclusion probabilities": {0, 1, 3, []float64{0.05, 0.2, 0.9, 0.6}}, "inclusion probabilities, tempered": {8, 0.4, 2, []float64{0.05, 0.2, 0.9, 0.6}},
	} {
		t.Run(name, func(t *testing.T) {
			prior := Prior{MaxSize: c.maxSize}
			if c.inclusion != nil {
				prior.Kind, prior.Inclusion = InclusionPrior, c.inclusion
			}
			problem := likelihoodCase{table: "hald.csv", design: DesignOptions{Target: "y"}, model: ModelOptions{Sigma: c.sigma, Codes: ListCodes, Prior: prior}}.problem(t)
			space := problem.Slots.space
			var codes [][]int32
			for code := range space.Models() {
				codes = append(codes, append([]int32(nil), code...))
			}
			evidences, err := problem.forms().LogEvidences(t.Context(), codes)
			require.NoError(t, err)
			index, exact, total := map[string]int{}, make([]float64, len(codes)), 0.0
			for i, code := range codes {
				index[keyOf(code)] = i
				exact[i] = math.Exp(logPriorByHand(problem, problem.members(code)) + c.power*(evidences[i]-evidences[0]))
				total += exact[i]
			}
			chains, err := rjmcmc.RunCollapsed(t.Context(), problem.Slots.birthDeath()(nil), space.Slots(), space.MaskRow, rjmcmc.CollapsedConfig{
				Chains: 32, BurnIn: 50, Iterations: 400, Thin: 1, Powers: []float64{c.power}, Seed: 3,
			})
			require.NoError(t, err)
			shares := make([][]float64, len(codes))
			for i := range shares {
				shares[i] = make([]float64, chains.Chains)
			}
			for draw := range chains.Draws() {
				shares[index[keyOf(chains.Codes(draw))]][draw%chains.Chains] += float64(chains.Chains) / float64(chains.Draws())
			}
			for i, byChain := range shares {
				mean, square := 0.0, 0.0
				for _, share := range byChain {
					mean += share / float64(len(byChain))
				}
				for _, share := range byChain {
					square += (share - mean) * (share - mean)
				}
				se := math.Sqrt(square / float64(len(byChain)*(len(byChain)-1)))
				require.InDelta(t, exact[i]/total, mean, 5*se+1e-3, "model %v", codes[i])
			}
			require.Less(t, chains.LogDensitySummary().RHat, 1.02)
		})
	}
}

func keyOf(code []int32) (key string) {
	for _, item := range code {
		key += string(rune('a' + item))
	}
	return key
}

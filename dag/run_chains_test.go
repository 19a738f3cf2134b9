package dag

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/rjmcmc"
)

// Chains that know nothing of families find the edge probabilities of the exact sums over orders: within 5 Monte Carlo standard errors and 0.01.
func TestChainsAgreeWithExactSums(t *testing.T) {
	device, err := gpu.Open(gpu.CPU)
	require.NoError(t, err)
	defer device.Close()
	p, err := NewProblem(chainData(t, 25, DataOptions{}), ModelOptions{Sigma: 0.8, Orders: true, EdgePenalty: 0.5}, Constraints{Forbid: []string{"c->a"}})
	require.NoError(t, err)
	scores, err := p.ExactScores(t.Context(), nil)
	require.NoError(t, err)
	posterior, err := NewPosterior(p.Structure, scores)
	require.NoError(t, err)
	result, err := RunChains(t.Context(), device, p, rjmcmc.Config{Chains: 32, BurnIn: 300, Iterations: 1000, Seed: 2}, nil, t.TempDir())
	require.NoError(t, err)
	require.NotEqual(t, "failed", result.Diagnostics.Verdict)
	want := posterior.EdgeProbabilities()
	for i, row := range result.matrix() {
		for j, probability := range row {
			require.InDelta(t, want[i][j], probability, 0.01+5*math.Sqrt(0.25/float64(result.Diagnostics.ESS)), "%d to %d", i, j)
		}
	}
	p.Structure.Orders = false
	require.ErrorContains(t, p.CheckChains(), "--prior-orders")
}

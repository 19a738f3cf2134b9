//go:build quality

package mixture

import (
	gocontext "context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
)

// If a flow approximates the posterior of a mixture, importance weights have heavy tails. With a
// Pareto k̂ of 0.62 to 0.66 over ten thousand draws, errors of p(k | data) can be 8 times the
// stated standard error. The test compares answers that vti.Solve trusts with the sampler of
// partitions, to 0.01 or four standard errors.
//
//	go test -tags quality -v -run SolveTrustsNoWrongMixture ./mixture
func TestSolveTrustsNoWrongMixture(t *testing.T) {
	device, err := gpu.Open(gpu.CPU)
	require.NoError(t, err)
	for seed := range uint64(3) {
		p := problemOf(t, Options{MaxComponents: 3}, small(seed, 20))
		target, err := p.target()
		require.NoError(t, err)
		s, err := p.Sample(gocontext.Background(), SampleConfig{Sweeps: 20_000})
		require.NoError(t, err)
		solution, err := vti.Solve(t.Context(), device, target, vti.SolveConfig{Fit: vti.Config{Seed: seed, Steps: 350}})
		require.NoError(t, err)
		c := solution.Certificate
		for k := range 3 {
			got, se := c.Probability(func(code []int32) bool { return int(code[0]) == k })
			want, off := s.cluster.probability[k], math.Hypot(se, s.cluster.se[k])
			t.Logf("table %d, k = %d: %v, k̂ %.2f of %d draws: %.4f ± %.4f, sampler %.4f ± %.4f %v", seed, k+1, c.Verdict, c.KHat, c.Draws, got, se, want, s.cluster.se[k], c.Reasons)
			if c.Verdict == vti.Trusted {
				require.InDelta(t, want, got, math.Max(0.01, 4*off))
			}
		}
	}
}

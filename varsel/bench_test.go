package varsel

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/rjmcmc"
)

// BenchmarkTrainingStep times whole training steps on the design of the VTI paper (robust
// likelihood, n = 50, p = 7, batch 1,024): sampling, likelihood, and the gradients and updates of
// the flow and of q(m).
func BenchmarkTrainingStep(b *testing.B) {
	device, err := gpu.Open(gpu.CPU)
	require.NoError(b, err)
	defer device.Close()
	for _, flow := range []struct {
		name   string
		config cosmic.Config
	}{
		{"diagonal", cosmic.DiagonalMLP(1, 1)},
		{"affine55", cosmic.Affine55(1, 1)},
		{"spline46", cosmic.Spline46(1, 1)},
		{"default", cosmic.Config{}},
	} {
		b.Run(flow.name, func(b *testing.B) {
			problem := paperProblem(b, "high")
			cfg := vti.Config{Flow: flow.config, Steps: b.N + 1, LogEvery: b.N + 2, Seed: 1}
			cfg.Progress = func(info vti.Info) {
				if info.Step == 1 { // the step is compiled and caches are warm
					b.ResetTimer()
				}
			}
			_, err := vti.Fit(b.Context(), device, problem.Target, cfg)
			require.NoError(b, err)
		})
	}
}

// BenchmarkChains reports the iterations per second of 128 tempered or plain chains over models and
// coefficients on the design of the VTI paper, after burn-in. An iteration has six moves.
func BenchmarkChains(b *testing.B) {
	device, err := gpu.Open(gpu.CPU)
	require.NoError(b, err)
	defer device.Close()
	for name, temperatures := range map[string]int{"plain": 1, "tempered": 8} {
		b.Run(name, func(b *testing.B) {
			cfg := rjmcmc.Config{Chains: 128, BurnIn: 400, Iterations: 20 * b.N, Thin: 20, Temperatures: temperatures, Seed: 1}
			cfg.Progress = func(p rjmcmc.Progress) {
				if p.Iteration == cfg.BurnIn {
					b.ResetTimer()
				}
			}
			_, err := rjmcmc.Run(b.Context(), device.Backend(), paperProblem(b, "high").Target, cfg)
			require.NoError(b, err)
			b.ReportMetric(float64(temperatures*cfg.Chains*cfg.Iterations)/b.Elapsed().Seconds(), "iterations/s")
		})
	}
}

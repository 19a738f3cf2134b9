package rjmcmc

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/lab/testkit"
)

// BenchmarkIterations reports the number of iterations of all chains per second, for a conjugate
// linear model of 30 rows and 5 coordinates. Tuning has ended, and the default moves take 6 density
// evaluations per iteration.
func BenchmarkIterations(b *testing.B) {
	l := correlatedLinear(b)
	cfg := Config{Chains: 1024, BurnIn: 40, Iterations: b.N + 1, Thin: b.N + 1,
		Progress: func(p Progress) {
			if p.Iteration == 40 {
				b.ResetTimer()
			}
		}}
	_, err := Run(context.Background(), testkit.Backend(b), l, cfg)
	require.NoError(b, err)
	b.ReportMetric(float64(cfg.Chains)*float64(b.N)/b.Elapsed().Seconds(), "chain-iterations/s")
}

//go:build quality

package mixture

import (
	gocontext "context"
	"math"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/rjmcmc"
)

// Answers are compared with sums over all assignments of rows to up to three components. Tables
// have 20 rows, or 12 rows for Student components, whose means need quadrature.
//
//	go test -tags quality -v -run QualityOfSmallMixtures -timeout 60m ./mixture
func TestQualityOfSmallMixtures(t *testing.T) {
	for family, rows := range map[Family]int{Normal: 20, Student: 12, Poisson: 20} {
		t.Run(family.String(), func(t *testing.T) {
			checkSums(t, family, 10, rows, SampleConfig{Sweeps: 60_000, Error: 0.0015})
		})
	}
}

// cpuSeconds returns the processor time used by this process, in seconds.
func cpuSeconds(t *testing.T) float64 {
	var usage syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return float64(usage.Utime.Sec+usage.Stime.Sec) + float64(usage.Utime.Usec+usage.Stime.Usec)*1e-6
}

// This test compares three methods with the exact sum, in error and time: vti.Solve, chains on the
// same Target, and the samplers of vti mixture. It prints all results, and fails only for errors of
// the samplers of vti mixture.
//
//	go test -tags quality -v -run QualityOfMethods -timeout 60m ./mixture
func TestQualityOfMethods(t *testing.T) {
	device, err := gpu.Open(gpu.Auto)
	require.NoError(t, err)
	ctx := gocontext.Background()
	for seed := range 3 {
		p := problemOf(t, Options{MaxComponents: 3}, small(uint64(seed), 12))
		target, err := p.target()
		require.NoError(t, err)
		want := p.enumerate(betaGrid(), varianceGrid())
		t.Logf("table %d: exactly %.4f", seed, want)
		report := func(name string, started float64, state string, estimateOf func(k int) (probability, se float64)) (off, sigmas float64) {
			largest := 0.0
			for k := range want {
				probability, se := estimateOf(k)
				off, largest = math.Max(off, math.Abs(probability-want[k])), math.Max(largest, se)
				sigmas = math.Max(sigmas, math.Abs(probability-want[k])/(1e-4+se))
			}
			seconds := cpuSeconds(t) - started
			t.Logf("  %s: %s; off by %.4f, %.1f standard errors of at most %.4f; %.1f CPU s, or %.1f to a standard error of 0.005",
				name, state, off, sigmas, largest, seconds, seconds*math.Pow(largest/0.005, 2))
			return off, sigmas
		}
		started := cpuSeconds(t)
		s, err := p.Sample(ctx, SampleConfig{Error: 0.005})
		require.NoError(t, err)
		probability, se := s.combined()
		_, sigmas := report("vti mixture", started, s.certificate().Verdict.String(), func(k int) (float64, float64) { return probability[k], se[k] })
		require.Less(t, sigmas, 4.5)
		started = cpuSeconds(t)
		chains, err := rjmcmc.Run(ctx, device.Backend(), target, rjmcmc.Config{Seed: 1})
		require.NoError(t, err)
		report("rjmcmc.Run", started, "chains", func(k int) (float64, float64) {
			by := chains.Outcome(0, int32(k))
			return by.Mean, by.MCSE
		})
		started = cpuSeconds(t)
		solution, err := vti.Solve(ctx, device, target, vti.SolveConfig{Fit: vti.Config{Seed: 1}})
		require.NoError(t, err)
		report("vti.Solve", started, solution.Certificate.Verdict.String(), func(k int) (float64, float64) {
			return solution.Certificate.Probability(func(code []int32) bool { return code[0] == int32(k) })
		})
	}
}

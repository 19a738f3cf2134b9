package mixture

import (
	gocontext "context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/verdict"
	"github.com/transdim/vti/rjmcmc"
)

// cpu returns the device of the chains.
func cpu(t *testing.T) *gpu.Device {
	device, err := gpu.Open(gpu.CPU)
	require.NoError(t, err)
	t.Cleanup(device.Close)
	return device
}

// Where chains on the Target have mixed, their probabilities equal sums over all assignments to 4.5
// standard errors: one comparison in 10⁵ fails by chance. Elsewhere the verdict gives the reason.
// Either chains have not mixed, or they agree because they hardly change their number of
// components: R-hat does not show it, and they are off by dozens of their standard errors.
func TestChainsAgreeWithSumsOrAreNotTrusted(t *testing.T) {
	for name, test := range map[string]struct {
		options    Options
		seed       uint64
		iterations int
		reason     string // about the chains; empty where they have mixed
	}{
		"mixed": {Options{MaxComponents: 2, ScaleShape: 2, ScaleRate: 20}, 0, 6000, ""},
		"slow":  {Options{MaxComponents: 3}, 1, 2000, "R-hat of the chains is"},
		"stuck": {Options{MaxComponents: 2, Concentration: 3, MeanSD: 0.5, PrecisionShape: 4, ScaleShape: 8, ScaleRate: 80}, 1, 4000, "changed only"},
	} {
		t.Run(name, func(t *testing.T) {
			p := problemOf(t, test.options, small(test.seed, 10))
			r, err := RunChains(gocontext.Background(), cpu(t), p, rjmcmc.Config{Chains: 16, BurnIn: test.iterations / 8, Iterations: test.iterations, Seed: 1}, "")
			require.NoError(t, err)
			sums, total := p.enumerate(betaGrid(), varianceGrid()), 0.0 // for k up to 3
			for k := range r.Counts {
				total += sums[k]
			}
			off, sigmas := 0.0, 0.0
			for k, one := range r.Counts {
				d := math.Abs(float64(one.Probability) - sums[k]/total)
				off, sigmas = math.Max(off, d), math.Max(sigmas, d/(1e-4+float64(one.SE)))
			}
			c := r.Certificate
			t.Logf("off by %.4f, %.1f standard errors; R-hat %.3f, %.0f effective draws; %s %q", off, sigmas, c.Jumps.RHat, c.Jumps.ESS, c.Verdict, c.Reasons)
			if test.reason != "" {
				require.NotEqual(t, vti.Trusted, c.Verdict)
				require.Contains(t, strings.Join(c.Reasons, "\n"), test.reason)
				return
			}
			require.LessOrEqual(t, float64(c.Jumps.RHat), verdict.DoubtfulRHat)
			require.GreaterOrEqual(t, float64(c.Jumps.ESS), float64(verdict.DoubtfulESS))
			require.Less(t, sigmas, 4.5)
			require.Less(t, off, 0.05)
		})
	}
}

// The result states that there is one method, and has the files and the quantities of Run.
func TestRunChainsIsComplete(t *testing.T) {
	device := cpu(t)
	y := small(2, 12)
	p := problemOf(t, Options{MaxComponents: 3}, y)
	dir := t.TempDir()
	r, err := RunChains(gocontext.Background(), device, p, rjmcmc.Config{Chains: 16, BurnIn: 200, Iterations: 400, Seed: 1}, dir)
	require.NoError(t, err)
	require.False(t, r.Certificate.TwoMethods())
	require.Equal(t, "rjmcmc mixture", r.Command)
	require.Equal(t, MethodReport{Samplers: 16, Sweeps: 400, RHat: r.Certificate.Jumps.RHat, ESS: r.Certificate.Jumps.ESS, SE: r.Certificate.LargestSE}, r.Certificate.Jumps)
	total, occupied := 0.0, 0.0
	for _, k := range r.Counts {
		total += float64(k.Probability)
		occupied += float64(k.Occupied)
		require.True(t, math.IsNaN(float64(k.Partitions)))
	}
	require.InDelta(t, 1, total, 1e-9)
	require.InDelta(t, 1, occupied, 1e-9)
	require.Len(t, r.Rows, len(y))
	for _, name := range Files() {
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Positive(t, info.Size())
	}
	_, err = RunChains(gocontext.Background(), device, problemOf(t, Options{MaxComponents: 3, Family: Student}, y), rjmcmc.Config{}, "")
	require.ErrorContains(t, err, "not of the family student")
}

// Draws of chains have the density of draws of the samplers: the density of weights, means,
// variances and β, without the Jacobian of the coordinates.
func TestDrawsOfChainsHaveTheDensityOfMixtures(t *testing.T) {
	device := cpu(t)
	p := problemOf(t, Options{MaxComponents: 3}, small(2, 12))
	target, err := p.Target()
	require.NoError(t, err)
	chains, err := rjmcmc.Run(gocontext.Background(), device.Backend(), target, rjmcmc.Config{Chains: 4, BurnIn: 20, Iterations: 40})
	require.NoError(t, err)
	for _, d := range p.sampleOf(chains).draws {
		require.InDelta(t, p.logPrior(&d.state)+p.logLikelihood(&d.state), d.logP, 1e-6)
	}
}

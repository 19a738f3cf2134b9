//go:build quality

package varsel

import (
	"flag"
	"math"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/likelihood"
)

var (
	networkFile   = flag.String("quality.network", "", "file of a network of vti amortize varsel")
	networkTables = flag.Int("quality.tables", 200, "fresh tables of each part")
	networkSeed   = flag.Uint64("quality.seed", 0, "of the tables")
	networkTruth  = flag.Int("quality.reference", 0, "tables that are run without a network too, to compare with")
	networkOnly   = flag.Bool("quality.from-only", false, "no training beside the network")
)

// TestQualityOfNetwork measures a network on fresh tables. First it compares the network's q(m |
// D), and the normal approximations (the sketch) that it starts from, with the exact posterior over
// models, which is known for Gaussian tables and for robust tables of 10 rows. Then it measures
// verdicts and CPU seconds of runs that start from the network (`vti varsel --from`) on tables of
// all sizes, and compares the network's answer with the certified one.
//
//	go test -tags quality -v -run QualityOfNetwork ./varsel -args -quality.network robust.vti
func TestQualityOfNetwork(t *testing.T) {
	if *networkFile == "" {
		t.Skip("needs -args -quality.network FILE")
	}
	device, err := gpu.Open(gpu.CPU)
	require.NoError(t, err)
	defer device.Close()
	f, _, err := ReadFamily(*networkFile)
	require.NoError(t, err)
	t.Run("raw", func(t *testing.T) { rawQuality(t, device, f) })
	t.Run("certified", func(t *testing.T) { certifiedQuality(t, device, f) })
}

// rawQuality compares q(m | D) with exact answers.
func rawQuality(t *testing.T, device *gpu.Device, f *Family) {
	small := *f
	exact := exactProbabilities
	switch f.cfg.Model.Likelihood {
	case likelihood.RobustKind:
		small.cfg.Rows.High = 10
		exact = func(_ testing.TB, p *Problem) []float64 { return exactRobust(p) }
	case likelihood.GaussianKind:
	default:
		t.Skip("no exact answer")
	}
	var kl, sketchKL, inclusionError []float64
	for i := range *networkTables {
		p := drawnTable(t, &small, *networkSeed+uint64(10_000+i))
		groups := len(p.Design.Predictors)
		beginning, err := p.BeginFrom(device, *networkFile)
		require.NoError(t, err)
		want, q := exact(t, p), byPredictors(beginning.LogModels)
		masses := newSketch(p, f.each).masses(p.Model.Prior.LogProbs(groups))
		for m := range masses {
			masses[m] = math.Exp(masses[m])
		}
		kl, sketchKL = append(kl, divergence(want, q)), append(sketchKL, divergence(want, masses))
		a, b := memberships(want), memberships(q)
		for j := range a {
			inclusionError = append(inclusionError, math.Abs(a[j]-b[j]))
		}
	}
	t.Logf("%d tables: KL(exact || q(m | D)) mean %.4f, median %.4f, worst %.3f; of the sketch mean %.4f; inclusion: mean absolute error %.4f, worst %.3f",
		len(kl), mean(kl), median(kl), slices.Max(kl), mean(sketchKL), mean(inclusionError), slices.Max(inclusionError))
}

func certifiedQuality(t *testing.T, device *gpu.Device, f *Family) {
	verdicts := map[vti.Verdict]int{}
	quick, prompt, trained := 0, 0, 0
	var seconds, clock, inclusionError []float64
	for i := range *networkTables {
		p := drawnTable(t, f, *networkSeed+uint64(20_000+i))
		started, now := cpuSeconds(t), time.Now()
		result, err := Run(t.Context(), device, p, RunConfig{From: *networkFile, FromOnly: *networkOnly, Precision: 0.005, Fit: vti.Config{Seed: uint64(i)}})
		require.NoError(t, err)
		seconds, clock = append(seconds, cpuSeconds(t)-started), append(clock, time.Since(now).Seconds())
		verdict := result.Certificate.Verdict
		verdicts[verdict]++
		if result.Steps > 0 {
			trained++
		}
		t.Logf("table %d: %d rows, %d predictors, %.2f CPU seconds, %.2f of the clock, %v %v", i, p.Design.Rows(), len(p.Design.Predictors), seconds[i], clock[i], verdict, result.Certificate.Reasons)
		if verdict != vti.Trusted {
			continue
		}
		if seconds[i] <= 1 {
			quick++
		}
		if clock[i] <= 1 {
			prompt++
		}
		if i < *networkTruth {
			compareWithout(t, device, p, result, uint64(i))
		}
		raw, err := p.BeginFrom(device, *networkFile)
		require.NoError(t, err)
		for j, q := range memberships(byPredictors(raw.LogModels)) {
			inclusionError = append(inclusionError, math.Abs(float64(result.Inclusion[j].Certified)-q))
		}
	}
	t.Logf("%d tables: %v, %d of them after training; trusted within 1 CPU second %d, and %d within 1 of the clock; CPU seconds median %.2f, 90%% %.2f, worst %.2f; of the clock median %.2f, 90%% %.2f; raw inclusion against certified, where trusted: mean absolute error %.4f, worst %.3f",
		len(seconds), verdicts, trained, quick, prompt, median(seconds), quantile(seconds, 0.9), slices.Max(seconds), median(clock), quantile(clock, 0.9), mean(inclusionError), slices.Max(inclusionError))
}

// compareWithout runs the table again without the network. If this run is trusted, its inclusion
// probabilities may differ from result by at most five standard errors plus 0.002.
func compareWithout(t *testing.T, device *gpu.Device, p *Problem, result *Result, seed uint64) {
	t.Helper()
	other, err := Run(t.Context(), device, p, RunConfig{Precision: 0.005, Fit: vti.Config{Seed: 1_000_000 + seed}})
	require.NoError(t, err)
	worst := 0.0
	for j, one := range result.Inclusion {
		off := math.Abs(float64(one.Certified - other.Inclusion[j].Certified))
		worst = math.Max(worst, off)
		if limit := 5*math.Hypot(float64(one.SE), float64(other.Inclusion[j].SE)) + 0.002; off > limit && other.Certificate.Verdict == vti.Trusted {
			t.Errorf("%s: trusted at %.4f ± %.4f, and %.4f ± %.4f without a network", one.Name, one.Certified, one.SE, other.Inclusion[j].Certified, other.Inclusion[j].SE)
		}
	}
	evidence := float64(*result.LogEvidence - *other.LogEvidence)
	t.Logf("without a network: %v, inclusion off by at most %.4f, log evidence by %.3f (errors %.3f, %.3f)", other.Certificate.Verdict, worst, evidence, *result.LogEvidSE, *other.LogEvidSE)
}

// cpuSeconds returns the CPU seconds that the process has used.
func cpuSeconds(t *testing.T) float64 {
	t.Helper()
	var usage syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}

func mean(x []float64) (sum float64) {
	for _, v := range x {
		sum += v / float64(len(x))
	}
	return sum
}

func median(x []float64) float64 { return quantile(x, 0.5) }

func quantile(x []float64, level float64) float64 {
	sorted := slices.Clone(x)
	slices.Sort(sorted)
	return sorted[int(level*float64(len(sorted)-1))]
}

// divergence returns the Kullback-Leibler divergence KL(p ‖ q), with p and q normalised.
func divergence(p, q []float64) (sum float64) {
	var total float64
	for _, v := range q {
		total += v
	}
	for m, v := range p {
		if v > 0 {
			sum += v * math.Log(v*total/q[m])
		}
	}
	return sum
}

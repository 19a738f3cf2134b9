//go:build quality

package varsel

import (
	"flag"
	"math"
	"math/bits"
	"slices"
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
)

// TestQualityOfNetwork measures a network on fresh tables. Raw: q(m | D) against the exact
// posterior over models where that is known (Gaussian, or robust of 10 rows), beside the
// sketch that it starts from. Certified: verdicts and times of what --from-only does, on tables of
// all sizes.
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

// rawQuality compares with exact answers.
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
		p := drawnTable(t, &small, uint64(10_000+i))
		groups := len(p.Design.Predictors)
		begin, err := p.BeginFrom(device, *networkFile)
		require.NoError(t, err)
		want, q := exact(t, p), make([]float64, 1<<groups)
		for index, logQ := range begin.LogModels() { // the first site is highest
			q[bits.Reverse32(uint32(index))>>(32-groups)] = math.Exp(logQ)
		}
		masses := newSketch(p).masses(p.Model.Prior.LogProbs(groups))
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

// certifiedQuality opens and certifies tables of all sizes.
func certifiedQuality(t *testing.T, device *gpu.Device, f *Family) {
	verdicts := map[vti.Verdict]int{}
	var seconds, inclusionError []float64
	for i := range *networkTables {
		p := drawnTable(t, f, uint64(20_000+i))
		started := time.Now()
		begin, err := p.BeginFrom(device, *networkFile)
		require.NoError(t, err)
		posterior, err := vti.Open(t.Context(), device, p.Posterior(), vti.Config{Begin: begin, Seed: uint64(i)})
		require.NoError(t, err)
		c, err := posterior.Certify(t.Context(), vti.CertifyConfig{Draws: 1 << 15})
		require.NoError(t, err)
		seconds = append(seconds, time.Since(started).Seconds())
		verdicts[c.Verdict]++
		certified, q := make([]float64, len(p.Design.Predictors)), make([]float64, len(p.Design.Predictors))
		for _, model := range c.Models {
			for _, j := range p.members(model.Code) {
				certified[j] += model.Certified
				q[j] += model.Q
			}
		}
		if c.Verdict == vti.Trusted {
			for j := range q {
				inclusionError = append(inclusionError, math.Abs(certified[j]-q[j]))
			}
		}
	}
	t.Logf("%d tables, by weights alone: %v; seconds median %.2f, worst %.2f; raw inclusion against certified: mean absolute error %.4f, worst %.3f",
		len(seconds), verdicts, median(seconds), slices.Max(seconds), mean(inclusionError), slices.Max(inclusionError))
}

// memberships are the probabilities of predictors, the first lowest in the index.
func memberships(p []float64) []float64 {
	logs := make([]float64, len(p))
	for m, v := range p {
		logs[m] = math.Log(v)
	}
	return inclusionOf(logs)
}

func mean(x []float64) (sum float64) {
	for _, v := range x {
		sum += v / float64(len(x))
	}
	return sum
}

func median(x []float64) float64 {
	sorted := slices.Clone(x)
	slices.Sort(sorted)
	return sorted[len(sorted)/2]
}

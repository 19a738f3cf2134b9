//go:build quality

package hbm

import (
	"flag"
	"fmt"
	"math"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"
)

// effectsConfig returns the configuration of the training that is measured.
func effectsConfig(e *effects, family Family) Config {
	cfg := Config{Family: family}
	if family != Joint {
		cfg.Batch = map[*Plate]int{e.model.plates[0]: *qualityBatch}
	}
	return cfg
}

// TestQualityOfEffects compares families with the closed form on Gaussian random effects (ADAVI eq.
// 6), one data set for each number of groups:
//
//	GOMAXPROCS=1 go test -tags quality -run TestQualityOfEffects$ -v ./hbm
func TestQualityOfEffects(t *testing.T) {
	t.Log("| groups | family | weights | steps | CPU seconds | gap per group | largest error of a mean, sd | largest error of an sd |")
	for _, groups := range []int{3, 30, 300} {
		if !chosen(*qualityGroups, fmt.Sprint(groups)) {
			continue
		}
		e := newEffects(groups, 50, 2)
		data := e.draw(t, 1)
		exact := e.exact(data)
		for _, family := range []Family{PAVIF, PAVIE, Branch, AmortizedBranch, MeanField, Joint} {
			if !chosen(*qualityFamily, family.String()) {
				continue
			}
			p := measure(t, e.model, data, 500, effectsConfig(e, family))
			mean, sd := e.errors(t, p.Posterior, exact)
			t.Logf("| %d | %v | %d | %d | %.0f | %.4f ± %.4f | %.3f | %.3f |", groups, family, p.Weights(), p.Steps(), p.cpu,
				(exact.logEvidence-p.elbo)/float64(groups), p.se/float64(groups), mean, sd)
		}
	}
}

// TestQualityOfEffectsSteps finds the smallest number of training steps (50, 100, 200, …) after
// which the evidence lower bound is less than 0.1 nats per group below the log evidence. Each step
// uses a minibatch of 30 groups:
//
//	GOMAXPROCS=1 go test -tags quality -run TestQualityOfEffectsSteps -v ./hbm -quality.batch 30
func TestQualityOfEffectsSteps(t *testing.T) {
	t.Log("| groups | family | steps | CPU seconds, compilation included | gap per group |")
	for _, groups := range []int{3, 30, 300} {
		e := newEffects(groups, 50, 2)
		data := e.draw(t, 1)
		exact := e.exact(data)
		for _, family := range []Family{PAVIF, PAVIE, Branch, MeanField} {
			if !chosen(*qualityFamily, family.String()) {
				continue
			}
			for steps := 50; steps <= 6400; steps *= 2 {
				cfg := effectsConfig(e, family)
				cfg.Steps = steps
				p := measure(t, e.model, data, 50, cfg)
				if gap := (exact.logEvidence - p.elbo) / float64(groups); gap < 0.1 {
					t.Logf("| %d | %v | %d | %.1f | %.3f |", groups, family, steps, p.cpu, gap)
					break
				}
			}
		}
	}
}

// errors returns the largest errors of a mean and of a standard deviation over all latent numbers,
// in exact posterior standard deviations.
func (e *effects) errors(t testing.TB, p *Posterior, exact exactEffects) (mean, sd float64) {
	// the draws leave errors of 0.01 standard deviations of a mean, and 0.007 of a standard
	// deviation
	draws, err := p.Sample(t.Context(), 10000, "errors")
	require.NoError(t, err)
	addErrors := func(v *Variable, i int, wantMean, wantSD float64) {
		column := make([]float64, draws.N)
		for n := range column {
			column[n] = draws.Of(v, n)[i]
		}
		m, s := stat.MeanStdDev(column, nil)
		mean, sd = math.Max(mean, math.Abs(m-wantMean)/wantSD), math.Max(sd, math.Abs(s-wantSD)/wantSD)
	}
	for i := range exact.mean {
		addErrors(e.mean, i, exact.mean[i], exact.meanSD[i])
	}
	for i := range exact.group {
		addErrors(e.groupMean, i, exact.group[i], exact.groupSD[i%e.dim])
	}
	return mean, sd
}

// TestQualityOfAmortization trains on data sets simulated from Gaussian random effects, and infers
// from new data sets: 1,000 of 3 groups, 100 of 30 groups and 10 of 300 groups:
//
//	GOMAXPROCS=1 go test -tags quality -run TestQualityOfAmortization -v ./hbm
func TestQualityOfAmortization(t *testing.T) {
	t.Log("| groups in training | groups | family | weights | steps | CPU seconds to train | data sets | gap per group | CPU seconds to infer, 100 draws each | wall |")
	for _, groups := range []int{3, 30} {
		if !chosen(*qualityGroups, fmt.Sprint(groups)) {
			continue
		}
		e := newEffects(groups, 50, 2)
		for _, family := range []Family{ADAVI, PAVIE} {
			if !chosen(*qualityFamily, family.String()) {
				continue
			}
			cfg := Config{Family: family, Amortize: 16, Steps: 2000}
			if *qualitySteps > 0 {
				cfg.Steps = *qualitySteps
			}
			if *qualityRate > 0 {
				cfg.LearningRate = *qualityRate
			}
			start := cpuSeconds(t)
			p := fit(t, e.model, nil, cfg)
			trained := cpuSeconds(t) - start
			sizes := []int{groups}
			if groups == 30 {
				sizes = append(sizes, 300)
			}
			for _, size := range sizes {
				simulated := newEffects(size, 50, 2)
				if size == groups {
					simulated = e
				}
				simulator, err := NewSimulator(open(t), simulated.model)
				require.NoError(t, err)
				sets := 3000 / size
				var gap, cpu float64
				var wall time.Duration
				for set := range sets {
					drawn, err := simulator.Draw(t.Context(), nil, uint64(set), "new effects")
					require.NoError(t, err)
					data := Values{simulated.x: drawn[simulated.x]}
					clock, start := time.Now(), cpuSeconds(t)
					on, err := p.On(simulated.model, data)
					require.NoError(t, err)
					draws, err := on.Sample(t.Context(), 100, "new")
					require.NoError(t, err)
					cpu += cpuSeconds(t) - start
					wall += time.Since(clock)
					gap += simulated.exact(data).logEvidence
					for i := range draws.LogQ {
						gap -= (draws.LogJoint[i] - draws.LogQ[i]) / float64(draws.N)
					}
				}
				t.Logf("| %d | %d | %v | %d | %d | %.0f | %d | %.3f | %.1f | %.1f |", groups, size, family, p.Weights(), p.Steps(), trained, sets, gap/float64(sets*size), cpu, wall.Seconds())
			}
		}
	}
}

// Flags of the tests with the build tag quality, which measure, and log rows of Markdown for
// docs/benchmarks.md.
var (
	qualitySteps  = flag.Int("quality.steps", 0, "training steps; 0: what the test says")
	qualityGroups = flag.String("quality.sizes", "", "only these sizes of the plate that grows, with commas between")
	qualityBatch  = flag.Int("quality.batch", 0, "how many members of the plate that grows a step takes part in; 0: all")
	qualityFamily = flag.String("quality.families", "", "only these families, with commas between")
	qualityRate   = flag.Float64("quality.rate", 0, "learning rate; 0: that of the family")
)

// chosen reports whether a comma-separated list is empty or holds name.
func chosen(list, name string) bool {
	return list == "" || slices.Contains(strings.Split(list, ","), name)
}

// cpuSeconds returns the processor time that the process has used, over all cores.
func cpuSeconds(t testing.TB) float64 {
	var usage syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}

// measured is a fit with the processor time of its training.
type measured struct {
	*Posterior
	cpu      float64
	elbo, se float64
}

// measure trains a family and estimates its ELBO.
func measure(t testing.TB, m *Model, data Values, draws int, cfg Config) measured {
	t.Helper()
	if *qualitySteps > 0 {
		cfg.Steps = *qualitySteps
	}
	if *qualityRate > 0 {
		cfg.LearningRate = *qualityRate
	}
	start := cpuSeconds(t)
	p := fit(t, m, data, cfg)
	out := measured{Posterior: p, cpu: cpuSeconds(t) - start}
	var err error
	out.elbo, out.se, err = p.ELBO(t.Context(), draws, "elbo")
	require.NoError(t, err)
	return out
}

//go:build quality

package hbm

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"
)

// effectsConfig is the training that is measured.
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

// TestQualityOfEffectsSteps finds the shortest training, doubling the steps from 50, that ends
// within 0.1 nats per group of the evidence, with parts of 30 groups in each step:
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

// errors are the largest errors of a mean and of a standard deviation over all latent numbers, in
// exact posterior standard deviations.
func (e *effects) errors(t testing.TB, p *Posterior, exact exactEffects) (mean, sd float64) {
	// 0.01 standard deviations of a mean, 0.007 of a standard deviation
	draws, err := p.Sample(t.Context(), 10000, "errors")
	require.NoError(t, err)
	at := func(v *Variable, i int, wantMean, wantSD float64) {
		column := make([]float64, draws.N)
		for n := range column {
			column[n] = draws.Of(v, n)[i]
		}
		m, s := stat.MeanStdDev(column, nil)
		mean, sd = math.Max(mean, math.Abs(m-wantMean)/wantSD), math.Max(sd, math.Abs(s-wantSD)/wantSD)
	}
	for i := range exact.mean {
		at(e.mean, i, exact.mean[i], exact.meanSD[i])
	}
	for i := range exact.group {
		at(e.groupMean, i, exact.group[i], exact.groupSD[i%e.dim])
	}
	return mean, sd
}

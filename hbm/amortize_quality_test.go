//go:build quality

package hbm

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestQualityOfAmortization trains on data sets that are simulated from Gaussian random effects,
// and infers from new ones: 1,000 of 3 groups, 100 of 30 and 10 of 300:
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
				of := newEffects(size, 50, 2)
				if size == groups {
					of = e
				}
				simulator, err := NewSimulator(open(t), of.model)
				require.NoError(t, err)
				sets := 3000 / size
				var gap, cpu float64
				var wall time.Duration
				for set := range sets {
					drawn, err := simulator.Draw(t.Context(), nil, uint64(set), "new effects")
					require.NoError(t, err)
					data := Values{of.x: drawn[of.x]}
					clock, start := time.Now(), cpuSeconds(t)
					on, err := p.On(of.model, data)
					require.NoError(t, err)
					draws, err := on.Sample(t.Context(), 100, "new")
					require.NoError(t, err)
					cpu += cpuSeconds(t) - start
					wall += time.Since(clock)
					gap += of.exact(data).logEvidence
					for i := range draws.LogQ {
						gap -= (draws.LogJoint[i] - draws.LogQ[i]) / float64(draws.N)
					}
				}
				t.Logf("| %d | %d | %v | %d | %d | %.0f | %d | %.3f | %.1f | %.1f |", groups, size, family, p.Weights(), p.Steps(), trained, sets, gap/float64(sets*size), cpu, wall.Seconds())
			}
		}
	}
}

//go:build quality

package hbm

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestQualityOfAmortization trains on data sets that are simulated from Gaussian random effects, and infers from 1,000 new ones:
//
//	GOMAXPROCS=1 go test -tags quality -run TestQualityOfAmortization -v ./hbm -quality.sizes 3,30
func TestQualityOfAmortization(t *testing.T) {
	t.Log("| groups | family | weights | steps | CPU seconds to train | data sets | gap per group | CPU seconds to infer, 100 draws each | wall |")
	for _, groups := range []int{3, 30, 300} {
		if !chosen(*qualityGroups, fmt.Sprint(groups)) {
			continue
		}
		e := newEffects(groups, 50, 2)
		simulator, err := NewSimulator(open(t), e.model)
		require.NoError(t, err)
		for _, family := range []Family{ADAVI, PAVIE} {
			if !chosen(*qualityFamily, family.String()) {
				continue
			}
			cfg := Config{Family: family, Amortize: 16, Steps: 4000}
			if *qualitySteps > 0 {
				cfg.Steps = *qualitySteps
			}
			if *qualityRate > 0 {
				cfg.LearningRate = *qualityRate
			}
			start := cpuSeconds(t)
			p := fit(t, e.model, nil, cfg)
			trained := cpuSeconds(t) - start
			sets := 3000 / groups
			var gap, cpu float64
			var wall time.Duration
			for set := range sets {
				drawn, err := simulator.Draw(nil, uint64(set), "new effects")
				require.NoError(t, err)
				data := Values{e.x: drawn[e.x]}
				clock, start := time.Now(), cpuSeconds(t)
				on, err := p.On(e.model, data)
				require.NoError(t, err)
				draws, err := on.Sample(100, "new")
				require.NoError(t, err)
				cpu += cpuSeconds(t) - start
				wall += time.Since(clock)
				gap += e.exact(data).logEvidence
				for i := range draws.LogQ {
					gap -= (draws.LogJoint[i] - draws.LogQ[i]) / float64(draws.N)
				}
			}
			t.Logf("| %d | %v | %d | %d | %.0f | %d | %.3f | %.1f | %.1f |", groups, family, p.Weights(), p.Steps(), trained, sets, gap/float64(sets*groups), cpu, wall.Seconds())
		}
	}
}

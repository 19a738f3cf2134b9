package vti

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/internal/stream"
)

// TestStandardErrorsByTheDeltaMethod compares standard errors by the delta method with the spread
// of estimates over many independent sets of draws.
func TestStandardErrorsByTheDeltaMethod(t *testing.T) {
	const repeats, draws = 2000, 100
	logPrior := []float64{math.Log(0.2), math.Log(0.5), math.Log(0.3), math.Inf(-1)}
	random := stream.Rand(5, "delta")
	event := func(code []int32) bool { return code[0] != 1 }
	type moments struct{ sum, squares, variance float64 }
	add := func(m *moments, value, se float64) {
		m.sum += value
		m.squares += value * value
		m.variance += se * se
	}
	var logEvidence, inEvent moments
	single := make([]moments, 3)
	for range repeats {
		c := &weighing{Certificate: &Certificate{Complete: true, Models: make([]ModelEstimate, 4)}}
		tallies := make([]tally, 4)
		for m := range tallies {
			c.Models[m].Code = []int32{int32(m)}
			for range draws {
				if m < 3 { // weights uniform on (1 − s, 1 + s) times a constant: no tail
					spread := []float64{0.9, 0.5, 0.2}[m]
					tallies[m].add(storedDraw{theta: []float64{0}, logWeight: math.Log(1+spread*(2*random.Float64()-1)) + float64(m)/2}, random.Float64(), false)
				}
			}
		}
		c.update(tallies, logPrior)
		add(&logEvidence, c.LogEvidence, c.LogEvidenceSE)
		probability, se := c.Probability(event)
		add(&inEvent, probability, se)
		for m := range single {
			add(&single[m], c.Models[m].Certified, c.Models[m].SE)
			probability, se = c.Probability(func(code []int32) bool { return code[0] == int32(m) })
			require.InDelta(t, c.Models[m].Certified, probability, 1e-12)
			require.InDelta(t, c.Models[m].SE, se, 1e-12)
		}
		require.Zero(t, c.Models[3].Certified)
		require.Zero(t, c.Models[3].SE)
		require.True(t, math.IsNaN(c.Models[3].LogEvidence))
	}
	for name, m := range map[string]moments{"log evidence": logEvidence, "event": inEvent, "model 0": single[0], "model 1": single[1], "model 2": single[2]} {
		variance := m.squares/repeats - m.sum*m.sum/(repeats*repeats)
		// The relative standard error of a variance of 2000 values is √(2/2000) = 0.03. The limit
		// is 4 standard errors: one false alarm in 3,000 runs of 5 checks.
		require.InDelta(t, 1, m.variance/repeats/variance, 0.13, name)
	}
}

package vti

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/internal/stream"
)

// A certificate is judged by its weights or by its chains, by its draws, and by the worst error of
// a model; package verdict has the limits.
func TestJudge(t *testing.T) {
	nan := math.NaN()
	for name, test := range map[string]struct {
		change  func(c *Certificate)
		verdict Verdict
		reason  string
	}{
		"good":              {func(*Certificate) {}, Trusted, ""},
		"k̂":                {func(c *Certificate) { c.KHat = 0.71 }, Doubtful, "k̂ is 0.71, above 0.7"},
		"chains":            {func(c *Certificate) { c.KHat, c.RHat = nan, 1.2 }, Failed, "R-hat of the chains is 1.20"},
		"chains that agree": {func(c *Certificate) { c.KHat, c.RHat = nan, 1.001 }, Trusted, ""},
		"few draws":         {func(c *Certificate) { c.ESS = 399 }, Doubtful, "only 399 effective draws of 10000"},
		"worst model":       {func(c *Certificate) { c.Models[1].SE = 0.021 }, Doubtful, "standard error of a model probability is 0.021"},
		"evidence":          {func(c *Certificate) { c.LogEvidenceSE = 0.6 }, Failed, "log evidence is 0.6"},
		"many non-finite":   {func(c *Certificate) { c.NonFinite = 101 }, Failed, "1.0% of the draws"},
	} {
		t.Run(name, func(t *testing.T) {
			c := Certificate{KHat: 0.3, ESS: 5000, Draws: 10_000, Models: []ModelEstimate{{SE: 0.01}, {SE: 0.001}}}
			test.change(&c)
			c.judge()
			require.Equal(t, test.verdict, c.Verdict, c.Reasons)
			if test.reason == "" {
				require.Empty(t, c.Reasons)
				return
			}
			require.Len(t, c.Reasons, 1)
			require.Contains(t, c.Reasons[0], test.reason)
		})
	}
	both := Certificate{KHat: 0.8, ESS: 10, Draws: 100}
	both.judge()
	require.Equal(t, Failed, both.Verdict)
	require.Len(t, both.Reasons, 2)
}

// The standard errors by the delta method against the spread of what they belong to, over many
// independent sets of draws.
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
		c := &Certificate{Complete: true, Models: make([]ModelEstimate, 4)}
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
		// The relative standard error of a variance of 2000 values is √(2/2000) = 0.03; 4 of them:
		// a false alarm in 3,000 runs of 5 checks.
		require.InDelta(t, 1, m.variance/repeats/variance, 0.13, name)
	}
}

// Frequencies must say what Probability says event by event, for both kinds of certificate.
func TestFrequencies(t *testing.T) {
	complete := &Certificate{Complete: true, Models: []ModelEstimate{
		{Code: []int32{0, 1}, Certified: 0.5, LogEvidenceSE: 0.1}, {Code: []int32{1, 1}, Certified: 0.3, LogEvidenceSE: 0.2}, {Code: []int32{1, 0}, Certified: 0.2, LogEvidenceSE: math.NaN()},
	}}
	joint := &Certificate{Sample: WeightedSample{Codes: [][]int32{{0, 1}, {1, 1}, {1, 0}, {1, 1}}, Weight: []float64{0.4, 0.3, 0.2, 0.1}}}
	for _, c := range []*Certificate{complete, joint} {
		probability, se := c.Frequencies(2, func(code []int32) (on []int) {
			for site, outcome := range code {
				if outcome == 1 {
					on = append(on, site)
				}
			}
			return on
		})
		for site := range probability {
			want, wantSE := c.Probability(func(code []int32) bool { return code[site] == 1 })
			require.InDelta(t, want, probability[site], 1e-14)
			require.InDelta(t, wantSE, se[site], 1e-14)
		}
	}
}

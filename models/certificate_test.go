package models

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/internal/stream"
)

// Each case takes one diagnostic of a trusted certificate, such as an R-hat or a standard error,
// beyond its limit in package verdict, which must be the only reason for the listed verdict.
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
			c := Certificate{KHat: 0.3, ESS: 5000, Draws: 10_000, Models: []Estimate{{SE: 0.01}, {SE: 0.001}}}
			test.change(&c)
			c.Judge()
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
	both.Judge()
	require.Equal(t, Failed, both.Verdict)
	require.Len(t, both.Reasons, 2)
}

// The probabilities of outcome 1 at two sites by Frequencies, which takes many events at once, must
// equal Probability, site by site, for a complete and an incomplete certificate.
func TestFrequencies(t *testing.T) {
	complete := &Certificate{Complete: true, Models: []Estimate{
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

// Three hundred rare events have about six draws each, with uneven weights. The z-scores of their
// probabilities must have a root mean square below 1.2 (they have .92), and all must be below 4.5
// (2.2). If standard errors came from the draws of each event alone, the two numbers would be 3.2
// and 11.9. The standard error of a single event without a draw must be leastSE.
func TestErrorsOfRareEvents(t *testing.T) {
	const draws, events, share, heavy = 20_000, 300, 0.0003, 8.0
	random := stream.Rand(1, "rare")
	c := &Certificate{ESS: draws}
	var total float64
	for range draws {
		event, weight := int(random.Float64()/share), 1.0
		if event < events && random.Float64() < 0.2 {
			weight = heavy
		}
		c.Sample.Codes, c.Sample.Weight = append(c.Sample.Codes, []int32{int32(event)}), append(c.Sample.Weight, weight)
		total += weight
	}
	floats.Scale(1/total, c.Sample.Weight)
	in := func(code []int32) []int {
		if code[0] < events {
			return []int{int(code[0])}
		}
		return nil
	}
	const mean = 0.8 + 0.2*heavy // of the weights of an event
	exact := share * mean / (1 + events*share*(mean-1))
	for _, pooled := range []bool{true, false} {
		probability, se := c.frequencies(events, in, pooled)
		var squares, worst float64
		for event, p := range probability {
			z := (p - exact) / se[event]
			squares, worst = squares+z*z, math.Max(worst, math.Abs(z))
		}
		require.Equal(t, pooled, math.Sqrt(squares/events) < 1.2)
		require.Equal(t, pooled, worst < 4.5)
	}
	none := func([]int32) []int { return nil }
	_, se := c.Frequencies(1, none)
	require.InDelta(t, leastSE(draws), se[0], 1e-12)
}

// Weights that sum to more than 1 by rounding give no probability above 1.
func TestFrequenciesAreAtMostOne(t *testing.T) {
	above := math.Nextafter(0.5, 1)
	everywhere := func([]int32) []int { return []int{0} }
	codes := [][]int32{{1}, {1}}
	for _, c := range []*Certificate{
		{Complete: true, Models: []Estimate{{Code: codes[0], Certified: above}, {Code: codes[1], Certified: above}}},
		{Sample: WeightedSample{Codes: codes, Weight: []float64{above, above}}},
		{Sample: WeightedSample{Codes: codes, Weight: []float64{above, above}, Group: []int{0, 1}}},
	} {
		probability, se := c.Frequencies(1, everywhere)
		require.Equal(t, 1.0, probability[0])
		require.False(t, math.IsNaN(se[0]))
	}
}

// An evidence is resolved if its k̂ is absent or small enough for its number of draws, and its
// standard error is at most a nat.
func TestResolved(t *testing.T) {
	for _, test := range []struct {
		model Estimate
		want  bool
	}{
		{Estimate{KHat: 0.6, Draws: 10_000, LogEvidenceSE: 0.1}, true},
		{Estimate{KHat: 0.6, Draws: 32, LogEvidenceSE: 0.1}, false},
		{Estimate{KHat: 0.1, Draws: 32, LogEvidenceSE: 0.1}, true},
		{Estimate{KHat: 0.1, Draws: 32, LogEvidenceSE: 1.1}, false},
		{Estimate{KHat: math.Inf(1), Draws: 3, LogEvidenceSE: 0.1}, false},
		{Estimate{KHat: math.NaN()}, true}, // closed form
		{Estimate{KHat: math.NaN(), LogEvidence: math.NaN()}, false},
	} {
		require.Equal(t, test.want, test.model.Resolved(), "%+v", test.model)
	}
}

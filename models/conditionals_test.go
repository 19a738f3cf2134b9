package models

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// The second of two sites has outcome 1 with probability 0.2 if the first site has outcome 0, and
// with probability 0.6 if it has outcome 1. Averages of conditionals give the probabilities of
// outcome 1 of each site. For an event that needs the outcomes of both sites, and for an event
// whose count is already precise, the count remains.
func TestConditionalsSharpenCounts(t *testing.T) {
	// The first site has outcome 1 with probability 0.5. The ten codes hold each of the four models
	// in proportion to its probability.
	c := &conditionals{}
	for code, times := range map[[2]int32]int{{0, 0}: 4, {0, 1}: 1, {1, 0}: 2, {1, 1}: 3} {
		first := map[int32]float64{0: 2. / 6, 1: 3. / 4}[code[1]] // P(first | second)
		second := map[int32]float64{0: 0.2, 1: 0.6}[code[0]]
		for range times {
			c.codes = append(c.codes, []int32{code[0], code[1]})
			c.probability = append(c.probability, []float64{first, second})
		}
	}
	events := func(code []int32) (list []int) {
		for site, outcome := range code {
			if outcome == 1 {
				list = append(list, site)
			}
		}
		if code[0] == 1 && code[1] == 1 {
			list = append(list, 2)
		}
		return list
	}
	probability, se := []float64{0.7, 0.1, 0.25}, []float64{0.2, 0.2, 0.2}
	c.sharpen(90, 0.001, events, probability, se)
	require.InDelta(t, 0.5, probability[0], 1e-12)
	require.InDelta(t, 0.4, probability[1], 1e-12)
	require.Equal(t, 0.25, probability[2])
	require.InDelta(t, 1./12, se[1], 1e-12, "ten codes do not show rarer ones")
	require.Equal(t, 0.2, se[2])

	probability, se = []float64{0.7, 0.1, 0.25}, []float64{0.01, 0.01, 0.01}
	c.sharpen(90, 0.001, events, probability, se)
	require.Equal(t, []float64{0.7, 0.1, 0.25}, probability)
	c.codes, c.probability = slices.Repeat(c.codes, 100), slices.Repeat(c.probability, 100)
	probability, se = []float64{0.7, 0.1, 0.25}, []float64{0.2, 0.2, 0.2}
	c.sharpen(90, 0.001, events, probability, se)
	require.InDelta(t, math.Sqrt(0.04*(1./1000+1./90)), se[1], 1e-12)
	probability, se = []float64{0.7, 0.1, 0.25}, []float64{1, 1, 1}
	c.sharpen(90, 0.3, events, probability, se)
	require.Equal(t, []float64{0.3, 0.3, 1}, se)
}

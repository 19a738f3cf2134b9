package modeldist

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/internal/stream"
)

// pairedDraws returns n sets of 9 items. Each set has exactly one of items 0 and 1, usually item 2
// together with 0, and rarely other items.
func pairedDraws(n int) (draws [][]int32) {
	random := stream.Rand(4, "pairs")
	for range n {
		var set []int32
		first := random.Float64() < 0.6
		if first {
			set = append(set, 0)
		} else {
			set = append(set, 1)
		}
		if with := random.Float64(); first && with < 0.8 || !first && with < 0.1 {
			set = append(set, 2)
		}
		for item := int32(3); item < 9; item++ {
			if random.Float64() < 0.001 {
				set = append(set, item)
			}
		}
		draws = append(draws, set)
	}
	return draws
}

// TestConditionals checks that the probabilities of all sets sum to one, that the frequencies of
// draws agree with them, and that the fit reproduces the dependences of the draws it is fitted to.
func TestConditionals(t *testing.T) {
	guess := []float64{0.5, 0.5, 0.5, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01}
	c := FitConditionals(pairedDraws(5000), guess, nil)
	total, want := 0.0, map[int]float64{}
	for mask := range 1 << len(guess) {
		var set []int32
		for item := range guess {
			if mask>>item&1 == 1 {
				set = append(set, int32(item))
			}
		}
		want[mask] = math.Exp(c.LogProb(set))
		total += want[mask]
	}
	require.InDelta(t, 1, total, 1e-12)
	require.InDelta(t, 0.48, want[0b101], 0.03)
	require.InDelta(t, 0.36, want[0b010], 0.03)
	require.Less(t, want[0b011]+want[0b111], 0.02)

	// About 40 comparisons at 4.5 standard errors: a false alarm in 3,700 runs.
	const n = 200000
	counts := map[int]float64{}
	random := stream.Rand(1, "draw")
	for range n {
		mask := 0
		for _, item := range c.Draw(random) {
			mask |= 1 << item
		}
		counts[mask]++
	}
	for mask, p := range want {
		if p > 1e-4 {
			require.InDelta(t, p, counts[mask]/n, 4.5*math.Sqrt(p*(1-p)/n), "%b", mask)
		}
	}
}

// TestNeighbours checks that the probabilities of all sets under [Neighbours] sum to one, and that
// the frequencies of draws agree with them.
func TestNeighbours(t *testing.T) {
	weights := []float64{1, 2, 0.5, 0.1, 3, 0.2, 1}
	n := NewNeighbours([][]int32{{}, {0, 3}, {0, 3}, {1, 2, 4, 6}}, weights)
	total, want := 0.0, map[int]float64{}
	for mask := range 1 << len(weights) {
		var set []int32
		for item := range weights {
			if mask>>item&1 == 1 {
				set = append(set, int32(item))
			}
		}
		want[mask] = math.Exp(n.LogProb(set))
		total += want[mask]
	}
	require.InDelta(t, 1, total, 1e-12)
	const draws = 200000
	counts := map[int]float64{}
	random := stream.Rand(1, "draw")
	for range draws {
		mask := 0
		for _, item := range n.Draw(random) {
			mask |= 1 << item
		}
		counts[mask]++
	}
	for mask, p := range want { // 4.7 standard errors, 128 comparisons: a false alarm in 3,000 runs
		require.InDelta(t, p, counts[mask]/draws, 4.7*math.Sqrt(p*(1-p)/draws)+1e-5, "%b", mask)
	}
}

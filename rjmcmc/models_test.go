package rjmcmc

import (
	"context"
	"math"
	"math/bits"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/internal/stream"
)

// twoModes returns a distribution over subsets of 8 items with two modes far apart, and the
// inclusion probabilities of the items.
func twoModes() (logMass func(set []int32) float64, inclusion [8]float64) {
	random := stream.Rand(3, "modes")
	table := make([]float64, 256)
	total := 0.0
	for mask := range table {
		distance := min(bits.OnesCount(uint(mask^0b00001111)), bits.OnesCount(uint(mask^0b01110000))+1)
		table[mask] = -1.6*float64(distance) + 0.5*random.NormFloat64()
		total += math.Exp(table[mask])
	}
	for mask, value := range table {
		for j := range inclusion {
			if mask>>j&1 == 1 {
				inclusion[j] += math.Exp(value) / total
			}
		}
	}
	return func(set []int32) float64 {
		mask := 0
		for _, item := range set {
			mask |= 1 << item
		}
		return table[mask]
	}, inclusion
}

// The test compares the inclusion frequencies of 8 items in the sets of the chains with exact
// probabilities. The tolerance is 4.5 standard errors, from the spread between chains: one seed in
// 18,000 fails by chance.
func TestModelsFollowTheirMasses(t *testing.T) {
	logMass, inclusion := twoModes()
	starts := make([][]int32, 32)
	for i := range starts {
		if i%2 == 1 {
			starts[i] = []int32{0, 1, 2, 3, 4, 5, 6, 7}
		}
	}
	run := func() *Models {
		m, err := NewModels(t.Context(), ModelsConfig{Items: 8, Starts: starts, Seed: 2, Weights: []float64{1, 2, 3, 1, 2, 3, 1, 2},
			LogMasses: func(_ context.Context, sets [][]int32) (priors, evidences []float64, err error) {
				for _, set := range sets {
					prior := -0.7 * float64(len(set))
					priors, evidences = append(priors, prior), append(evidences, logMass(set)-prior)
				}
				return priors, evidences, nil
			}})
		require.NoError(t, err)
		require.NoError(t, m.Run(t.Context(), 400))
		require.NoError(t, m.Run(t.Context(), 3800))
		return m
	}
	m := run()
	require.Len(t, m.Sets, 4000*32)
	for item, want := range inclusion {
		var means [32]float64
		for i, set := range m.Sets {
			for _, member := range set {
				if int(member) == item {
					means[i%32] += 1.0 / 4000
				}
			}
		}
		mean, variance := 0.0, 0.0
		for _, v := range means {
			mean += v / 32
		}
		for _, v := range means {
			variance += (v - mean) * (v - mean) / 31
		}
		require.InDelta(t, want, mean, 4.5*math.Sqrt(variance/32), "item %d", item)
	}
	require.Equal(t, m.Sets, run().Sets, "the same seed gives the same draws")
}

// Proposals that add or remove several items together lead chains between two modes, which no other
// proposal does because all sets between the modes are improbable. The test makes 6 comparisons to
// 4.5 standard errors: one seed in 25,000 fails by chance.
func TestItemsThatMoveTogetherCrossAValley(t *testing.T) {
	random := stream.Rand(4, "valley")
	table := make([]float64, 64)
	for mask := range table {
		table[mask] = random.NormFloat64()
		for _, pair := range []int{0b000011, 0b001100} {
			if share := mask & pair; share != 0 && share != pair {
				table[mask] -= 60
			}
		}
	}
	var inclusion [6]float64
	total := 0.0
	for mask, value := range table {
		total += math.Exp(value)
		for item := range inclusion {
			if mask>>item&1 == 1 {
				inclusion[item] += math.Exp(value)
			}
		}
	}
	m, err := NewModels(t.Context(), ModelsConfig{Items: 6, Starts: make([][]int32, 32), Seed: 2, Together: [][]int32{{0, 1}, {2, 3}, {1, 4}, {2, 3, 5}},
		LogMasses: func(_ context.Context, sets [][]int32) (priors, evidences []float64, err error) {
			for _, set := range sets {
				mask := 0
				for _, item := range set {
					mask |= 1 << item
				}
				priors, evidences = append(priors, 0), append(evidences, table[mask])
			}
			return priors, evidences, nil
		}})
	require.NoError(t, err)
	require.NoError(t, m.Run(t.Context(), 4200))
	for item, sum := range inclusion {
		var means [32]float64
		for i, set := range m.Sets {
			if slices.Contains(set, int32(item)) {
				means[i%32] += 1.0 / 4000
			}
		}
		mean, sd := stat.MeanStdDev(means[:], nil)
		require.InDelta(t, sum/total, mean, 4.5*sd/math.Sqrt(32), "item %d", item)
	}
}

func TestItemsThatMoveTogetherAreChecked(t *testing.T) {
	for _, set := range [][]int32{{1, 0}, {2, 2}, {0, 3}, {-1}} {
		_, err := NewModels(t.Context(), ModelsConfig{Items: 3, Starts: make([][]int32, 1), Together: [][]int32{set}})
		require.ErrorContains(t, err, "want ascending numbers below 3")
	}
}

// There are thousands of items, and few items have an effect. Copies at all temperatures have sets
// of about the size that the prior expects, and exchange them. With a tempered prior, copies at
// high temperatures would fill their sets with items without effect, and copies at lower
// temperatures would never accept such a set.
func TestHotCopiesStaySmall(t *testing.T) {
	const items, slots = 3000, 20
	logSize := make([]float64, slots+1) // log prior of each size, uniform over sizes
	for size := range logSize {
		if size > 0 {
			logSize[size] = logSize[size-1] - math.Log(float64(items-size+1)/float64(size))
		}
	}
	m, err := NewModels(t.Context(), ModelsConfig{
		Items: items, Slots: slots, Starts: make([][]int32, 16), Seed: 4,
		LogMasses: func(_ context.Context, sets [][]int32) (priors, evidences []float64, err error) {
			for _, set := range sets {
				evidence := 0.0
				for _, item := range set {
					evidence -= 1.5 // each item without effect lowers the log evidence by 1.5
					if item < 5 {
						evidence += 10
					}
				}
				priors, evidences = append(priors, logSize[len(set)]), append(evidences, evidence)
			}
			return priors, evidences, nil
		}})
	require.NoError(t, err)
	require.NoError(t, m.Run(t.Context(), 1500))
	sizes := make([]float64, 3)
	for i, row := range m.rows {
		sizes[i/16] += float64(len(m.lists.Set(row.code))) / 16
	}
	for _, size := range sizes {
		require.Less(t, size, slots/2.0, "sizes by temperature: %v", sizes)
	}
}

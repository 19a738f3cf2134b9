package space

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/transdim/vti/lab/testkit"
)

// TestInclusionPrior compares probabilities of models and of sizes with products over predictors,
// normalised over all subsets that the limit on the size allows.
func TestInclusionPrior(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		groups := rapid.IntRange(1, 8).Draw(r, "groups")
		p := Prior{Kind: InclusionPrior, Inclusion: make([]float64, groups)}
		expected := 0.0
		for j := range groups {
			p.Inclusion[j] = rapid.Float64Range(1e-6, 0.999).Draw(r, "probability")
			expected += p.Inclusion[j]
		}
		p.MaxSize = rapid.IntRange(int(expected)+1, groups+1).Draw(r, "max")
		sizes, total := make([]float64, groups+1), 0.0
		codes, probabilities := [][]int32{}, []float64{}
		for index := range 1 << groups {
			code, size, product := make([]int32, groups), 0, 1.0
			for j, π := range p.Inclusion {
				if code[j] = int32(index >> j & 1); code[j] == 1 {
					product *= π
					size++
				} else {
					product *= 1 - π
				}
			}
			if size > p.MaxSize {
				product = 0
			}
			sizes[size] += product
			total += product
			codes, probabilities = append(codes, code), append(probabilities, product)
		}
		terms, mean := p.LogTerms(groups), 0.0
		found := graph.MustNewExec(testkit.Backend(t), p.LogProb).MustExec(codes)[0].Value().([]float64)
		for i, code := range codes {
			want := math.Log(probabilities[i] / total)
			if probabilities[i] == 0 {
				require.Equal(r, want, terms.OfCode(code))
				continue
			}
			require.InDelta(r, want, terms.OfCode(code), 1e-9)
			require.InDelta(r, want, found[i], 1e-9)
		}
		for size, probability := range p.SizeProbs(groups) {
			require.InDelta(r, sizes[size]/total, probability, 1e-12)
			mean += float64(size) * sizes[size] / total
		}
		require.InDelta(r, mean, p.MeanSize(groups), 1e-12)
	})
}

// TestEqualInclusion checks that equal inclusion probabilities give the BernoulliPrior.
func TestEqualInclusion(t *testing.T) {
	for _, limit := range []int{0, 2, 30} {
		equal := Prior{Kind: InclusionPrior, Inclusion: slices.Repeat([]float64{0.02}, 40), MaxSize: limit}
		common := Prior{Kind: BernoulliPrior, Pi: 0.02, MaxSize: limit}
		want, terms := common.LogProbs(40), equal.LogTerms(40)
		for size := range equal.Limit(40) + 1 {
			code := slices.Concat(slices.Repeat([]int32{1}, size), make([]int32, 40-size))
			require.InDelta(t, want[size], terms.OfCode(code), 1e-10)
		}
		require.InDeltaSlice(t, common.SizeProbs(40), equal.SizeProbs(40), 1e-13)
	}
}

func TestDrawInclusion(t *testing.T) {
	p := Prior{Kind: InclusionPrior, Inclusion: []float64{0.9, 0.05, 0.3, 0.4}, MaxSize: 2}
	terms, counts, random := p.LogTerms(4), map[int]float64{}, rand.New(rand.NewPCG(1, 2))
	const draws = 20000
	for range draws {
		mask := 0
		for j, in := range p.Draw(4, random) {
			if in {
				mask |= 1 << j
			}
		}
		counts[mask]++
	}
	for mask := range 16 {
		code := make([]int32, 4)
		for j := range code {
			code[j] = int32(mask >> j & 1)
		}
		want := math.Exp(terms.OfCode(code))
		assert.InDelta(t, want, counts[mask]/draws, 4.5*math.Sqrt(want*(1-want)/draws)) // a false alarm in 10,000 seeds
	}
	moved := p.Reordered([]int{2, 0, 3, 1})
	assert.Equal(t, []float64{0.3, 0.9, 0.4, 0.05}, moved.Inclusion)
	assert.Equal(t, 0.9, p.Inclusion[0])
}

func TestInclusionPriorErrors(t *testing.T) {
	for _, probability := range []float64{0, 1, -0.1, 1.5, math.NaN(), math.Inf(1)} {
		assert.ErrorContains(t, Prior{Kind: InclusionPrior, Inclusion: []float64{0.5, probability}}.ValidateFor(2), "strictly between 0 and 1")
	}
	p := Prior{Kind: InclusionPrior, Inclusion: []float64{0.5, 0.9, 0.9}}
	assert.NoError(t, p.ValidateFor(3))
	assert.ErrorContains(t, p.ValidateFor(4), "want one for each of 4 predictors")
	p.MaxSize = 2
	assert.ErrorContains(t, p.ValidateFor(3), "add up to 2.3, and a model has at most 2 predictors")
	assert.Panics(t, func() { p.LogProbs(3) })
	_, err := Prior{Kind: InclusionPrior}.LogDecisions(1, 1)
	assert.Error(t, err)
	read, err := ParsePrior("inclusion max:7")
	require.NoError(t, err)
	assert.Equal(t, Prior{Kind: InclusionPrior, MaxSize: 7}, read)
}

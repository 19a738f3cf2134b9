package space

import (
	"math"
	"math/bits"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/transdim/vti/lab/testkit"
	"pgregory.net/rapid"
)

var testPriors = []Prior{{Kind: UniformPrior}, {Kind: BernoulliPrior, Pi: 0.2}, {Kind: BetaBinomialPrior, A: 1, B: 1}, {Kind: BetaBinomialPrior, A: 0.7, B: 9},
	{Kind: ExpectedSizePrior, Size: 0.75},
	{Kind: UniformPrior, MaxSize: 2}, {Kind: BetaBinomialPrior, A: 1, B: 1, MaxSize: 1}, {Kind: ExpectedSizePrior, Size: 0.9, MaxSize: 2}}

// TestPriorSumsToOne checks that p(m) sums to one over all subsets.
func TestPriorSumsToOne(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		p := rapid.SampledFrom(testPriors).Draw(r, "prior")
		groups := rapid.IntRange(1, 12).Draw(r, "groups")
		table := p.LogProbs(groups)
		var total float64
		for code := range uint(1) << groups {
			total += math.Exp(table[bits.OnesCount(code)])
		}
		assert.InDelta(r, 1, total, 1e-12)
	})
}

func TestPriorValues(t *testing.T) {
	assert.InDelta(t, -5*math.Ln2, Prior{Kind: UniformPrior}.LogProbs(5)[3], 1e-15)
	assert.InDelta(t, 2*math.Log(0.2)+3*math.Log(0.8), Prior{Kind: BernoulliPrior, Pi: 0.2}.LogProbs(5)[2], 1e-14)
	// With Beta(1, 1) every size from 0 to 5 has probability 1/6, which the 10 models of size 2
	// share equally.
	assert.InDelta(t, math.Log(1./6/10), Prior{Kind: BetaBinomialPrior, A: 1, B: 1}.LogProbs(5)[2], 1e-13)
}

// TestExpectedSize computes the mean size over all subsets: it is the requested size, with and
// without a limit of the size.
func TestExpectedSize(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		groups := rapid.IntRange(2, 10).Draw(r, "groups")
		p := Prior{Kind: ExpectedSizePrior, MaxSize: rapid.IntRange(0, groups+1).Draw(r, "max")}
		limit := p.Limit(groups)
		p.Size = rapid.Float64Range(0.02, 0.98).Draw(r, "share") * float64(limit)
		table := p.LogProbs(groups)
		var mean float64
		for code := range uint(1) << groups {
			if size := bits.OnesCount(code); size <= limit {
				mean += float64(size) * math.Exp(table[size])
			}
		}
		assert.InDelta(r, p.Size, mean, 1e-9)
	})
}

// TestLimitedPriorOfManyPredictors checks sums over sizes for a number of predictors with too many
// subsets to enumerate.
func TestLimitedPriorOfManyPredictors(t *testing.T) {
	const groups = 10_000
	// For sizes 0 and 1: p(one predictor j) / p(none) = π/(1−π), and 10,000 models have one
	// predictor.
	table := Prior{Kind: BernoulliPrior, Pi: 0.001, MaxSize: 1}.LogProbs(groups)
	odds := 0.001 / 0.999
	assert.InDelta(t, -math.Log1p(groups*odds), table[0], 1e-10)
	assert.InDelta(t, math.Log(odds)-math.Log1p(groups*odds), table[1], 1e-10)
	assert.True(t, math.IsInf(table[2], -1))
	p := Prior{Kind: ExpectedSizePrior, Size: 8, MaxSize: 20}
	assert.InDelta(t, 8, p.MeanSize(groups), 1e-9)
	assert.InDelta(t, 20-1e-3, Prior{Kind: ExpectedSizePrior, Size: 20 - 1e-3, MaxSize: 20}.MeanSize(groups), 1e-6)
}

func TestPriorGraph(t *testing.T) {
	backend := testkit.Backend(t)
	codes := [][]int32{{0, 0, 0}, {1, 0, 1}, {0, 1, 0}, {1, 1, 1}}
	for _, p := range testPriors {
		out := graph.MustExecOnce(backend, p.LogProb, tensors.FromValue(codes))
		table := p.LogProbs(3)
		assert.Equal(t, []float64{table[0], table[2], table[1], table[3]}, out.Value(), p)
	}
}

func TestParsePrior(t *testing.T) {
	for _, p := range testPriors {
		parsed, err := ParsePrior(p.String())
		require.NoError(t, err)
		assert.Equal(t, p, parsed)
	}
	for text, want := range map[string]string{
		"":                  `unknown model prior ""; want betabinomial:a,b`,
		"flat":              `unknown model prior "flat"; want betabinomial:a,b`,
		"uniform:1":         "got 1 number, want 0 for uniform",
		"bernoulli":         "got 0 numbers, want 1 for bernoulli",
		"bernoulli:x":       `"x" is not a number`,
		"bernoulli:1":       "got 1, want an inclusion probability strictly between 0 and 1",
		"bernoulli:NaN":     "strictly between 0 and 1",
		"betabinomial:1":    "got 1 number, want 2 for betabinomial",
		"betabinomial:1,0":  "got 1 and 0, want two positive shapes",
		"betabinomial:1,,2": `"" is not a number`,
		"expected:0":        "got 0, want a positive expected size",
		"expected":          "got 0 numbers, want 1 for expected",
		"uniform max:0":     `got "0", want a positive whole number`,
	} {
		_, err := ParsePrior(text)
		require.ErrorContains(t, err, want, text)
	}
	// without other fields the prior is beta-binomial with a = b = 1
	assert.Equal(t, "betabinomial:1,1 max:3", Prior{MaxSize: 3}.String())
	assert.Equal(t, Prior{A: 1, B: 1}.LogProbs(5), Prior{}.LogProbs(5))
	require.Error(t, Prior{Kind: 7}.Validate())
	assert.Panics(t, func() { Prior{Kind: BernoulliPrior}.LogProbs(3) })
}

// TestLogDecisions checks that probabilities sum to one over sequences of decisions in which there
// is a second decision only if the first is yes.
func TestLogDecisions(t *testing.T) {
	for _, p := range []Prior{{}, {A: 2, B: 0.7}, {Kind: BernoulliPrior, Pi: 0.3}} {
		sum := 0.0
		for _, counts := range [][2]int{{0, 1}, {1, 1}, {2, 0}} {
			log, err := p.LogDecisions(counts[0], counts[1])
			require.NoError(t, err)
			sum += math.Exp(log)
		}
		assert.InDelta(t, 1, sum, 1e-14)
	}
	for _, p := range []Prior{{Kind: ExpectedSizePrior, Size: 2}, {MaxSize: 2}} {
		_, err := p.LogDecisions(1, 1)
		require.ErrorContains(t, err, "where terms may vary")
	}
}

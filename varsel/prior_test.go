package varsel

import (
	"math"
	"math/bits"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/transdim/vti/internal/testkit"
	"pgregory.net/rapid"
)

var testPriors = []Prior{{}, {Kind: BernoulliPrior, Pi: 0.2}, {Kind: BetaBinomialPrior, A: 1, B: 1}, {Kind: BetaBinomialPrior, A: 0.7, B: 9}}

// TestPriorSumsToOne sums p(m) over all subsets.
func TestPriorSumsToOne(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		p := rapid.SampledFrom(testPriors).Draw(r, "prior")
		groups := rapid.IntRange(0, 12).Draw(r, "groups")
		table := p.LogProbs(groups)
		var total float64
		for code := range uint(1) << groups {
			total += math.Exp(table[bits.OnesCount(code)])
		}
		assert.InDelta(r, 1, total, 1e-12)
	})
}

func TestPriorValues(t *testing.T) {
	assert.InDelta(t, -5*math.Ln2, Prior{}.LogProbs(5)[3], 1e-15)
	assert.InDelta(t, 2*math.Log(0.2)+3*math.Log(0.8), Prior{Kind: BernoulliPrior, Pi: 0.2}.LogProbs(5)[2], 1e-14)
	// Beta(1, 1): every size is equally likely, 1/6, and shared by the 10 models of size 2.
	assert.InDelta(t, math.Log(1./6/10), Prior{Kind: BetaBinomialPrior, A: 1, B: 1}.LogProbs(5)[2], 1e-13)
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
		"":                  `unknown model prior ""; expected uniform`,
		"flat":              `unknown model prior "flat"; expected uniform`,
		"uniform:1":         "found 1 numbers where uniform takes 0",
		"bernoulli":         "found 0 numbers where bernoulli takes 1",
		"bernoulli:x":       `"x" is not a number`,
		"bernoulli:1":       "strictly between 0 and 1, found 1",
		"bernoulli:NaN":     "strictly between 0 and 1",
		"betabinomial:1":    "found 1 numbers where betabinomial takes 2",
		"betabinomial:1,0":  "two positive shapes, found 1 and 0",
		"betabinomial:1,,2": `"" is not a number`,
	} {
		_, err := ParsePrior(text)
		require.ErrorContains(t, err, want, text)
	}
	require.Error(t, Prior{Kind: 7}.Validate())
	assert.Panics(t, func() { Prior{Kind: BernoulliPrior}.LogProbs(3) })
}

package space_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/space"
)

func newRandom(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 7)) }

// frequencies runs a Metropolis chain with Move on a target over models and returns the share of
// its steps in each model. scale multiplies the log ratio of proposals; only 1 is correct.
func frequencies(s space.Space, start []int32, steps int, scale float64, logTarget func(code []int32) float64) map[string]float64 {
	random := newRandom(3)
	code, z := slices.Clone(start), make([]float64, s.Dim())
	share := map[string]float64{}
	for range steps {
		proposal, moved := slices.Clone(code), slices.Clone(z)
		ratio := space.Move(s, random, proposal, moved)
		if math.Log(random.Float64()) < scale*ratio+logTarget(proposal)-logTarget(code) {
			code, z = proposal, moved
		}
		share[fmt.Sprint(code)] += 1 / float64(steps)
	}
	return share
}

// worst returns the largest difference between the share of a model and its normalised target
// probability, over the given codes.
func worst(share map[string]float64, codes [][]int32, logTarget func(code []int32) float64) float64 {
	var total, largest float64
	for _, code := range codes {
		total += math.Exp(logTarget(code))
	}
	for _, code := range codes {
		largest = max(largest, math.Abs(share[fmt.Sprint(code)]-math.Exp(logTarget(code))/total))
	}
	return largest
}

// The shares of models in a Metropolis chain with the proposals of Move agree with the target of
// the chain, for which the ratio of the proposals must be right. With 300,000 steps the standard
// error of a share of 0.1 is below 0.002 for an autocorrelation time of 10; the tolerance is four
// standard errors.
func TestMoveKeepsTheTarget(t *testing.T) {
	testkit.Slow(t)
	const steps, tolerance = 300_000, 0.008
	lists := someLists(t)
	weighted, err := lists.WithWeights([]float64{5, 0.3, 1, 2, 0.1})
	require.NoError(t, err)
	var models [][]int32
	for _, code := range allCodes(lists.Cards()) {
		if lists.Valid(code) {
			models = append(models, code)
		}
	}
	listTarget := func(code []int32) (sum float64) {
		for _, item := range lists.Set(code) {
			sum += []float64{0.5, -0.3, 1, -1, 0.2}[item]
		}
		return sum
	}
	start := lists.Code(nil, nil)
	require.Less(t, worst(frequencies(lists, start, steps, 1, listTarget), models, listTarget), tolerance)
	require.Less(t, worst(frequencies(weighted, start, steps, 1, listTarget), models, listTarget), tolerance)
	require.Greater(t, worst(frequencies(weighted, start, steps, 0, listTarget), models, listTarget), tolerance, "a chain that forgets the ratio")

	bits, err := space.NewSubsets(4, nil, [][]int{{0}, {1}, {2}, {3}})
	require.NoError(t, err)
	mixed, err := space.NewTable([][]bool{{true}, {true}, {false}})
	require.NoError(t, err)
	for _, s := range []space.Space{bits, mixed} {
		target := func(code []int32) (sum float64) {
			for site, outcome := range code {
				sum += 0.4 * float64(outcome) * float64(1-2*(site%2))
			}
			return sum
		}
		require.Less(t, worst(frequencies(s, make([]int32, len(s.Cards())), steps, 1, target), allCodes(s.Cards()), target), tolerance)
	}
}

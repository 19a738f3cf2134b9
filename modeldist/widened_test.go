package modeldist

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/ml/context"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/space"
)

// TestWidenedDrawsWhatItsDensitySays checks that the probabilities of models sum to one, and that
// the frequencies of draws agree with them.
func TestWidenedDrawsWhatItsDensitySays(t *testing.T) {
	const batch = 20_000
	cards := []int{2, 3}
	network, err := NewAutoregressive(cards, AutoregressiveConfig{SiteLogPrior: [][]float64{{0, 6}, {0, -2, 4}}})
	require.NoError(t, err)
	wide := network.Widened(batch)
	random, uniforms := stream.Rand(1, "wide models"), make([][]float64, batch)
	for i := range uniforms {
		uniforms[i] = []float64{random.Float64(), random.Float64()}
	}
	var all [][]int32
	for _, code := range space.All(cards) {
		all = append(all, slices.Clone(code))
	}
	outputs, err := context.ExecOnceN(testkit.Backend(t), context.New().Checked(false), func(ctx *context.Context, uniforms, all *graph.Node) []*graph.Node {
		return []*graph.Node{wide.Sample(ctx, uniforms), wide.LogProb(ctx, all), network.LogProb(ctx, all)}
	}, uniforms, all)
	require.NoError(t, err)
	draws, logWide, logNear := outputs[0].Value().([][]int32), outputs[1].Value().([]float64), outputs[2].Value().([]float64)
	counts := map[string]int{}
	for _, draw := range draws {
		counts[fmt.Sprint(draw)]++
	}
	sum := 0.0
	for i, code := range all {
		want := math.Exp(logWide[i])
		sum += want
		require.Greater(t, want, 0.75*math.Exp(logNear[i]))
		frequency := float64(counts[fmt.Sprint(code)]) / batch
		// Six models are compared at 4.5 standard errors: a false alarm in 25,000 runs.
		require.InDelta(t, want, frequency, 4.5*math.Sqrt(want*(1-want)/batch))
	}
	require.InDelta(t, 1, sum, 1e-12)
	require.Greater(t, math.Exp(logWide[0]), 5*math.Exp(logNear[0]), "an improbable model is drawn more often")
}

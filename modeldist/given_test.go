package modeldist_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/gomlx/gomlx/pkg/ml/context"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/modeldist"
	"github.com/transdim/vti/space"
)

// repeated returns a batch in which every row equals row.
func repeated(row []float64, batch int) [][]float64 {
	rows := make([][]float64, batch)
	for i := range rows {
		rows[i] = row
	}
	return rows
}

// TestGiven checks that an untrained network is the distribution with the given log weights of
// models. A network with random parameters must still be a distribution that depends on the
// context, and the frequencies of its draws must agree with its probabilities.
func TestGiven(t *testing.T) {
	testkit.Slow(t)
	const contexts, draws = 3, 20_000
	for name, cards := range shapesOfCodes {
		t.Run(name, func(t *testing.T) {
			q := newAutoregressive(t, cards, modeldist.AutoregressiveConfig{Context: contexts})
			random := rand.New(rand.NewPCG(3, 0))
			var codes [][]int32
			var logMass []float64
			var largest float64
			for _, code := range space.All(cards) {
				codes = append(codes, append([]int32(nil), code...))
				logMass = append(logMass, 2*random.NormFloat64())
				largest += math.Exp(logMass[len(logMass)-1])
			}
			logProb := func(ctx *context.Context, about []float64) []float64 {
				return run(t, ctx, func(ctx *context.Context, codes, about, mass *graph.Node) *graph.Node {
					return q.Given(about, mass).LogProb(ctx, codes)
				}, codes, repeated(about, len(codes)), repeated(logMass, len(codes)))[0].([]float64)
			}
			ctx := context.New()
			for i, got := range logProb(ctx, []float64{1, -1, 0.5}) {
				require.InDelta(t, logMass[i]-math.Log(largest), got, 1e-9, fmt.Sprint(codes[i]))
			}
			r := rand.New(rand.NewPCG(9, 9))
			for v := range ctx.IterVariables() {
				values := make([]float32, v.Shape().Size())
				for i := range values {
					values[i] = float32(0.4 * r.NormFloat64())
				}
				require.NoError(t, v.SetValue(tensors.FromFlatDataAndDimensions(values, v.Shape().Dimensions...)))
			}
			about := []float64{1, -1, 0.5}
			probs := logProb(ctx, about)
			total, moved := 0.0, 0.0
			for i := range probs {
				moved = math.Max(moved, math.Abs(probs[i]-logProb(ctx, []float64{0, 2, -1})[i]))
				probs[i] = math.Exp(probs[i])
				total += probs[i]
			}
			require.InDelta(t, 1, total, 1e-9)
			require.Greater(t, moved, 0.01)
			drawn := run(t, ctx, func(ctx *context.Context, uniforms, about, mass *graph.Node) *graph.Node {
				return q.Given(about, mass).Sample(ctx, uniforms)
			}, uniforms(5, draws, len(cards)), repeated(about, draws), repeated(logMass, draws))[0].([][]int32)
			counts := make([]float64, len(probs))
			for _, code := range drawn {
				counts[space.Encode(cards, code)]++
			}
			for i, p := range probs { // 5 standard errors: a false alarm in about 1 of 10,000 runs
				require.InDelta(t, p, counts[i]/draws, 5*math.Sqrt(p*(1-p)/draws)+1e-3)
			}
		})
	}
}

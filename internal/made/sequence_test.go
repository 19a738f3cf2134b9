package made

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/ml/context"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/lab/testkit"
)

// TestSequentialAgreesWithOutputs computes every input from the outputs of the earlier ones. It
// compares the outputs that draw received with one evaluation of Outputs at the result.
func TestSequentialAgreesWithOutputs(t *testing.T) {
	const batch = 3
	for _, cfg := range []Config{
		{Inputs: 1, Hidden: 1, Heads: [][]int{{2}}},
		{Inputs: 7, Hidden: 16, Blocks: 2, Heads: [][]int{slices.Repeat([]int{1}, 7)}},
		// This network has fewer units than inputs.
		{Inputs: 9, Hidden: 5, Blocks: 1, Activation: LeakyReLU, Heads: [][]int{slices.Repeat([]int{2}, 9), slices.Repeat([]int{1}, 9)}},
		{Inputs: 6, Hidden: 13, Blocks: 2, Context: 2, Heads: [][]int{slices.Repeat([]int{1}, 6)}},
		{Inputs: 6, Hidden: 13, Blocks: 3, Heads: [][]int{{3, 0, 0, 1, 0, 2}, {0, 1, 0, 0, 1, 0}}},
	} {
		t.Run(fmt.Sprint(cfg.Inputs, cfg.Hidden, cfg.Heads), func(t *testing.T) {
			net, err := New(cfg)
			require.NoError(t, err)
			ctx := context.New()
			backend := testkit.Backend(t)
			build := func(ctx *context.Context, g *graph.Graph) []*graph.Node {
				var cond *graph.Node
				if cfg.Context > 0 {
					cond = graph.IotaFull(g, shapes.Make(dtypes.Float64, batch, cfg.Context))
				}
				bound := net.Bind(ctx, g, dtypes.Float64, cond)
				var columns []*graph.Node
				pieces := make([][]*graph.Node, len(cfg.Heads))
				bound.Sequential(batch, func(input int, outputs []*graph.Node) *graph.Node {
					x := graph.AddScalar(graph.IotaFull(g, shapes.Make(dtypes.Float64, batch, 1)), 0.3*float64(input)-1)
					for h, out := range outputs {
						require.Equal(t, cfg.Heads[h][input] > 0, out != nil)
						if out != nil {
							out.AssertDims(batch, cfg.Heads[h][input])
							pieces[h] = append(pieces[h], out)
							x = graph.Add(x, graph.ReduceAndKeep(out, graph.ReduceSum, 1))
						}
					}
					columns = append(columns, x)
					return x
				})
				results := []*graph.Node{}
				for h, want := range bound.Outputs(graph.Concatenate(columns, 1)) {
					results = append(results, graph.ReduceAllMax(graph.Abs(graph.Sub(want, graph.Concatenate(pieces[h], 1)))), graph.ReduceAllMax(graph.Abs(want)))
				}
				return results
			}
			context.MustNewExec(backend, ctx, build).MustExec() // creates the variables
			rng := rand.New(rand.NewPCG(3, 4))
			for v := range ctx.IterVariables() {
				values := make([]float64, v.Shape().Size())
				for i := range values {
					values[i] = rng.NormFloat64()
				}
				require.NoError(t, v.SetValue(hostTensor(dtypes.Float64, values, v.Shape().Dimensions...)))
			}
			results := context.MustNewExec(backend, ctx, build).MustExec()
			for i := 0; i < len(results); i += 2 {
				require.Less(t, results[i].Value().(float64), 1e-11*(1+results[i+1].Value().(float64)))
				require.Greater(t, results[i+1].Value().(float64), 0.1, "the weights matter")
			}
		})
	}
}

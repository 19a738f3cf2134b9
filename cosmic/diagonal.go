package cosmic

import (
	"fmt"
	"slices"

	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/ml/context"

	"github.com/transdim/vti/internal/made"
)

// diagonal returns the shift and the log-scale of each coordinate, before a soft clamp bounds the
// log-scale. They are [B, D] each, in the coordinates' original order. A ReLU network computes them
// from cond [B, C], and its outputs are zero before training. If cond is nil they are constants.
func (f *Flow) diagonal(ctx *context.Context, z, cond *graph.Node) []*graph.Node {
	if cond == nil {
		return []*graph.Node{graph.ZerosLike(z), graph.ZerosLike(z)}
	}
	h := f.perceptron(ctx.In("mlp"), cond, slices.Repeat([]int{f.cfg.Hidden}, f.cfg.Layers))
	return []*graph.Node{
		made.Linear(ctx.In("shift"), f.cfg.Seed, h, f.cfg.Dim, made.Zeros, made.Zeros),
		made.Linear(ctx.In("logscale"), f.cfg.Seed, h, f.cfg.Dim, made.Zeros, made.Zeros),
	}
}

// perceptron applies ReLU layers of the given widths to x [B, n].
func (f *Flow) perceptron(ctx *context.Context, x *graph.Node, widths []int) *graph.Node {
	for i, width := range widths {
		init := made.FanIn(x.Shape().Dim(1))
		x = made.ReLU.Apply(made.Linear(ctx.In(fmt.Sprintf("layer%d", i)), f.cfg.Seed, x, width, init, init))
	}
	return x
}

//go:build quality

package vti

import (
	gocontext "context"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/ml/context"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/evaluate"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/modeldist"
)

// ScoreVariance returns the variance of the gradient from one batch with a control variate, summed
// over the logits of a table q(m). It is estimated from the given number of batches. Before them it
// draws as many batches as the argument memory says, which fill the moving average of the control
// variate Running. The trained state comes from the checkpoint of
// cfg, which a fit with the control variate SurrogateMean has written.
func ScoreVariance(device *gpu.Device, target Target, cfg Config, control ControlVariate, batches, memory int) (float64, error) {
	cfg.Resume = true
	t, err := newTrainer(gocontext.Background(), device, target, cfg, true)
	if err != nil {
		return 0, err
	}
	t.config.ControlVariate = control
	table, sp := t.config.Models.(*modeldist.Categorical), target.Space()
	exec, err := context.NewExec(device.Backend(), t.Variables, func(ctx *Context, g *Graph) *Node {
		uniforms := stream.Uniform(ctx, g, t.config.Seed, "codes", shapes.Make(dtypes.Float64, t.config.Batch, len(sp.Cards())))
		codes := table.Sample(ctx.In(evaluate.ModelScope), uniforms)
		z := stream.Normal(ctx, g, t.config.Seed, "noise", shapes.Make(t.config.DType, t.config.Batch, sp.Dim()))
		_, logQ, logJoint := t.PushGraph(ctx, codes, sp.Mask(codes), z, t.DType)
		logModel := table.LogProb(ctx.In(evaluate.ModelScope), codes)
		loss := Sub(evaluate.Float64(Sub(logQ, logJoint)), Sub(evaluate.Float64(target.LogPrior(codes)), logModel))
		scalar, _ := t.scoreLoss(ctx, codes, loss, logModel)
		return Gradient(scalar, table.Variable(ctx.In(evaluate.ModelScope)).ValueGraph(g))[0]
	})
	if err != nil {
		return 0, err
	}
	draws := make([][]float64, table.Count()) // gradients with respect to each logit
	for n := range memory + batches {
		out, err := exec.Exec()
		if err != nil {
			return 0, err
		}
		if n < memory {
			continue
		}
		for m, gradient := range out[0].Value().([]float64) {
			draws[m] = append(draws[m], gradient)
		}
	}
	total := 0.0
	for _, modelDraws := range draws {
		total += stat.Variance(modelDraws, nil)
	}
	return total, nil
}

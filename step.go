package vti

import (
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/core/tensors"

	"github.com/transdim/vti/internal/evaluate"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/internal/train"
)

// stepGraph is one training step, which changes variables. If a learner needs its draws it
// returns them: codes [B,S], rewards [B] and movement.
func (t *trainer) stepGraph(ctx *Context, g *Graph) []*Node {
	cfg, target := &t.config, t.Target
	sp := target.Space()
	sites, dim := len(sp.Cards()), sp.Dim()

	uniforms := stream.Uniform(ctx, g, cfg.Seed, "codes", shapes.Make(dtypes.Float64, cfg.Batch, sites))
	codes := cfg.Models.Sample(ctx.In(evaluate.ModelScope), uniforms)
	z := stream.Normal(ctx, g, cfg.Seed, "noise", shapes.Make(cfg.DType, cfg.Batch, dim))
	mask := sp.Mask(codes)

	_, logQ, logJoint := t.PushGraph(ctx, codes, mask, z, t.DType)
	logH := Sub(logQ, logJoint)
	logModel := cfg.Models.LogProb(ctx.In(evaluate.ModelScope), codes)
	logPrior := ConvertDType(evaluate.LogPrior(target, codes), dtypes.Float64)
	loss := Add(ConvertDType(logH, dtypes.Float64), Sub(logModel, logPrior)) // eq. 10, per draw

	// Both gradients come from one sweep: the score-function loss takes its rewards as constants,
	// and the flow's loss does not contain the parameters of q(m).
	stepVariable := ctx.InAbsPath("/"+trainScope).VariableWithValue("step", float64(0)).SetTrainable(false)
	step := AddScalar(stepVariable.ValueGraph(g), 1)
	stepVariable.SetValueGraph(step)
	now := t.scheduleOf(ctx, step)
	power := now.power(cfg.Tempering)
	flowLoss := train.FiniteMean(evaluate.Float64(Sub(logQ, Mul(logJoint, ConvertDType(power, logJoint.DType())))))
	var scoreLoss, nonFinite *Node
	rows := 1 // of a model
	if grouped, ok := cfg.Models.(GroupedModels); ok {
		rows = grouped.Rows()
		scoreLoss, nonFinite, loss = grouped.ScoreLoss(ctx.In(evaluate.ModelScope), codes, ConvertDType(logH, dtypes.Float64))
	} else {
		scoreLoss, nonFinite = t.scoreLoss(ctx, codes, loss, logModel)
	}
	flowVariables := train.VariablesIn(ctx, evaluate.FlowScope, g)
	modelVariables := train.VariablesIn(ctx, evaluate.ModelScope, g)
	gradients := Gradient(Add(flowLoss, scoreLoss), train.ValuesOf(g, append(flowVariables, modelVariables...))...)
	flowGradients, modelGradients := gradients[:len(flowVariables)], gradients[len(flowVariables):]

	norm := train.GlobalNorm(flowGradients)
	apply := IsFinite(norm) // else the step is skipped, as a whole
	if len(modelGradients) > 0 {
		apply = LogicalAnd(apply, IsFinite(train.GlobalNorm(modelGradients)))
	}
	flowGradients = train.ClipByNorm(flowGradients, norm, cfg.ClipNorm)
	increments := train.Adam{}.Increments(ctx, adamScope, flowVariables, flowGradients, now.rate(cfg.LearningRate), step, apply)
	for i, increment := range increments {
		flowVariables[i].SetValueGraph(Add(flowVariables[i].ValueGraph(g), increment))
	}
	update := modelUpdate{modelVariables, modelGradients, codes, logModel, step, now.rate(cfg.ModelStep), apply}
	entropy := t.updateModels(ctx.In(evaluate.ModelScope), update, power)

	sums := ctx.InAbsPath("/"+trainScope).VariableWithValue("sums", make([]float64, numCounters)).SetTrainable(false)
	total := Add(sums.ValueGraph(g), Stack([]*Node{
		train.FiniteMean(loss), Where(apply, norm, ZerosLike(norm)), evaluate.Float64(nonFinite), OneMinus(evaluate.Float64(apply)), MulScalar(entropy, rows),
	}, 0))
	sums.SetValueGraph(total)
	if len(t.learners()) == 0 {
		return nil
	}
	return []*Node{codes, Neg(evaluate.Float64(logH)), movement(flowGradients, increments, apply)}
}

// movement is the first-order change of the flow's loss by increments of its variables, |Σ
// gradient·increment|, in nats.
func movement(gradients, increments []*Node, apply *Node) *Node {
	change := ScalarZero(apply.Graph(), dtypes.Float64)
	for i, gradient := range gradients {
		change = Add(change, evaluate.Float64(ReduceAllSum(Mul(gradient, increments[i]))))
	}
	return Where(apply, Abs(change), ZerosLike(change))
}

// counters are sums over all steps so far. Sums, not averages, so that they need no reset and
// survive a restart.
type counters struct {
	loss, gradientNorm, nonFinite, skipped, entropy float64
}

const numCounters = 5

// counters reads the running sums from the device.
func (t *trainer) counters() (counters, error) {
	variable := t.Variables.GetVariableByScopeAndName("/"+trainScope, "sums")
	if variable == nil || !variable.HasValue() {
		return counters{}, nil
	}
	value, err := variable.Value()
	if err != nil {
		return counters{}, err
	}
	sums, err := tensors.CopyFlatData[float64](value)
	if err != nil {
		return counters{}, err
	}
	return counters{sums[0], sums[1], sums[2], sums[3], sums[4]}, nil
}

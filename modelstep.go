package vti

import (
	"math"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/ml/context"

	"github.com/transdim/vti/gradest"
	"github.com/transdim/vti/internal/train"
	"github.com/transdim/vti/modeldist"
)

// networkRate turns the step of q(m) into Adam's on the weights of a network. At a tenth, which
// suits the logits of a table, every candidate changes the entropy by more than the control allows,
// and q(m) stands still until the rate has decayed. Chosen by hand, not tuned.
const networkRate = 0.005

// networkHalvings bounds the candidates for the step of a network q(m), each of which costs an
// evaluation of it: the last is a 64th of the first. Chosen by hand, not tuned.
const networkHalvings = 6

// updateModels takes the step on q(m) along gradients of its variables and returns the entropy of
// q(m) before the step, in nats. codes [B,S] are this step's draws, logModel [B] their log q(m),
// step counts from 1, and rate is that of the step. q(m) stays as it is while the target is
// tempered, that is while power is below 1, and where apply (a scalar bool) is false.
func (t *trainer) updateModels(ctx *Context, variables []*context.Variable, gradients []*Node, codes, logModel, step, power, rate, apply *Node) *Node {
	g := step.Graph()
	cfg := &t.config
	control := gradest.InformationGain{Epsilon: cfg.InformationGain, Halvings: networkHalvings}
	trained := toFloat64(GreaterOrEqual(power, OnesLike(power)))
	rate = Mul(trained, rate)
	scale := ScalarOne(g, dtypes.Float64)

	if table, ok := cfg.Models.(*modeldist.Categorical); ok {
		control.Halvings = gradest.DefaultHalvings
		logits := table.Variable(ctx)
		increment := tableStep(table.LogProbs(ctx, g), gradients[0], rate, cfg.Batch)
		increment = Where(apply, increment, ZerosLike(increment))
		entropy := table.Entropy(ctx, g)
		if !math.IsInf(cfg.InformationGain, 1) {
			scale = control.Categorical(table.Logits(ctx, g), increment)
		}
		logits.SetValueGraph(gradest.Advance(logits.ValueGraph(g), increment, scale))
		return entropy
	}

	entropy := Neg(ReduceAllMean(logModel))
	if learner, ok := cfg.Models.(*modeldist.Surrogate); ok {
		entropy = learner.Entropy(ctx, g)
	}
	if len(variables) == 0 { // a fixed q(m), or one that learns by itself
		return entropy
	}
	// Adam's moments gather while the rate is still zero, so that the first step that counts is of
	// the right size.
	clipped := train.ClipByNorm(gradients, train.GlobalNorm(gradients), cfg.ClipNorm)
	increments := train.Adam{}.Increments(ctx, adamScope, variables, clipped, MulScalar(rate, networkRate), step, apply)
	if !math.IsInf(cfg.InformationGain, 1) {
		scale = control.Network(variables, increments, func() *Node { return toFloat64(cfg.Models.LogProb(ctx, codes)) })
	}
	for i, variable := range variables {
		value := variable.ValueGraph(g)
		variable.SetValueGraph(gradest.Advance(value, increments[i], ConvertDType(scale, value.DType())))
	}
	return entropy
}

// tableStep is the step on the logits of a table: against the gradient, divided by q(m) + 1/B.
// Dividing by q(m) alone would give the natural gradient, under which every logit approaches its
// optimum at the same rate, however improbable its model; the 1/B bounds what a single draw of a
// rare model can do. logProbs and gradient [M]. The scaling does not depend on the draws, so the
// fixed points are those of the plain gradient.
func tableStep(logProbs, gradient, rate *Node, batch int) *Node {
	return Neg(Mul(rate, Div(gradient, AddScalar(Exp(logProbs), 1/float64(batch)))))
}

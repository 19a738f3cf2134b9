package vti

import (
	"math"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/ml/context"

	"github.com/transdim/vti/gradest"
	"github.com/transdim/vti/internal/evaluate"
	"github.com/transdim/vti/internal/train"
	"github.com/transdim/vti/modeldist"
)

// networkRate is the learning rate of Adam for the weights of a network q(m), divided by the
// learning rate of q(m). With a value of 0.1, which suits the logits of a table, a step changes the
// entropy of q(m) by more than the limit even after all halvings, and q(m) does not move until the
// rate has decayed. Half and twice this rate give the same answers (docs/benchmarks/constants.md).
const networkRate = 0.005

// networkHalvings is the number of times that a step of a network q(m) may be halved to respect the
// limit on the information gain, so that the smallest step is a 64th of the first one. Each halving
// costs an evaluation of the network. Half and twice this number give the same answers
// (docs/benchmarks/constants.md).
const networkHalvings = 6

// modelUpdate holds the inputs of a training step on q(m).
type modelUpdate struct {
	variables []*context.Variable // variables of q(m)
	gradients []*Node             // gradients of the loss with respect to the variables
	codes     *Node               // draws of this step [B,S]
	logModel  *Node               // log q(m) of the draws [B]
	step      *Node               // number of the step, from 1
	rate      *Node               // learning rate of the step; 0 while q(m) must not change
	apply     *Node               // scalar bool: whether the step changes q(m)
}

// updateModels takes the step on q(m) and returns the entropy of q(m) before the step, in nats.
func (t *trainer) updateModels(ctx *Context, update modelUpdate) *Node {
	if table, ok := t.config.Models.(*modeldist.Categorical); ok {
		return t.updateTable(ctx, table, update)
	}
	entropy := Neg(ReduceAllMean(update.logModel))
	if learner, ok := t.config.Models.(*modeldist.Surrogate); ok {
		entropy = learner.Entropy(ctx, update.step.Graph())
	}
	if len(update.variables) > 0 { // otherwise q(m) is fixed or a Learner
		t.updateNetwork(ctx, update)
	}
	return entropy
}

// updateTable takes the step on the logits of a table and returns the entropy of q(m) before the
// step.
func (t *trainer) updateTable(ctx *Context, table *modeldist.Categorical, update modelUpdate) *Node {
	g := update.step.Graph()
	scale := ScalarOne(g, dtypes.Float64)
	logits := table.Variable(ctx)
	increment := tableStep(table.LogProbs(ctx, g), update.gradients[0], update.rate, t.config.Batch)
	increment = Where(update.apply, increment, ZerosLike(increment))
	entropy := table.Entropy(ctx, g)
	if !math.IsInf(t.config.InformationGain, 1) {
		control := gradest.InformationGain{Epsilon: t.config.InformationGain, Halvings: gradest.DefaultHalvings}
		scale = control.Categorical(table.Logits(ctx, g), increment)
	}
	logits.SetValueGraph(gradest.Advance(logits.ValueGraph(g), increment, scale))
	return entropy
}

// updateNetwork takes the step on the weights of a network. While the rate is still zero it only
// updates the moments of Adam, so that the first step that changes weights has the right size.
func (t *trainer) updateNetwork(ctx *Context, update modelUpdate) {
	g := update.step.Graph()
	scale := ScalarOne(g, dtypes.Float64)
	clipped := train.ClipByNorm(update.gradients, train.GlobalNorm(update.gradients), t.config.ClipNorm)
	increments := train.Adam{}.Increments(ctx, adamScope, update.variables, clipped, MulScalar(update.rate, networkRate), update.step, update.apply)
	if !math.IsInf(t.config.InformationGain, 1) {
		control := gradest.InformationGain{Epsilon: t.config.InformationGain, Halvings: networkHalvings}
		scale = control.Network(update.variables, increments, func() *Node { return t.logModels(ctx, update.codes) })
	}
	for i, variable := range update.variables {
		value := variable.ValueGraph(g)
		variable.SetValueGraph(gradest.Advance(value, increments[i], ConvertDType(scale, value.DType())))
	}
}

// logModels returns log q(m) of models, each a row of codes or, for GroupedModels, several rows.
func (t *trainer) logModels(ctx *Context, codes *Node) *Node {
	logProb := evaluate.Float64(t.config.Models.LogProb(ctx, codes))
	if grouped, ok := t.config.Models.(GroupedModels); ok {
		return ReduceSum(Reshape(logProb, -1, grouped.Rows()), 1)
	}
	return logProb
}

// tableStep returns the step on the logits of a table: the negative gradient, divided by q(m) + 1/B
// and multiplied by rate, where B is the number of draws in a batch. Division by q(m) alone would
// give the natural gradient, under which every logit approaches its optimum at the same rate,
// however improbable its model. The term 1/B bounds the effect of a single draw of a rare model.
// logProbs and gradient hold a number for each model. The scaling does not depend on the draws, so
// that the expected step is zero at the same points as the expected gradient.
func tableStep(logProbs, gradient, rate *Node, batch int) *Node {
	return Neg(Mul(rate, Div(gradient, AddScalar(Exp(logProbs), 1/float64(batch)))))
}

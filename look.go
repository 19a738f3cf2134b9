package vti

import (
	gocontext "context"
	"fmt"
	"math"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/gomlx/gomlx/pkg/ml/context"

	"github.com/transdim/vti/internal/psis"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/internal/train"
	"github.com/transdim/vti/modeldist"
	"github.com/transdim/vti/space"
)

// maxListed is the largest space whose models are looked at one by one, in training and by default
// in certification.
const maxListed = 1 << 16

// lookStep is the step after which q(m) is set by a look at every model: when tempering ends, or at
// the start.
func (t *trainer) lookStep() int {
	return int(math.Ceil(t.posterior.config.Tempering * float64(t.posterior.config.Steps)))
}

// look takes the look at the models that is due now. One that is stopped, or fails, leaves q(m) in
// between: the state to continue from is that before it.
func (t *trainer) look(ctx gocontext.Context) error {
	if t.posterior.step > 0 {
		if err := t.save(); err != nil {
			return err
		}
	}
	return t.lookAtModels(ctx)
}

// lookAtModels sets a table q(m) to p(m) times the evidences that importance weighting finds with
// the flow as it is now. Score-function gradients only move the logits of models that are drawn;
// from the prior over thousands of models they settle on whichever good models came first. From
// here they only have to follow the flow. A network instead learns the models of short tempered
// chains (learnFromChains). Tables that are too large to look at, and lists, which start from what
// is known of their items, keep q(m) as it is.
func (t *trainer) lookAtModels(ctx gocontext.Context) error {
	p := t.posterior
	if p.config.FromPrior {
		return nil
	}
	if _, ok := p.config.Models.(*modeldist.Autoregressive); ok {
		return t.learnFromChains(ctx)
	}
	table, ok := p.config.Models.(*modeldist.Categorical)
	count, countable := space.Count(p.target.Space())
	if !ok || !countable || count > maxListed {
		return nil
	}
	models := listModels(p.target.Space())
	logPrior, err := p.logPriorOf(models)
	if err != nil {
		return err
	}
	if _, err := p.logModel(models); err != nil { // creates the table's variable
		return err
	}
	w := newWeigher(ctx, p, models, "look")
	if err := w.weigh(firstLook(logPrior), false); err != nil {
		return err
	}
	logits := make([]float64, count)
	largest := math.Inf(-1)
	for i, own := range w.tallies {
		logits[i] = math.Inf(-1)
		if len(own.logWeights) > 0 {
			logits[i] = logPrior[i] + psis.Smooth(own.logWeights).LogMean
		}
		largest = math.Max(largest, logits[i])
	}
	if math.IsInf(largest, 0) {
		return nil // not a single finite weight: nothing was learnt
	}
	for i := range logits {
		if !math.IsInf(logPrior[i], -1) { // a model without weight is improbable, not impossible
			logits[i] = math.Max(logits[i]-largest, -lookRange)
		}
	}
	return table.Variable(p.variables.In(modelScope)).SetValue(tensors.FromFlatDataAndDimensions(logits, count))
}

// lookRange bounds how far below the best model, in nats, a first look can put a model.
const lookRange = 50

// First look at every model: between leastLook and mostLook draws, about lookBudget in all.
const (
	leastLook  = 32
	mostLook   = 256
	lookBudget = 1 << 18
)

// firstLook allots the draws of a first look: as many to every model, none to those that the prior
// excludes.
func firstLook(logPrior []float64) []int {
	allocation := make([]int, len(logPrior))
	for i, prior := range logPrior {
		if !math.IsInf(prior, -1) {
			allocation[i] = min(max(lookBudget/len(logPrior), leastLook), mostLook)
		}
	}
	return allocation
}

// listModels lists every model of a space in the order of its index.
func listModels(sp space.Space) []ModelEstimate {
	count, _ := space.Count(sp)
	models := make([]ModelEstimate, 0, count)
	for _, code := range space.All(sp.Cards()) {
		models = append(models, ModelEstimate{Code: append([]int32(nil), code...)})
	}
	return models
}

// Steps and rate of the fit to the models of chains. The share lookBlur of them have one random
// site drawn anew: what short chains did not see must not become improbable, because training takes
// probability away much faster than it gives it back.
const (
	lookSteps = 300
	lookRate  = 0.01
	lookBlur  = 0.1
)

// learnFromChains fits a network q(m) by maximum likelihood to the models of short tempered chains
// (certify_chains.go). Where score-function gradients settle on the models they happen to draw,
// this covers all that the chains found. It is a start: training goes on from here, and
// certification corrects.
func (t *trainer) learnFromChains(ctx gocontext.Context) error {
	p := t.posterior
	chains, err := p.lookByChains(ctx)
	if err != nil {
		return err
	}
	exec, err := context.NewExec(p.device.Backend(), p.variables, func(ctx *Context, codes, step *Node) *Node {
		loss := Neg(train.FiniteMean(p.config.Models.LogProb(ctx.In(modelScope), codes)))
		variables := train.VariablesIn(ctx, modelScope, codes.Graph())
		gradients := Gradient(loss, train.ValuesOf(codes.Graph(), variables)...)
		apply := IsFinite(train.GlobalNorm(gradients))
		for i, increment := range (train.Adam{}).Increments(ctx, lookScope, variables, gradients, train.LearningRate(step, lookRate, lookSteps), step, apply) {
			variables[i].SetValueGraph(Add(variables[i].ValueGraph(codes.Graph()), increment))
		}
		return loss
	})
	if err != nil {
		return err
	}
	cards, batch := p.target.Space().Cards(), p.config.Batch
	sites := len(cards)
	codes, random := make([]int32, batch*sites), stream.Rand(p.config.Seed, "look/fit")
	for step := range lookSteps {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("the look at models stopped after %d of %d steps: %w", step, lookSteps, err)
		}
		for row := range batch {
			code := codes[row*sites : (row+1)*sites]
			copy(code, chains.pick(random))
			if random.Float64() < lookBlur {
				site := random.IntN(sites)
				code[site] = int32(random.IntN(cards[site]))
			}
		}
		if _, err := train.Call(func() ([]*tensors.Tensor, error) {
			return exec.Exec(tensors.FromFlatDataAndDimensions(codes, batch, sites), float64(step+1))
		}); err != nil {
			return err
		}
	}
	return p.variables.InAbsPath("/" + lookScope).DeleteVariablesInScope()
}

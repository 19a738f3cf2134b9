package vti

import (
	gocontext "context"
	"math"

	"github.com/gomlx/gomlx/pkg/core/tensors"

	"github.com/transdim/vti/internal/psis"
	"github.com/transdim/vti/modeldist"
	"github.com/transdim/vti/space"
)

// maxListed is the largest space whose models are looked at one by one, in training and by default in certification.
const maxListed = 1 << 16

// lookStep is the step after which q(m) is set by a look at every model: when tempering ends, or at the start.
func (t *trainer) lookStep() int {
	return int(math.Ceil(t.posterior.config.Tempering * float64(t.posterior.config.Steps)))
}

// lookAtModels sets a table q(m) to p(m) times the evidences that importance weighting finds with the flow as it is now. Score-function gradients
// only move the logits of models that are drawn; from the prior over thousands of models they settle on whichever good models came
// first. From here they only have to follow the flow. Spaces that are not a table, or too large, keep q(m) as it is.
func (t *trainer) lookAtModels(ctx gocontext.Context) error {
	p := t.posterior
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

// firstLook allots the draws of a first look: as many to every model, none to those that the prior excludes.
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

package vti

import (
	"encoding/json"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/gomlx/gomlx/pkg/ml/context"

	"github.com/transdim/vti/internal/checkpoint"
	"github.com/transdim/vti/modeldist"
)

// Scopes of the variables that only training needs.
const (
	trainScope = "train"
	adamScope  = "adam" // holds the scopes of what it moves
	// controlScope is the path of the surrogate of a control variate.
	controlScope = "/" + trainScope + "/control"
)

// trainer takes the steps of a fit.
type trainer struct {
	*evaluator
	config   Config               // defaults filled in
	settings json.RawMessage      // of the checkpoint
	step     int                  // steps taken
	round    round                // in which the next one is taken
	schedule *checkpoint.Schedule // of checkpoints by time; nil without them

	plan any // what its checkpoints hold in addition to the variables: that of Solve, nil in Fit

	exec       *context.Exec        // one step
	several    *context.Exec        // Config.StepsPerLaunch steps; nil if that is one
	control    *modeldist.Surrogate // of the control variate, if it is SurrogateMean
	tablePrior []float64            // log p of every model, then
	anchored   bool                 // the flow starts at a mode that newTrainer found
}

// beginRound makes it the round in which the next steps are taken. Where a round begins and how
// long it is are a variable of the graph of a step, so that one graph serves all rounds.
func (t *trainer) beginRound(k int) error {
	t.round = t.config.roundAt(k)
	values := []float64{float64(t.round.first), float64(t.round.last - t.round.first), float64(t.round.warmUp)}
	return t.roundVariable(t.Variables).SetValue(tensors.FromValue(values))
}

// roundVariable holds the steps before a round, its length and its warm-up.
func (t *trainer) roundVariable(ctx *Context) *context.Variable {
	return ctx.InAbsPath("/"+trainScope).VariableWithValue("round", make([]float64, 3)).SetTrainable(false)
}

// scheduleOf is that of a step, counted from 1 over all rounds.
func (t *trainer) scheduleOf(ctx *Context, step *Node) schedule {
	values := t.roundVariable(ctx).ValueGraph(step.Graph())
	at := func(i int) *Node { return Reshape(SliceAxis(values, 0, AxisElem(i))) }
	return schedule{Sub(step, at(0)), at(1), at(2)}
}

// pilotStep is that of the round.
func (t *trainer) pilotStep() int { return t.round.pilotStep(t.config.Tempering) }

// reportAfter reports whether a report is due after a step.
func (t *trainer) reportAfter(step int) bool {
	return step == 1 || step == t.round.last || step%t.config.LogEvery == 0
}

// saveAfter reports whether a checkpoint is due after a step, whatever the time.
func (t *trainer) saveAfter(step int) bool {
	return step == t.round.last || step%t.config.CheckpointEvery == 0
}

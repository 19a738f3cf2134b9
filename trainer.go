package vti

import (
	"encoding/json"
	"math"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/gomlx/gomlx/pkg/ml/context"

	"github.com/transdim/vti/internal/checkpoint"
	"github.com/transdim/vti/internal/train"
	"github.com/transdim/vti/modeldist"
)

// Scopes of the variables that only training needs.
const (
	trainScope = "train"
	adamScope  = "adam" // holds a scope for the moments of each group of variables
	// controlScope is the path of the surrogate of a control variate.
	controlScope = "/" + trainScope + "/control"
)

// trainer is the state of a fit.
type trainer struct {
	*evaluator
	config   Config               // defaults filled in
	settings json.RawMessage      // the fields that a resumed run must share, as stored in checkpoints
	step     int                  // steps taken
	round    round                // the round of the next step
	schedule *checkpoint.Schedule // schedule of checkpoints by time; nil without them

	plan any // stored in checkpoints with the variables: the plan of Solve; nil in Fit

	exec       *context.Exec        // one step
	several    *context.Exec        // Config.StepsPerLaunch steps; nil if there is one step in a launch
	control    *modeldist.Surrogate // surrogate of the control variate SurrogateMean; otherwise nil
	tablePrior []float64            // log p(m) of every model, for SurrogateMean
	anchored   bool                 // whether the flow starts from the normal approximation at a mode that newTrainer found
}

// beginRound sets the round of the next steps. The start and the length of a round are variables of
// the step's graph, so that one graph serves all rounds.
func (t *trainer) beginRound(k int) error {
	t.round = t.config.roundAt(k)
	values := []float64{float64(t.round.first), float64(t.round.last - t.round.first), float64(t.round.warmUp)}
	return t.roundVariable(t.Variables).SetValue(tensors.FromValue(values))
}

// roundVariable returns the variable that holds the number of steps before a round, the length of
// the round and the length of its warm-up.
func (t *trainer) roundVariable(ctx *Context) *context.Variable {
	return ctx.InAbsPath("/"+trainScope).VariableWithValue("round", make([]float64, 3)).SetTrainable(false)
}

// scheduleOf returns the schedule of a step, counted from 1 over all rounds.
func (t *trainer) scheduleOf(ctx *Context, step *Node) schedule {
	values := t.roundVariable(ctx).ValueGraph(step.Graph())
	element := func(i int) *Node { return Reshape(SliceAxis(values, 0, AxisElem(i))) }
	return schedule{Sub(step, element(0)), element(1), element(2)}
}

func (t *trainer) pilotStep() int { return t.round.pilotStep(t.config.Tempering) }

// reportAfter reports whether a report is due after a step.
func (t *trainer) reportAfter(step int) bool {
	return step == 1 || step == t.round.last || step%t.config.LogEvery == 0
}

// saveAfter reports whether a checkpoint is due after a step by the number of steps.
func (t *trainer) saveAfter(step int) bool {
	return step == t.round.last || step%t.config.CheckpointEvery == 0
}

// round is a part of training with one cycle of the learning rate and, if any, of tempering.
type round struct {
	// first is the number of steps before the round, and last the number of steps at its end.
	first, last int
	// warmUp is the number of steps over which the learning rate rises.
	warmUp int
}

// roundAt returns round k, counted from 0. Without FirstRound there is one round of all steps. With
// FirstRound each round is twice as long as the round before (warm restarts, Loshchilov and Hutter
// 2017). In a short round the warm-up takes a fifth of the steps.
func (c *Config) roundAt(k int) round {
	if c.FirstRound == 0 {
		return round{0, c.Steps, train.WarmUpSteps}
	}
	length := c.FirstRound << k
	first := length - c.FirstRound
	return round{first, min(first+length, c.Steps), max(1, min(train.WarmUpSteps, length/5))}
}

// roundAfter returns the number of the round that follows the given number of steps.
func (c *Config) roundAfter(steps int) int {
	k := 0
	for c.roundAt(k).last <= steps && c.roundAt(k).last < c.Steps {
		k++
	}
	return k
}

// pilotStep returns the number of steps before the pilot run, which follows tempering or, without
// tempering, comes first in the round.
func (r round) pilotStep(tempering float64) int {
	return r.first + int(math.Ceil(tempering*float64(r.last-r.first)))
}

// schedule holds, as scalars of the graph, the number of a step within its round, the length of the
// round and the length of its warm-up.
type schedule struct{ step, steps, warmUp *Node }

// rate returns the learning rate of the step. The argument largest is the rate after the warm-up.
func (s schedule) rate(largest float64) *Node {
	return train.RoundRate(s.step, largest, s.steps, s.warmUp)
}

// coldestPower is the power of the target at the first step of tempering: 0.1 widens a normal mode
// threefold. Half and twice this value give the same answers (docs/benchmarks/constants.md).
const coldestPower = 0.1

// power returns the power of the target, which rises linearly to 1 over the share tempering of the
// round.
func (s schedule) power(tempering float64) *Node {
	if tempering == 0 {
		return OnesLike(s.step)
	}
	rise := Div(MulScalar(s.step, (1-coldestPower)/tempering), s.steps)
	return MinScalar(AddScalar(rise, coldestPower), 1)
}

// annealed returns the power of the evidences that q(m) follows at the step. It rises to 1 over the
// given share of the round, as the cube of the number of steps, since log evidences differ by
// hundreds of nats.
func (s schedule) annealed(share float64) *Node {
	if share == 0 {
		return OnesLike(s.step)
	}
	return PowScalar(MinScalar(Div(MulScalar(s.step, 1/share), s.steps), 1), 3)
}

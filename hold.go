package vti

import (
	"math"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"

	"github.com/transdim/vti/internal/evaluate"
	"github.com/transdim/vti/internal/train"
)

// A flow that has hardly moved says little of the evidences of models. Whichever models are drawn
// more often by then are fitted first, their losses fall below those of the others, and q(m) draws
// them more often still, until it draws nothing else. So a q(m) that begins at the prior is held
// there until the losses of models have stopped falling together: until their mean over the latest
// half of the training so far is within settledFall of the mean over the half before. While q(m)
// stands still, both are means over the same models.
const (
	// settledFall, in nats, is a change of the odds of a model by a factor of e, which q(m) can
	// make good. Chosen by hand; 0.3 and 3 gave the same (docs/benchmarks/model-distributions.md).
	settledFall = 1
	// longestHold is the share of the steps after which q(m) learns in any case, so that half of
	// them are left. Chosen by hand, not tuned.
	longestHold = 0.5
	// firstHalf is the number of steps to which the first comparison refers: few more than those
	// over which the learning rate rises. Chosen by hand, not tuned.
	firstHalf = 64
)

// holds reports whether q(m) waits for the flow: where the flow begins as the identity, and where
// q(m) learns by itself, for which there is no pilot run. On a tempered target it waits anyway.
func (c *Config) holds() bool {
	_, learner := c.Models.(Learner)
	return !c.LearnAtOnce && c.Tempering == 0 && (c.Start == IdentityStart || learner)
}

// released reports whether q(m) may learn from this step, a scalar bool: logH [B] are the losses of
// its draws. Once it may, it always may.
func (t *trainer) released(ctx *Context, logH, step *Node, now schedule) *Node {
	g := step.Graph()
	if !t.config.holds() {
		return Const(g, true)
	}
	// The step with which the half ends, sum and number of the mean losses in it, the mean of the
	// half before, and whether q(m) was released.
	variable := ctx.InAbsPath("/"+trainScope).VariableWithValue("hold", []float64{firstHalf, 0, 0, math.MaxFloat64, 0}).SetTrainable(false)
	state := variable.ValueGraph(g)
	at := func(i int) *Node { return Reshape(SliceAxis(state, 0, AxisElem(i))) }
	end, before, open := at(0), at(3), GreaterThan(at(4), ScalarZero(g, dtypes.Float64))

	loss := train.FiniteMean(logH)
	finite := IsFinite(loss)
	sum := Add(at(1), Where(finite, loss, ZerosLike(loss)))
	count := Add(at(2), evaluate.Float64(finite))
	mean := Div(sum, MaxScalar(count, 1))
	ended := GreaterOrEqual(step, end)
	settled := LessThan(Abs(Sub(before, mean)), Scalar(g, dtypes.Float64, settledFall))
	late := GreaterOrEqual(now.step, MulScalar(now.steps, longestHold))
	open = LogicalOr(open, LogicalOr(late, LogicalAnd(ended, settled)))

	zero := ScalarZero(g, dtypes.Float64)
	variable.SetValueGraph(Stack([]*Node{
		Where(ended, MulScalar(end, 2), end), Where(ended, zero, sum), Where(ended, zero, count), Where(ended, mean, before), evaluate.Float64(open),
	}, 0))
	return open
}

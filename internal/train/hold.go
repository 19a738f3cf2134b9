package train

import (
	"math"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/ml/context"
)

// A flow after little training is a poor estimate of the evidences of models. The models drawn most
// often by then are fitted first, their losses fall below the losses of the others, and q(m) draws
// them more often still, until it draws nothing else. So a q(m) that begins at the prior is held
// there until the losses of models have stopped falling together: until their mean over the latest
// half of the training so far is within settledFall of the mean over the half before. While q(m)
// stands still, both are means over the same models.
const (
	// settledFall, in nats, is a change of the odds of a model by a factor of e, which q(m) can
	// correct. 0.3 and 3 gave the same (docs/benchmarks/model-distributions.md).
	settledFall = 1
	// longestHold is the share of the steps after which q(m) learns in any case, so that half of
	// them are left. With 0.25, the errors of three improbable models of one table are 1.0 to 1.2
	// nats instead of 0.05 to 0.2, and 0.75 gives the same answers as 0.5
	// (docs/benchmarks/constants.md).
	longestHold = 0.5
	// firstHalf is the number of steps to which the first comparison refers: little more than the
	// steps over which the learning rate rises. Half and twice give the same answers
	// (docs/benchmarks/constants.md).
	firstHalf = 64
)

// Released reports, as a scalar bool, whether q(m) may learn from this step on. losses [B] are the
// losses of its draws. step and steps are scalars; the first step is 1. Once the result is true, it
// stays true. Its state is a variable of ctx.
func Released(ctx *context.Context, losses, step, steps *Node) *Node {
	g := step.Graph()
	// The variable holds the step at which the present half ends, the sum and the number of the
	// mean losses in it, the mean of the half before, and whether q(m) was released.
	variable := ctx.VariableWithValue("hold", []float64{firstHalf, 0, 0, math.MaxFloat64, 0}).SetTrainable(false)
	state := variable.ValueGraph(g)
	element := func(i int) *Node { return Reshape(SliceAxis(state, 0, AxisElem(i))) }
	end, before, open := element(0), element(3), GreaterThan(element(4), ScalarZero(g, dtypes.Float64))

	loss := FiniteMean(losses)
	finite := IsFinite(loss)
	sum := Add(element(1), Where(finite, loss, ZerosLike(loss)))
	count := Add(element(2), ConvertDType(finite, dtypes.Float64))
	mean := Div(sum, MaxScalar(count, 1))
	ended := GreaterOrEqual(step, end)
	settled := LessThan(Abs(Sub(before, mean)), Scalar(g, dtypes.Float64, settledFall))
	late := GreaterOrEqual(step, MulScalar(steps, longestHold))
	open = LogicalOr(open, LogicalOr(late, LogicalAnd(ended, settled)))

	zero := ScalarZero(g, dtypes.Float64)
	variable.SetValueGraph(Stack([]*Node{
		Where(ended, MulScalar(end, 2), end), Where(ended, zero, sum), Where(ended, zero, count), Where(ended, mean, before), ConvertDType(open, dtypes.Float64),
	}, 0))
	return open
}

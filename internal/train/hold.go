package train

import (
	"math"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/ml/context"
)

// After little training, losses of models say little about their evidences. Models that are drawn
// often are fitted first and have smaller losses. If q(m) learned from these losses, it would draw
// such models more and more often, until it drew no other models. Therefore q(m) stays at the prior
// until losses have settled. The training is divided into stretches, each as long as all stretches
// before it. Losses have settled if their means over two successive stretches differ by less than
// settledFall.
const (
	// settledFall is a difference of mean losses in nats. One nat changes the odds of a model by a
	// factor of e, which q(m) can correct. 0.3 and 3 gave the same answers
	// (docs/benchmarks/model-distributions.md).
	settledFall = 1
	// longestHold is the share of the steps after which q(m) learns in any case. With 0.25, the
	// errors of three improbable models of one table are 1.0 to 1.2 nats instead of 0.05 to 0.2,
	// and 0.75 gives the same answers as 0.5 (docs/benchmarks/constants.md).
	longestHold = 0.5
	// firstHalf is the number of steps of the first stretch, a little more than the steps over
	// which the learning rate rises. Half and twice give the same answers
	// (docs/benchmarks/constants.md).
	firstHalf = 64
)

// Released reports, as a scalar bool, whether q(m) may learn from this step on. The argument losses
// [B] holds the losses of its draws. The scalar step is the number of the step, from 1, and steps
// the number of all steps. Once the result is true, it stays true. The state is a variable of ctx.
func Released(ctx *context.Context, losses, step, steps *Node) *Node {
	g := step.Graph()
	// The variable holds the step at which the present stretch ends, the sum and the number of the
	// mean losses in it, the mean over the stretch before, and whether q(m) was released.
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

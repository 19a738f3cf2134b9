package gradest_test

import (
	"math"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/ml/context"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/gradest"
	"github.com/transdim/vti/lab/testkit"
)

// These are the logits and losses of an example q(m) over three models, and the gradient of its
// expected loss ∑ q(m) (l(m) + log q(m)) with respect to the logits, worked out by hand.
var (
	toyLogits = []float64{0.3, -1, 0.5}
	toyLosses = []float64{2, -1, 7}
)

func toyGradient() (value float64, gradient []float64) {
	probs := softmax(toyLogits)
	for m, p := range probs {
		value += p * (toyLosses[m] + math.Log(p))
	}
	gradient = make([]float64, len(probs))
	for m, p := range probs {
		gradient[m] = p * (toyLosses[m] + math.Log(p) - value)
	}
	return value, gradient
}

type baseline func(loss *graph.Node) *graph.Node

// toyEstimates evaluates the score-function estimator on each of N batches of B models, batches [N,
// B], and returns the value and gradient for each batch.
func toyEstimates(t testing.TB, batches [][]int32, control baseline) (values []float64, gradients [][]float64) {
	t.Helper()
	exec, err := context.NewExec(testkit.Backend(t), context.New(), func(_ *context.Context, models *graph.Node) []*graph.Node {
		g := models.Graph()
		logits := graph.Const(g, toyLogits)
		table := graph.LogSoftmax(logits)
		index := graph.InsertAxes(models, -1)
		logQ := graph.Gather(table, index)
		loss := graph.Add(graph.Gather(graph.Const(g, toyLosses), index), logQ)
		surrogate, nonFinite := gradest.ScoreFunction(loss, control(loss), logQ)
		return []*graph.Node{surrogate, graph.Gradient(surrogate, logits)[0], nonFinite}
	})
	require.NoError(t, err)
	for _, batch := range batches {
		out, err := exec.Exec(batch)
		require.NoError(t, err)
		values = append(values, out[0].Value().(float64))
		gradients = append(gradients, out[1].Value().([]float64))
		require.Zero(t, out[2].Value())
	}
	return values, gradients
}

// allBatches returns every possible batch of the three models, with its probability under q.
func allBatches() (batches [][]int32, probs []float64) {
	q := softmax(toyLogits)
	for a := range q {
		for b := range q {
			for c := range q {
				batches = append(batches, []int32{int32(a), int32(b), int32(c)})
				probs = append(probs, q[a]*q[b]*q[c])
			}
		}
	}
	return batches, probs
}

// expectedGradient returns the exact expectation of the estimator: its mean over all possible
// batches, weighted by their probabilities.
func expectedGradient(t testing.TB, control baseline) (value float64, gradient []float64) {
	t.Helper()
	batches, probs := allBatches()
	values, gradients := toyEstimates(t, batches, control)
	gradient = make([]float64, len(toyLogits))
	for n, p := range probs {
		value += p * values[n]
		for m := range gradient {
			gradient[m] += p * gradients[n][m]
		}
	}
	return value, gradient
}

func none(loss *graph.Node) *graph.Node { return graph.ScalarZero(loss.Graph(), loss.DType()) }

// TestScoreFunctionIsUnbiased checks that the expectation over all batches is the gradient of the
// expected loss, to rounding.
func TestScoreFunctionIsUnbiased(t *testing.T) {
	wantValue, wantGradient := toyGradient()
	for name, control := range map[string]baseline{
		"none":          none,
		"constant":      func(loss *graph.Node) *graph.Node { return graph.ConstAs(loss, 12.5) },
		"leave one out": gradest.LeaveOneOut,
	} {
		t.Run(name, func(t *testing.T) {
			value, gradient := expectedGradient(t, control)
			require.InDelta(t, wantValue, value, 1e-12)
			require.InDeltaSlice(t, wantGradient, gradient, 1e-12)
		})
	}
}

// TestBiasedBaselinesAreDetected checks that the expected gradient is wrong if the baseline of a
// draw contains the loss of this draw.
func TestBiasedBaselinesAreDetected(t *testing.T) {
	_, wantGradient := toyGradient()
	for name, control := range map[string]baseline{
		"batch mean": func(loss *graph.Node) *graph.Node { return graph.ReduceAllMean(loss) },
		"leave one out, own loss at half weight": func(loss *graph.Node) *graph.Node {
			return graph.Add(graph.MulScalar(gradest.LeaveOneOut(loss), 0.5), graph.MulScalar(loss, 0.5))
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, gradient := expectedGradient(t, control)
			worst := 0.0
			for m := range gradient {
				worst = max(worst, math.Abs(gradient[m]-wantGradient[m]))
			}
			require.Greater(t, worst, 0.1)
		})
	}
}

// TestLeaveOneOutReducesVariance checks that the leave-one-out baseline greatly reduces the
// variance of the gradient.
func TestLeaveOneOutReducesVariance(t *testing.T) {
	batches, probs := allBatches()
	variance := func(control baseline) (total float64) {
		_, mean := expectedGradient(t, control)
		_, gradients := toyEstimates(t, batches, control)
		for n, p := range probs {
			for m := range mean {
				total += p * (gradients[n][m] - mean[m]) * (gradients[n][m] - mean[m])
			}
		}
		return total
	}
	// The constant baseline −30 has the effect of losses that are far from zero, without a
	// baseline.
	raised := func(loss *graph.Node) *graph.Node { return graph.ConstAs(loss, -30) }
	require.Less(t, variance(gradest.LeaveOneOut), 0.1*variance(raised))
}

func TestScoreFunctionLeavesOutNonFinite(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	estimate := func(_ *context.Context, loss, baseline, logits *graph.Node) []*graph.Node {
		surrogate, nonFinite := gradest.ScoreFunction(loss, baseline, graph.MulScalar(logits, 2))
		return []*graph.Node{surrogate, graph.Gradient(surrogate, logits)[0], nonFinite}
	}
	// ∂ log q_b / ∂ logits_b is 2, so the gradient is 2 (loss − baseline) / (finite rows).
	out := run(t, context.New(), estimate,
		[]float64{1, nan, 4, inf, -inf, 7, 5}, []float64{0, 0, 1, 0, 0, nan, 0}, []float64{-1, -1, -1, -1, -1, -1, -inf})
	require.Equal(t, []any{2.5, []float64{1, 0, 3, 0, 0, 0, 0}, int32(5)}, out)

	out = run(t, context.New(), estimate, []float64{nan, inf}, []float64{0, 0}, []float64{-1, -1})
	require.True(t, math.IsNaN(out[0].(float64)), "no estimate is left")
	require.Equal(t, []any{[]float64{0, 0}, int32(2)}, out[1:])
}

// TestScoreFunctionMixedTypes checks the estimate for float32 losses of a flow together with
// float64 log probabilities of a table. Its type is float64, and no gradient passes to the losses.
func TestScoreFunctionMixedTypes(t *testing.T) {
	out := run(t, context.New(), func(_ *context.Context, loss, logQ *graph.Node) []*graph.Node {
		surrogate, _ := gradest.ScoreFunction(loss, gradest.LeaveOneOut(loss), logQ)
		require.Equal(t, dtypes.Float64, surrogate.DType())
		return append([]*graph.Node{surrogate}, graph.Gradient(surrogate, loss, logQ)...)
	}, []float32{1, 2, 6}, []float64{-1, -2, -3})
	require.Equal(t, []any{3.0, []float32{0, 0, 0}, []float64{-1, -0.5, 1.5}}, out)
}

func TestScoreFunctionMisuse(t *testing.T) {
	for name, c := range map[string]struct {
		loss, baseline, logQ any
		want                 string
	}{
		"loss":     {[][]float64{{1}}, 0.0, []float64{1}, "want loss to be a vector"},
		"log q":    {[]float64{1, 2}, 0.0, []float64{1}, "want logQ of length 2"},
		"baseline": {[]float64{1, 2}, []float64{1}, []float64{1, 2}, "want baseline of length 2"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := graph.ExecOnce(testkit.Backend(t), func(loss, baseline, logQ *graph.Node) *graph.Node {
				surrogate, _ := gradest.ScoreFunction(loss, baseline, logQ)
				return surrogate
			}, c.loss, c.baseline, c.logQ)
			require.ErrorContains(t, err, c.want)
		})
	}
}

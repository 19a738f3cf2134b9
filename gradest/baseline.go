package gradest

import (
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/ml/context"
)

// LeaveOneOut returns for each row the mean loss of the other rows: [B] -> [B]. Losses that are not
// finite enter no mean. If no other row has a finite loss, the result is 0. Since rows are
// independent draws, the loss of a row is independent of its baseline.
func LeaveOneOut(loss *graph.Node) *graph.Node {
	assertVector("gradest.LeaveOneOut", "loss", loss)
	loss = graph.StopGradient(loss)
	finite := graph.IsFinite(loss)
	kept := graph.Where(finite, loss, graph.ZerosLike(loss))
	one := graph.ConvertDType(finite, loss.DType())
	others := graph.Sub(graph.ReduceAllSum(one), one) // [B]
	return graph.Div(graph.Sub(graph.ReduceAllSum(kept), kept), graph.MaxScalar(others, 1))
}

// Decay is the factor by which each step multiplies the weights of earlier steps in [RunningMean],
// which then averages over about ten steps. The variance of this baseline is 1/19 of the variance
// of a batch's mean, so that gradients vary no more than with [LeaveOneOut]
// (docs/benchmarks/model-distributions.md). With a larger Decay the baseline would follow changes
// of the loss more slowly.
const Decay = 0.9

// RunningMean returns the exponential moving average of past losses as a baseline (appendix D.1 of
// the VTI paper). It starts from zero and is corrected for that start, so that after t batches with
// means l_1 … l_t
//
//	mean_t = ∑ Decay^(t−i) l_i / ∑ Decay^(t−i)
//
// and the baseline for batch t is mean_(t−1), a scalar in the dtype of loss, 0 for the first batch.
// It does not contain batch t, since a baseline that depends on the draws of the batch would bias
// the gradient. The mean of the finite losses [B] of the batch then enters the average, which is a
// variable below the scope of ctx. A batch without a finite loss does not change the average. Call
// RunningMean once for each step.
func RunningMean(ctx *context.Context, loss *graph.Node) *graph.Node {
	assertVector("gradest.RunningMean", "loss", loss)
	// The moment ∑ (1−Decay) Decay^(t−i) l_i and the weight ∑ (1−Decay) Decay^(t−i) = 1 − Decay^t
	// are both updated at each step. Their ratio is the corrected mean.
	scope := ctx.In("running_mean").Checked(false)
	moment := scope.VariableWithValue("moment", 0.0).SetTrainable(false)
	weight := scope.VariableWithValue("weight", 0.0).SetTrainable(false)

	g := loss.Graph()
	values := graph.StopGradient(graph.ConvertDType(loss, dtypes.Float64))
	finite := graph.IsFinite(values)
	count := graph.ReduceAllSum(graph.ConvertDType(finite, dtypes.Float64))
	sum := graph.ReduceAllSum(graph.Where(finite, values, graph.ZerosLike(values)))
	mean := graph.Div(sum, graph.MaxScalar(count, 1))
	update := func(v *context.Variable, value *graph.Node) (before *graph.Node) {
		before = v.ValueGraph(g)
		after := graph.Add(graph.MulScalar(before, Decay), graph.MulScalar(value, 1-Decay))
		v.SetValueGraph(graph.Where(graph.IsPositive(count), after, before))
		return before
	}
	m, w := update(moment, mean), update(weight, graph.ScalarOne(g, dtypes.Float64))
	// Before the first batch the moment and the weight are zero, and the baseline is zero too.
	started := graph.IsPositive(w)
	baseline := graph.Div(m, graph.Where(started, w, graph.ScalarOne(g, dtypes.Float64)))
	return graph.ConvertDType(baseline, loss.DType())
}

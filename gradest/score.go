package gradest

import (
	"fmt"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
)

// ScoreFunction returns a scalar whose value is the mean loss and whose gradient is the estimate
//
//	mean over b of (loss_b − baseline_b) ∇ log q(m_b)
//
// of the gradient of the expected loss (eq. 18 of the VTI paper). loss is [B], logQ is [B] and
// carries the gradient, baseline is [B] or a scalar; the result has the dtype of logQ. No gradient
// flows into loss or baseline. The loss also depends on q(θ|m), whose gradient must be computed
// separately.
//
// A row in which loss, baseline or logQ is not finite is left out of the value and of the gradient,
// and nonFinite, an int32 scalar, counts such rows. If all rows are left out, the value is NaN and
// the gradient zero. The gradient of log q must be finite even in rows that are left out.
//
// The gradient is unbiased if, given which rows are left out, baseline_b is independent of draw b.
func ScoreFunction(loss, baseline, logQ *graph.Node) (surrogate, nonFinite *graph.Node) {
	const where = "gradest.ScoreFunction"
	assertVector(where, "loss", loss)
	batch := loss.Shape().Dim(0)
	assertBatch(where, "logQ", logQ, batch)
	if !baseline.IsScalar() {
		assertBatch(where, "baseline", baseline, batch)
	}
	loss = graph.StopGradient(graph.ConvertDType(loss, logQ.DType()))
	baseline = graph.StopGradient(graph.ConvertDType(baseline, logQ.DType()))

	value := graph.StopGradient(logQ)
	advantage := graph.Sub(loss, baseline)
	finite := graph.LogicalAnd(graph.IsFinite(advantage), graph.IsFinite(value))
	count := graph.ReduceAllSum(graph.ConvertDType(finite, logQ.DType()))
	zeros := graph.ZerosLike(logQ)

	mean := graph.Div(graph.ReduceAllSum(graph.Where(finite, loss, zeros)), count)
	weight := graph.Div(graph.Where(finite, advantage, zeros), graph.MaxScalar(count, 1))
	// The value of this difference is zero; its gradient is the gradient of log q.
	score := graph.Sub(graph.Where(finite, logQ, zeros), graph.Where(finite, value, zeros))
	surrogate = graph.Add(mean, graph.ReduceAllSum(graph.Mul(weight, score)))
	nonFinite = graph.ReduceAllSum(graph.ConvertDType(graph.LogicalNot(finite), dtypes.Int32))
	return surrogate, nonFinite
}

// ExpectedScore returns a scalar whose gradient is ∑ q(m) control_m ∇ log q(m), the gradient of the
// expectation of a control variate with the value control_m at model m. logProbs [M] is log q of
// every model, and control [M] is finite. If control_m, taken at each drawn model, is part of the
// baseline of [ScoreFunction], adding this scalar makes the estimate unbiased again. The value of
// the scalar has no meaning.
func ExpectedScore(logProbs, control *graph.Node) *graph.Node {
	const where = "gradest.ExpectedScore"
	assertVector(where, "logProbs", logProbs)
	assertBatch(where, "control", control, logProbs.Shape().Dim(0))
	control = graph.StopGradient(graph.ConvertDType(control, logProbs.DType()))
	return graph.ReduceAllSum(graph.Mul(graph.Exp(logProbs), control))
}

func assertVector(where, name string, x *graph.Node) {
	if x.Rank() != 1 || !x.DType().IsFloat() {
		panic(fmt.Errorf("%s: want %s to be a vector [B] of floats, got %s", where, name, x.Shape()))
	}
}

func assertBatch(where, name string, x *graph.Node, batch int) {
	assertVector(where, name, x)
	if x.Shape().Dim(0) != batch {
		panic(fmt.Errorf("%s: want %s of length %d, got %s", where, name, batch, x.Shape()))
	}
}

func assertScalar(where, name string, x *graph.Node) {
	if !x.IsScalar() || !x.DType().IsFloat() {
		panic(fmt.Errorf("%s: want %s to be a scalar float, got %s", where, name, x.Shape()))
	}
}

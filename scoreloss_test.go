package vti

import (
	"math"
	"testing"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/gomlx/gomlx/pkg/ml/context"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/gradest"
	"github.com/transdim/vti/internal/evaluate"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/modeldist"
	"github.com/transdim/vti/space"
)

// A space of 2·3 codes, with the last code excluded by the prior, and a q(m) that is neither prior
// nor posterior.
var (
	scoreCards  = []int{2, 3}
	scorePrior  = []float64{math.Log(0.1), math.Log(0.3), math.Log(0.2), math.Log(0.15), math.Log(0.25), math.Inf(-1)}
	scoreStart  = []float64{0.3, -1, 0.5, 0, 0.9, math.Inf(-1)} // logits of q(m)
	scoreReward = []float64{-3, 2, -1, 4, 0.5, 0}               // −log h
)

// scoreEstimator returns the scalar whose gradient the trainer uses, for the codes, losses and log
// q(m) of a batch.
type scoreEstimator func(tr *trainer, ctx *Context, codes, loss, logModel *Node) *Node

// expectedScore returns the exact expectation of the estimated gradient with respect to the logits:
// the mean over all batches of three models, each weighted by its probability. The state of the
// control variate is reset before each batch.
func expectedScore(t *testing.T, control ControlVariate, estimate scoreEstimator) []float64 {
	t.Helper()
	table, err := modeldist.NewCategorical(scoreCards, modeldist.CategoricalConfig{LogPrior: scoreStart})
	require.NoError(t, err)
	tr := &trainer{evaluator: &evaluator{Evaluator: &evaluate.Evaluator{Models: table}}, config: Config{ControlVariate: control, Models: table}, tablePrior: scorePrior}
	ctx := context.New().Checked(false)
	if control == SurrogateMean {
		tr.control, err = newControl(table)
		require.NoError(t, err)
		// The surrogate's means are wrong, and two models have not been observed.
		require.NoError(t, tr.control.Learn(ctx.InAbsPath(controlScope), []int32{0, 0, 0, 1, 1, 0}, []float64{-2, 2.5, 5}, 0))
	}
	exec, err := context.NewExec(testkit.Backend(t), ctx, func(ctx *Context, codes *Node) *Node {
		g := codes.Graph()
		index := InsertAxes(space.Index(scoreCards, codes), -1)
		logModel := table.LogProb(ctx.In(evaluate.ModelScope), codes)
		lost := Sub(Gather(Const(g, scorePrior), index), logModel) // log p − log q
		loss := Neg(Add(lost, Gather(Const(g, scoreReward), index)))
		scalar := estimate(tr, ctx, codes, loss, logModel)
		return Gradient(scalar, table.Variable(ctx.In(evaluate.ModelScope)).ValueGraph(g))[0]
	})
	require.NoError(t, err)

	_, err = exec.Exec([][]int32{{0, 0}, {0, 0}, {0, 0}}) // creates the variables
	require.NoError(t, err)
	q := scoreProbabilities()
	gradient := make([]float64, len(q))
	memory := map[string]float64{"moment": 0.9 * 0.7, "weight": 0.9} // the state of a running mean of 0.7
	for a := range q {
		for b := range q {
			for c := range q {
				if q[a]*q[b]*q[c] == 0 {
					continue
				}
				for name, value := range memory {
					if variable := ctx.GetVariableByScopeAndName("/"+trainScope+"/running_mean", name); variable != nil {
						require.NoError(t, variable.SetValue(tensors.FromScalar(value)))
					}
				}
				var batch [][]int32
				for _, model := range []int{a, b, c} {
					batch = append(batch, space.Decode(scoreCards, model, nil))
				}
				got, err := exec.Exec(batch)
				require.NoError(t, err)
				floats.AddScaled(gradient, q[a]*q[b]*q[c], got[0].Value().([]float64))
			}
		}
	}
	return gradient
}

func scoreProbabilities() []float64 {
	total := floats.LogSumExp(scoreStart)
	q := make([]float64, len(scoreStart))
	for m, logit := range scoreStart {
		q[m] = math.Exp(logit - total)
	}
	return q
}

// exactScore returns the gradient of Σ_m q_m f_m with respect to the logits of q, where f_m = log
// q_m − log p_m − reward_m. The gradient is q_m (f_m − Σ_k q_k f_k).
func exactScore() []float64 {
	q := scoreProbabilities()
	f, mean := make([]float64, len(q)), 0.0
	for m := range q {
		if q[m] > 0 {
			f[m] = math.Log(q[m]) - scorePrior[m] - scoreReward[m]
			mean += q[m] * f[m]
		}
	}
	for m := range q {
		f[m] = q[m] * (f[m] - mean)
	}
	return f
}

// With every control variate the expectation of the estimated gradient is the gradient of the
// expected loss, up to rounding.
func TestControlVariatesAreUnbiased(t *testing.T) {
	for _, control := range []ControlVariate{LeaveOneOut, Running, SurrogateMean, NoControl} {
		t.Run(control.String(), func(t *testing.T) {
			got := expectedScore(t, control, func(tr *trainer, ctx *Context, codes, loss, logModel *Node) *Node {
				scalar, _ := tr.scoreLoss(ctx, codes, loss, logModel)
				return scalar
			})
			require.InDeltaSlice(t, exactScore(), got, 1e-12)
		})
	}
}

// TestBiasedControlVariatesAreDetected checks that exactScore detects two biased estimates: a
// baseline with the loss of the draw itself, and a control variate whose expectation is not added
// back.
func TestBiasedControlVariatesAreDetected(t *testing.T) {
	for name, estimate := range map[string]scoreEstimator{
		"mean of the batch": func(_ *trainer, _ *Context, _, loss, logModel *Node) *Node {
			scalar, _ := gradest.ScoreFunction(loss, ReduceAllMean(loss), logModel)
			return scalar
		},
		"without its expectation": func(tr *trainer, ctx *Context, codes, loss, logModel *Node) *Node {
			chosen := Gather(tr.control.Logits(ctx.InAbsPath(controlScope), loss.Graph()), InsertAxes(space.Index(scoreCards, codes), -1))
			scalar, _ := gradest.ScoreFunction(loss, Neg(chosen), logModel)
			return scalar
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := expectedScore(t, SurrogateMean, estimate)
			floats.Sub(got, exactScore())
			require.Greater(t, floats.Norm(got, math.Inf(1)), 0.1)
		})
	}
}

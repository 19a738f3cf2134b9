package gradest_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/ml/context"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/gradest"
	"github.com/transdim/vti/lab/testkit"
)

func TestLeaveOneOut(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for name, c := range map[string]struct{ loss, want []float64 }{
		"plain":      {[]float64{1, 2, 6}, []float64{4, 3.5, 1.5}},
		"non-finite": {[]float64{1, nan, 2, inf, 6}, []float64{4, 3, 3.5, 3, 1.5}},
		"single":     {[]float64{5}, []float64{0}},
		"one left":   {[]float64{nan, 5}, []float64{5, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := graph.ExecOnce(testkit.Backend(t), gradest.LeaveOneOut, c.loss)
			require.NoError(t, err)
			require.InDeltaSlice(t, c.want, got.Value(), 1e-12)
		})
	}
}

// TestRunningMean compares the baseline with the weighted mean of the means of all earlier batches,
// summed anew at each step.
func TestRunningMean(t *testing.T) {
	nan := math.NaN()
	batches := [][]float32{{4, 6}, {1, 2}, {nan32(), 3}, {nan32(), nan32()}, {-7, float32(math.Inf(1))}, {0, 0}}
	means := []float64{5, 1.5, 3, nan, -7, 0}
	exec, err := context.NewExec(testkit.Backend(t), context.New(), gradest.RunningMean)
	require.NoError(t, err)
	moment, weight := 0.0, 0.0
	for i, batch := range batches {
		want := 0.0 // the baseline of the first batch
		if weight > 0 {
			want = moment / weight
		}
		got, err := exec.Exec(batch)
		require.NoError(t, err)
		require.InDelta(t, want, got[0].Value(), 1e-6, "batch %d", i)
		if !math.IsNaN(means[i]) {
			moment, weight = gradest.Decay*moment+means[i], gradest.Decay*weight+1
		}
	}
}

func nan32() float32 { return float32(math.NaN()) }

// TestRunningMeanIsUnbiased averages gradient estimates with the running baseline over batches from
// a fixed q. The average must equal the exact gradient to within its standard errors. Given the
// past, the estimate of a batch is uncorrelated with all earlier estimates. A running mean that
// already contains the batch fails the same test.
func TestRunningMeanIsUnbiased(t *testing.T) {
	_, want := toyGradient()
	rng := rand.New(rand.NewPCG(3, 3))
	q := softmax(toyLogits)
	batches := make([][]int32, 20_000)
	for n := range batches {
		batches[n] = []int32{draw(rng, q), draw(rng, q)}
	}
	honest := worstZ(t, batches, want, gradest.RunningMean)
	require.Less(t, honest, float64(sigmas))

	peeking := worstZ(t, batches, want, func(ctx *context.Context, loss *graph.Node) *graph.Node {
		past := graph.MulScalar(gradest.RunningMean(ctx, loss), gradest.Decay)
		return graph.Add(past, graph.MulScalar(graph.ReduceAllMean(loss), 1-gradest.Decay)) // the mean after the update
	})
	require.Greater(t, peeking, 2*float64(sigmas))
}

// worstZ returns the largest absolute error of the average gradient over the batches, in standard
// errors. The context keeps the baseline from batch to batch.
func worstZ(t testing.TB, batches [][]int32, want []float64, control func(*context.Context, *graph.Node) *graph.Node) float64 {
	t.Helper()
	ctx := context.New()
	exec, err := context.NewExec(testkit.Backend(t), ctx, func(ctx *context.Context, models *graph.Node) *graph.Node {
		g := models.Graph()
		logits := graph.Const(g, toyLogits)
		index := graph.InsertAxes(models, -1)
		logQ := graph.Gather(graph.LogSoftmax(logits), index)
		loss := graph.Add(graph.Gather(graph.Const(g, toyLosses), index), logQ)
		surrogate, _ := gradest.ScoreFunction(loss, control(ctx, loss), logQ)
		return graph.Gradient(surrogate, logits)[0]
	})
	require.NoError(t, err)
	draws := make([][]float64, len(want))
	for _, batch := range batches {
		out, err := exec.Exec(batch)
		require.NoError(t, err)
		for m, gradient := range out[0].Value().([]float64) {
			draws[m] = append(draws[m], gradient)
		}
	}
	worst := 0.0
	for m := range want {
		mean, sd := stat.MeanStdDev(draws[m], nil)
		worst = max(worst, math.Abs(mean-want[m])/(sd/math.Sqrt(float64(len(batches)))))
	}
	return worst
}

func draw(rng *rand.Rand, probs []float64) int32 {
	u := rng.Float64()
	for m, p := range probs[:len(probs)-1] {
		if u < p {
			return int32(m)
		}
		u -= p
	}
	return int32(len(probs) - 1)
}

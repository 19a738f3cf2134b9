package gradest_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/ml/context"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/gradest"
	"github.com/transdim/vti/lab/testkit"
)

func TestCategoricalEntropy(t *testing.T) {
	inf := math.Inf(1)
	for name, logits := range map[string][]float64{
		"uniform":   {3, 3, 3, 3},
		"skewed":    {-1, 0.5, 2, 1000},
		"excluded":  {-inf, 0.5, 2, -inf},
		"one":       {-inf, -5, -inf, -inf},
		"underflow": {0, -2000, -800, 1},
	} {
		t.Run(name, func(t *testing.T) {
			out := run(t, context.New(), func(_ *context.Context, logits *graph.Node) []*graph.Node {
				entropy := gradest.CategoricalEntropy(logits)
				return []*graph.Node{entropy, graph.Gradient(entropy, logits)[0]}
			}, logits)
			entropy := entropyOf(logits)
			require.InDelta(t, entropy, out[0], 1e-13)
			for m, p := range softmax(logits) {
				want := 0.0 // ∂H/∂ψ = −p (log p + H)
				if p > 0 {
					want = -p * (math.Log(p) + entropy)
				}
				require.InDelta(t, want, out[1].([]float64)[m], 1e-13)
			}
		})
	}
}

// moved returns logits + scale·step.
func moved(logits, step []float64, scale float64) []float64 {
	out := make([]float64, len(logits))
	for m := range out {
		out[m] = logits[m] + scale*step[m]
	}
	return out
}

// TestCategoricalStepIsTheLargest checks, for various logits and steps, that the returned step
// satisfies the bound and that twice the step does not.
func TestCategoricalStepIsTheLargest(t *testing.T) {
	const models, halvings, slack = 6, 12, 1e-12
	backend := testkit.Backend(t)
	for _, epsilon := range []float64{1e-3, 0.3} {
		exec := graph.MustNewExec(backend, gradest.InformationGain{Epsilon: epsilon, Halvings: halvings}.Categorical)
		rng := rand.New(rand.NewPCG(6, 6))
		seen := map[float64]bool{}
		for range 400 {
			size := math.Pow(10, float64(rng.IntN(9)-4))
			logits, step := make([]float64, models), make([]float64, models)
			for m := range logits {
				logits[m], step[m] = 3*rng.NormFloat64(), size*rng.NormFloat64()
			}
			if rng.IntN(3) == 0 {
				logits[rng.IntN(models)] = math.Inf(-1)
			}
			scale := exec.MustExec(logits, step)[0].Value().(float64)
			seen[scale] = true
			change := func(scale float64) float64 {
				return math.Abs(entropyOf(moved(logits, step, scale)) - entropyOf(logits))
			}
			if scale > 0 {
				require.LessOrEqual(t, change(scale), epsilon+slack)
			}
			for larger := 1.0; larger > scale && larger >= math.Ldexp(1, -halvings); larger /= 2 {
				require.Greater(t, change(larger), epsilon-slack)
			}
		}
		require.Greater(t, len(seen), 3, "the cases are varied")
		require.True(t, seen[0])
		require.True(t, seen[1])
	}
}

// TestCategoricalStepInBlocks checks the step for so many models that candidates are computed in
// blocks of one candidate each.
func TestCategoricalStepInBlocks(t *testing.T) {
	const models = 600_000 // one candidate row in each block
	rng := rand.New(rand.NewPCG(5, 5))
	logits, step := make([]float64, models), make([]float64, models)
	for m := range logits {
		logits[m], step[m] = rng.NormFloat64(), 3*rng.NormFloat64()
	}
	scale, err := graph.ExecOnce(testkit.Backend(t), gradest.InformationGain{Epsilon: 0.1, Halvings: 3}.Categorical, logits, step)
	require.NoError(t, err)
	got := scale.Value().(float64)
	require.Contains(t, []float64{0.5, 0.25, 0.125}, got)
	before := entropyOf(logits)
	require.LessOrEqual(t, math.Abs(entropyOf(moved(logits, step, got))-before), 0.1)
	require.Greater(t, math.Abs(entropyOf(moved(logits, step, 2*got))-before), 0.1)
}

func TestStepsThatAreNotNumbers(t *testing.T) {
	nan := math.NaN()
	out := run(t, context.New(), func(_ *context.Context, logits, step *graph.Node) []*graph.Node {
		scale := gradest.InformationGain{Epsilon: 0.005}.Categorical(logits, step)
		return []*graph.Node{scale, gradest.Advance(logits, step, scale)}
	}, []float64{1, 2}, []float64{0.1, nan})
	require.Equal(t, []any{0.0, []float64{1, 2}}, out, "the step is refused and leaves no trace")
}

func TestLargestStep(t *testing.T) {
	nan := math.NaN()
	for name, c := range map[string]struct {
		candidates []float64
		want       float64
	}{
		"full":       {[]float64{2.4, 2, 2}, 1},
		"down":       {[]float64{1.4, 1.6, 2}, 0.5},
		"not first":  {[]float64{nan, 4, 2.5}, 0.25},
		"never":      {[]float64{3, 3, nan}, 0},
		"one choice": {[]float64{2}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := graph.ExecOnce(testkit.Backend(t), func(entropy, candidates *graph.Node) *graph.Node {
				return gradest.LargestStep(entropy, candidates, 0.5)
			}, 2.0, c.candidates)
			require.NoError(t, err)
			require.Equal(t, c.want, got.Value())
		})
	}
}

// bitsLogProb is a small model for Network: independent bits whose logits are a float32 variable.
// The entropy of a product distribution is the sum of the entropies of its bits.
func bitsLogProb(ctx *context.Context, bits *graph.Node) *graph.Node {
	logits := bitsVariable(ctx).ValueGraph(bits.Graph())
	sign := graph.AddScalar(graph.MulScalar(bits, -2), 1)
	return graph.Neg(graph.ReduceSum(graph.Softplus(graph.Mul(sign, graph.InsertAxes(logits, 0))), 1))
}

var bitLogits = []float32{-2, -0.5, 0, 0.7, 1.5}

func bitsVariable(ctx *context.Context) *context.Variable {
	return ctx.Checked(false).VariableWithValue("logits", bitLogits)
}

func bitsEntropy(logits []float64) (total float64) {
	for _, logit := range logits {
		total += entropyOf([]float64{0, logit})
	}
	return total
}

func drawBits(seed uint64, n int) [][]float32 {
	rng := rand.New(rand.NewPCG(seed, 0))
	rows := make([][]float32, n)
	for i := range rows {
		rows[i] = make([]float32, len(bitLogits))
		for j, logit := range bitLogits {
			if rng.Float64() < 1/(1+math.Exp(-float64(logit))) {
				rows[i][j] = 1
			}
		}
	}
	return rows
}

// TestImportanceEntropy checks that the estimate agrees with the exact entropy of q' to within its
// standard error. The estimate is a ratio of means, so its standard error is the spread of w (log
// q' + H'), with w the weights and H' the entropy.
func TestImportanceEntropy(t *testing.T) {
	const n = 20_000
	logits := make([]float64, len(bitLogits))
	for j, logit := range bitLogits {
		logits[j] = float64(logit)
	}
	step := []float64{0.3, -0.2, 0.4, 0.1, -0.5}
	bits := drawBits(1, n)
	logProbs := func(logits []float64) []float64 {
		out := make([]float64, n)
		for i, row := range bits {
			for j, bit := range row {
				out[i] -= math.Log1p(math.Exp((1 - 2*float64(bit)) * logits[j]))
			}
		}
		return out
	}
	logQ := logProbs(logits)
	for _, scale := range []float64{0, 0.25, 1} {
		after := moved(logits, step, scale)
		logQNew := logProbs(after)
		want := bitsEntropy(after)
		variance := 0.0
		for i := range logQ {
			term := math.Exp(logQNew[i]-logQ[i]) * (logQNew[i] + want)
			variance += term * term / n
		}
		got, err := graph.ExecOnce(testkit.Backend(t), gradest.ImportanceEntropy, logQ, logQNew)
		require.NoError(t, err)
		require.InDelta(t, want, got.Value(), sigmas*math.Sqrt(variance/n))
	}
}

// TestImportanceEntropyOverAllModels uses a uniform q, and a sample that contains each model once.
// The sum over the sample is then the sum over all models, and the estimate must be exact. Numbers
// of outcomes vary, and some models are excluded.
func TestImportanceEntropyOverAllModels(t *testing.T) {
	logits := []float64{0.5, -1, math.Inf(-1), 2, 0}
	logQ, logQNew := make([]float64, 5), make([]float64, 5)
	for m, p := range softmax(logits) {
		logQ[m], logQNew[m] = -math.Log(5), math.Log(p)
	}
	got, err := graph.ExecOnce(testkit.Backend(t), gradest.ImportanceEntropy, logQ, logQNew)
	require.NoError(t, err)
	require.InDelta(t, entropyOf(logits), got.Value(), 1e-14)
}

// TestImportanceEntropyRefuses checks that q' with mass outside of the sample gives NaN.
func TestImportanceEntropyRefuses(t *testing.T) {
	for _, logQNew := range [][]float64{{-5, -5.1}, {-0.01, -0.01}, {math.Inf(-1), math.Inf(-1)}, {math.NaN(), -1}} {
		got, err := graph.ExecOnce(testkit.Backend(t), gradest.ImportanceEntropy, []float64{-1, -1}, logQNew)
		require.NoError(t, err)
		require.True(t, math.IsNaN(got.Value().(float64)), "%v gave %v", logQNew, got)
	}
}

// TestNetworkStep checks that with a large sample the step equals the step from exact entropies,
// and that the variables are unchanged in the graph and after its execution.
func TestNetworkStep(t *testing.T) {
	step := []float32{-1, -1, 1, 1, 1}
	gain := gradest.InformationGain{Epsilon: 0.3, Halvings: 6}
	logits, direction := make([]float64, len(step)), make([]float64, len(step))
	for j := range step {
		logits[j], direction[j] = float64(bitLogits[j]), float64(step[j])
	}
	want := 0.0
	for _, scale := range gain.Scales() {
		if math.Abs(bitsEntropy(moved(logits, direction, scale))-bitsEntropy(logits)) <= gain.Epsilon {
			want = scale
			break
		}
	}
	require.Contains(t, []float64{0.5, 0.25, 0.125}, want)

	ctx := context.New()
	out := run(t, ctx, func(ctx *context.Context, bits, step *graph.Node) []*graph.Node {
		v := bitsVariable(ctx)
		before := v.ValueGraph(bits.Graph())
		scale := gain.Network([]*context.Variable{v}, []*graph.Node{step},
			func() *graph.Node { return bitsLogProb(ctx, bits) })
		require.Same(t, before, v.ValueGraph(bits.Graph()))
		return []*graph.Node{scale, gradest.Advance(before, step, scale)}
	}, drawBits(2, 20_000), step)
	require.Equal(t, want, out[0])
	for j, value := range out[1].([]float32) {
		require.InDelta(t, logits[j]+want*direction[j], value, 1e-6)
	}
	require.Equal(t, bitLogits, bitsVariable(ctx).MustValue().Value())
}

func TestInformationGainValidate(t *testing.T) {
	require.NoError(t, gradest.InformationGain{Epsilon: 0.005}.Validate())
	require.Len(t, gradest.InformationGain{Epsilon: 0.005}.Scales(), gradest.DefaultHalvings+1)
	require.Equal(t, []float64{1, 0.5, 0.25}, gradest.InformationGain{Epsilon: 1, Halvings: 2}.Scales())
	for _, c := range []gradest.InformationGain{
		{}, {Epsilon: -1}, {Epsilon: math.NaN()}, {Epsilon: math.Inf(1)}, {Epsilon: 1, Halvings: -1}, {Epsilon: 1, Halvings: 1001},
	} {
		require.Error(t, c.Validate())
	}
	_, err := graph.ExecOnce(testkit.Backend(t), gradest.InformationGain{Epsilon: 0.005}.Categorical, []float64{1, 2}, []float64{1})
	require.ErrorContains(t, err, "want step of length 2")
	_, err = context.ExecOnce(testkit.Backend(t), context.New(), func(ctx *context.Context, g *graph.Graph) *graph.Node {
		return gradest.InformationGain{Epsilon: 0.005}.Network([]*context.Variable{bitsVariable(ctx)}, nil, func() *graph.Node {
			return graph.Zeros(g, shapes.Make(dtypes.Float64, 1))
		})
	})
	require.ErrorContains(t, err, "1 variables but 0 steps")
}

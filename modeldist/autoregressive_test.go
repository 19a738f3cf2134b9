package modeldist_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/gomlx/gomlx/pkg/ml/context"
	"github.com/gomlx/gomlx/pkg/ml/train/optimizers"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/gradest"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/modeldist"
	"github.com/transdim/vti/space"
)

// shapesOfCodes holds the outcome counts of the spaces that most tests use.
var shapesOfCodes = map[string][]int{
	"bits":       {2, 2, 2, 2, 2},
	"one bit":    {2},
	"one site":   {7},
	"lehmer":     {4, 3, 2, 2, 2}, // an ordering of four nodes and two edges
	"trits":      {3, 3, 3},
	"rising":     {2, 3, 4},
	"with fixed": {1, 3, 1, 2, 1},
}

func newAutoregressive(t testing.TB, cards []int, cfg modeldist.AutoregressiveConfig) *modeldist.Autoregressive {
	t.Helper()
	if cfg.Hidden == 0 {
		cfg.Hidden = 16
	}
	q, err := modeldist.NewAutoregressive(cards, cfg)
	require.NoError(t, err)
	return q
}

// randomised returns a context with random weights of q, so that sites depend on earlier sites.
func randomised(t testing.TB, q *modeldist.Autoregressive, scale float64) *context.Context {
	t.Helper()
	ctx := context.New()
	run(t, ctx, q.LogProb, [][]int32{make([]int32, len(q.Cards()))}) // creates the variables
	rng := rand.New(rand.NewPCG(9, 9))
	for v := range ctx.IterVariables() {
		values := make([]float64, v.Shape().Size())
		for i := range values {
			values[i] = scale * rng.NormFloat64()
		}
		value := tensors.FromFlatDataAndDimensions(values, v.Shape().Dimensions...)
		if v.DType() == dtypes.Float32 {
			narrow := make([]float32, len(values))
			for i := range values {
				narrow[i] = float32(values[i])
			}
			value = tensors.FromFlatDataAndDimensions(narrow, v.Shape().Dimensions...)
		}
		require.NoError(t, v.SetValue(value))
	}
	return ctx
}

// allLogProbs returns the log probabilities of all codes in lexicographic order.
func allLogProbs(t testing.TB, ctx *context.Context, q *modeldist.Autoregressive) []float64 {
	t.Helper()
	return run(t, ctx, q.LogProb, allCodes(q.Cards()))[0].([]float64)
}

func TestAutoregressiveSumsToOne(t *testing.T) {
	for name, cards := range shapesOfCodes {
		t.Run(name, func(t *testing.T) {
			for _, dtype := range []dtypes.DType{dtypes.Float32, dtypes.Float64} {
				q := newAutoregressive(t, cards, modeldist.AutoregressiveConfig{DType: dtype})
				logProbs := allLogProbs(t, randomised(t, q, 0.5), q)
				require.InDelta(t, 0, floats.LogSumExp(logProbs), 1e-12)
				require.Greater(t, slices.Max(logProbs)-slices.Min(logProbs), 0.1, "the weights matter")
			}
		})
	}
}

// TestAutoregressiveStart checks that before training sites are independent with initial weights.
func TestAutoregressiveStart(t *testing.T) {
	cards := []int{2, 3, 1, 2}
	uniform := newAutoregressive(t, cards, modeldist.AutoregressiveConfig{Seed: 4})
	for _, logProb := range allLogProbs(t, context.New(), uniform) {
		require.InDelta(t, -math.Log(12), logProb, 1e-14)
	}

	prior := [][]float64{{0, 1}, {math.Inf(-1), 2, 1}, {-3}, {5, 7}}
	q := newAutoregressive(t, cards, modeldist.AutoregressiveConfig{SiteLogPrior: prior, Seed: 5})
	logProbs := allLogProbs(t, context.New(), q)
	for index, code := range space.All(cards) {
		want := 0.0
		for site, outcome := range code {
			want += prior[site][outcome] - floats.LogSumExp(prior[site])
		}
		if math.IsInf(want, -1) {
			require.Equal(t, want, logProbs[index])
		} else {
			require.InDelta(t, want, logProbs[index], 1e-14)
		}
	}
}

// TestAutoregressiveSamples compares the frequencies of drawn codes with LogProb. Codes of
// probability zero must never be drawn.
func TestAutoregressiveSamples(t *testing.T) {
	testkit.Slow(t)
	for name, cards := range shapesOfCodes {
		t.Run(name, func(t *testing.T) {
			cfg := modeldist.AutoregressiveConfig{}
			if name == "lehmer" || name == "trits" {
				cfg.SiteLogPrior = make([][]float64, len(cards))
				for site, card := range cards {
					cfg.SiteLogPrior[site] = make([]float64, card)
				}
				cfg.SiteLogPrior[1][0] = math.Inf(-1)
			}
			q := newAutoregressive(t, cards, cfg)
			ctx := randomised(t, q, 0.3)
			probs := allLogProbs(t, ctx, q)
			for i := range probs {
				probs[i] = math.Exp(probs[i])
			}
			draws := run(t, ctx, q.Sample, uniforms(21, 10_000, len(cards)))[0].([][]int32)
			requireFrequencies(t, cards, probs, draws)
		})
	}
}

// TestDependenceIsChecked shows that the comparison of frequencies with probabilities detects draws
// that ignore earlier sites, which have the product of the sites' marginals.
func TestDependenceIsChecked(t *testing.T) {
	cards := shapesOfCodes["bits"]
	q := newAutoregressive(t, cards, modeldist.AutoregressiveConfig{})
	ctx := randomised(t, q, 0.3)
	on := make([]float64, len(cards)) // P(site = 1)
	for index, logProb := range allLogProbs(t, ctx, q) {
		for site, outcome := range space.Decode(cards, index, nil) {
			on[site] += float64(outcome) * math.Exp(logProb)
		}
	}
	independent := make([]float64, 32)
	for index, code := range space.All(cards) {
		independent[index] = 1
		for site, outcome := range code {
			independent[index] *= 1 - on[site] + float64(outcome)*(2*on[site]-1)
		}
	}
	draws := run(t, ctx, q.Sample, uniforms(21, 10_000, len(cards)))[0].([][]int32)
	require.True(t, fails(t, func(t testing.TB) { requireFrequencies(t, cards, independent, draws) }))
}

// TestAutoregressiveSampleEnds checks that each site has its own column of uniform random numbers,
// and that the ends of the unit interval give the first and the last possible outcome.
func TestAutoregressiveSampleEnds(t *testing.T) {
	below1 := math.Nextafter(1, 0)
	prior := [][]float64{{0, 0, math.Inf(-1)}, {math.Inf(-1), 0}, {math.Inf(-1), 0, 0}}
	q := newAutoregressive(t, []int{3, 2, 3}, modeldist.AutoregressiveConfig{SiteLogPrior: prior})
	draws := run(t, context.New(), q.Sample, [][]float64{{0, 0, 0}, {below1, below1, below1}, {0, 0.3, 0.9}})[0]
	require.Equal(t, [][]int32{{0, 1, 1}, {1, 1, 2}, {0, 1, 2}}, draws)
}

// TestAutoregressiveGradient compares the gradient of a weighted sum of log probabilities with
// central differences in float64, for every variable. The gradient must be finite if outcomes are
// excluded, and sampling in the same graph must not change it.
func TestAutoregressiveGradient(t *testing.T) {
	for name, cards := range shapesOfCodes {
		t.Run(name, func(t *testing.T) {
			cfg := modeldist.AutoregressiveConfig{DType: dtypes.Float64, Hidden: 8, Blocks: 1}
			if name == "lehmer" {
				cfg.SiteLogPrior = [][]float64{{0, 0, 0, math.Inf(-1)}, {0, 0, 0}, {0, 0}, {0, 0}, {0, 0}}
			}
			q := newAutoregressive(t, cards, cfg)
			ctx := randomised(t, q, 0.5)
			var variables []*context.Variable
			for v := range ctx.IterVariables() {
				variables = append(variables, v)
			}
			score := func(ctx *context.Context, uniforms *graph.Node) *graph.Node {
				codes := q.Sample(ctx, uniforms)
				rewards := graph.AddScalar(graph.Iota(codes.Graph(), q.LogProb(ctx, codes).Shape(), 0), -1.5)
				return graph.ReduceAllSum(graph.Mul(rewards, q.LogProb(ctx, codes)))
			}
			u := uniforms(2, 5, len(cards))
			gradients, err := context.ExecOnceN(backend(t), ctx, func(ctx *context.Context, u *graph.Node) []*graph.Node {
				loss := score(ctx, u)
				var wrt []*graph.Node
				for _, v := range variables {
					wrt = append(wrt, v.ValueGraph(u.Graph()))
				}
				return graph.Gradient(loss, wrt...)
			}, u)
			require.NoError(t, err)

			value := context.MustNewExec(backend(t), ctx, score)
			rng := rand.New(rand.NewPCG(1, 2))
			for i, v := range variables {
				gradient := tensors.MustCopyFlatData[float64](gradients[i])
				require.False(t, floats.HasNaN(gradient))
				values := tensors.MustCopyFlatData[float64](v.MustValue())
				for range 3 {
					const h = 1e-6
					at := rng.IntN(len(values))
					shifted := func(h float64) float64 {
						moved := slices.Clone(values)
						moved[at] += h
						require.NoError(t, v.SetValue(tensors.FromFlatDataAndDimensions(moved, v.Shape().Dimensions...)))
						return value.MustExec(u)[0].Value().(float64)
					}
					slope := (shifted(h) - shifted(-h)) / (2 * h)
					shifted(0)
					require.InDelta(t, slope, gradient[at], 1e-6*(1+math.Abs(slope)), "%s[%d]", v.ScopeAndName(), at)
				}
			}
		})
	}
}

// TestTempered compares the conditionals of a tempered network, computed by sums over all codes,
// with normalised powers of the network's conditionals. Frequencies of draws must agree with them.
func TestTempered(t *testing.T) {
	const power = 0.5
	cards := []int{3, 2, 3}
	cfg := modeldist.AutoregressiveConfig{DType: dtypes.Float64, SiteLogPrior: [][]float64{{0, math.Inf(-1), 1}, {0, 1}, {0, 0, 2}}}
	q := newAutoregressive(t, cards, cfg)
	ctx := randomised(t, q, 0.5)
	logProbs := allLogProbs(t, ctx, q)
	marginal := map[string]float64{} // marginal probabilities of the first sites
	for index, code := range space.All(cards) {
		for sites := range len(cards) + 1 {
			marginal[fmt.Sprint(code[:sites])] += math.Exp(logProbs[index])
		}
	}
	tempered := q.Tempered(power)
	got := allLogProbs(t, ctx, tempered)
	for index, code := range space.All(cards) {
		want := 0.0
		for site, card := range cards {
			before, sum := fmt.Sprint(code[:site]), 0.0
			for outcome := range card {
				next := append(slices.Clone(code[:site]), int32(outcome))
				sum += math.Pow(marginal[fmt.Sprint(next)]/marginal[before], power)
			}
			want += power*math.Log(marginal[fmt.Sprint(code[:site+1])]/marginal[before]) - math.Log(sum)
		}
		if code[0] == 1 {
			want = math.Inf(-1)
			require.Equal(t, want, got[index])
			continue
		}
		require.InDelta(t, want, got[index], 1e-10)
	}
	probs := make([]float64, len(got))
	for i := range got {
		probs[i] = math.Exp(got[i])
	}
	requireFrequencies(t, cards, probs, run(t, ctx, tempered.Sample, uniforms(22, 10_000, len(cards)))[0].([][]int32))
}

// distribution is the interface that Autoregressive and Categorical share.
type distribution interface {
	LogProb(ctx *context.Context, codes *graph.Node) *graph.Node
	Sample(ctx *context.Context, uniforms *graph.Node) *graph.Node
}

var (
	_ distribution = (*modeldist.Categorical)(nil)
	_ distribution = (*modeldist.Autoregressive)(nil)
)

// TestLearnsTarget checks that gradient descent with the score-function estimator reaches a given
// target distribution, for Autoregressive and Categorical, up to a small total variation distance.
func TestLearnsTarget(t *testing.T) {
	testkit.Slow(t)
	cards := []int{3, 2, 2}
	target := skewed(12, 1)
	floats.AddConst(-floats.LogSumExp(target), target)
	table, err := modeldist.NewCategorical(cards, modeldist.CategoricalConfig{})
	require.NoError(t, err)
	for name, c := range map[string]struct {
		q    distribution
		rate float64
	}{
		"categorical":    {table, 0.05},
		"autoregressive": {newAutoregressive(t, cards, modeldist.AutoregressiveConfig{Hidden: 16}), 0.03},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := context.New()
			// Plain gradient descent would be slow: residual blocks start as the identity, a
			// saddle.
			adam := optimizers.Adam().LearningRate(c.rate).Done()
			train, err := context.NewExec(backend(t), ctx, func(ctx *context.Context, u *graph.Node) *graph.Node {
				codes := c.q.Sample(ctx, u)
				logQ := c.q.LogProb(ctx, codes)
				index := graph.InsertAxes(space.Index(cards, codes), -1)
				loss := graph.Sub(logQ, graph.Gather(graph.Const(u.Graph(), target), index))
				surrogate, _ := gradest.ScoreFunction(loss, gradest.LeaveOneOut(loss), logQ)
				adam.UpdateGraph(ctx, u.Graph(), surrogate)
				return surrogate
			})
			require.NoError(t, err)
			for step := range 250 {
				_, err := train.Exec(uniforms(uint64(step), 128, len(cards)))
				require.NoError(t, err)
			}
			got := run(t, ctx, c.q.LogProb, allCodes(cards))[0].([]float64)
			variation := 0.0
			for i := range got {
				variation += math.Abs(math.Exp(got[i])-math.Exp(target[i])) / 2
			}
			require.Less(t, variation, 0.05)

			// Only the context holds the trained state: with another context the distribution is
			// untrained.
			fresh := run(t, context.New(), c.q.LogProb, allCodes(cards))[0].([]float64)
			require.InDelta(t, -math.Log(12), slices.Min(fresh), 1e-12)
			require.InDelta(t, -math.Log(12), slices.Max(fresh), 1e-12)
		})
	}
}

// TestAutoregressiveInformationGain proposes a step that is far too long. gradest.InformationGain
// shortens it, so that the exact entropy changes by at most epsilon nats, up to the error of an
// estimate from many draws. Twice the shortened step changes the entropy by about epsilon or more.
func TestAutoregressiveInformationGain(t *testing.T) {
	testkit.Slow(t)
	const epsilon, slack = 0.05, 0.01
	cards := []int{3, 2, 2}
	q := newAutoregressive(t, cards, modeldist.AutoregressiveConfig{})
	ctx := randomised(t, q, 0.3)
	var variables []*context.Variable
	for v := range ctx.IterVariables() {
		variables = append(variables, v)
	}
	exactEntropy := func(logProbs *graph.Node) *graph.Node {
		return graph.Neg(graph.ReduceAllSum(graph.Mul(graph.Exp(logProbs), logProbs)))
	}
	out := run(t, ctx, func(ctx *context.Context, u, all *graph.Node) []*graph.Node {
		g := u.Graph()
		drawn := q.Sample(ctx, u)
		before := exactEntropy(q.LogProb(ctx, all))
		// The proposed step follows the gradient of the entropy and is far too long.
		steps := graph.Gradient(before, valuesOf(variables, g)...)
		for i := range steps {
			steps[i] = graph.MulScalar(steps[i], 50)
		}
		scale := gradest.InformationGain{Epsilon: epsilon, Halvings: 8}.Network(variables, steps,
			func() *graph.Node { return q.LogProb(ctx, drawn) })
		outputs := []*graph.Node{before, scale}
		start := valuesOf(variables, g)
		for _, factor := range []float64{1, 2} { // the step, and twice the step
			for i, v := range variables {
				v.SetValueGraph(gradest.Advance(start[i], steps[i], graph.MulScalar(scale, factor)))
			}
			outputs = append(outputs, exactEntropy(q.LogProb(ctx, all)))
		}
		return outputs
	}, uniforms(3, 20_000, len(cards)), allCodes(cards))
	before, scale, after, beyond := out[0].(float64), out[1].(float64), out[2].(float64), out[3].(float64)
	require.Greater(t, scale, 0.0)
	require.Less(t, scale, 1.0)
	require.LessOrEqual(t, math.Abs(after-before), epsilon+slack)
	require.Greater(t, math.Abs(beyond-before), epsilon-slack)
}

func valuesOf(variables []*context.Variable, g *graph.Graph) []*graph.Node {
	values := make([]*graph.Node, len(variables))
	for i, v := range variables {
		values[i] = v.ValueGraph(g)
	}
	return values
}

func TestNewAutoregressiveErrors(t *testing.T) {
	inf := math.Inf(1)
	for name, c := range map[string]struct {
		cards []int
		cfg   modeldist.AutoregressiveConfig
		want  string
	}{
		"no site":      {nil, modeldist.AutoregressiveConfig{}, "at least one site"},
		"one model":    {[]int{1, 1}, modeldist.AutoregressiveConfig{}, "a single model"},
		"hidden":       {[]int{2, 2}, modeldist.AutoregressiveConfig{Hidden: -1}, "-1 units"},
		"one unit":     {[]int{2, 2}, modeldist.AutoregressiveConfig{Hidden: 1}, "got Hidden 1, want at least 2"},
		"dtype":        {[]int{2}, modeldist.AutoregressiveConfig{DType: dtypes.Int32}, "want Float32 or Float64"},
		"prior sites":  {[]int{2, 2}, modeldist.AutoregressiveConfig{SiteLogPrior: [][]float64{{0, 0}}}, "has 1 rows, the space has 2"},
		"prior values": {[]int{2}, modeldist.AutoregressiveConfig{SiteLogPrior: [][]float64{{0}}}, "site 0 has 1 values, want 2"},
		"prior NaN":    {[]int{2}, modeldist.AutoregressiveConfig{SiteLogPrior: [][]float64{{0, math.NaN()}}}, "site 0, outcome 1 is NaN"},
		"prior -Inf":   {[]int{2}, modeldist.AutoregressiveConfig{SiteLogPrior: [][]float64{{-inf, -inf}}}, "-Inf for all outcomes"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := modeldist.NewAutoregressive(c.cards, c.cfg)
			require.ErrorContains(t, err, c.want)
		})
	}
}

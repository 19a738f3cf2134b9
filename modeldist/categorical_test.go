package modeldist_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/ml/context"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/modeldist"
	"github.com/transdim/vti/space"
)

// falseAlarm is the probability with which each statistical test in this package fails although the
// code is correct.
const falseAlarm = 1e-6

func allCodes(cards []int) [][]int32 {
	var codes [][]int32
	for _, code := range space.All(cards) {
		codes = append(codes, slices.Clone(code))
	}
	return codes
}

// backend returns one backend for all tests of the package: the variables of a context cannot move
// between backends.
func backend(t testing.TB) backends.Backend {
	t.Helper()
	once.Do(func() { shared = testkit.Backend(t) })
	return shared
}

var (
	once   sync.Once
	shared backends.Backend
)

// run evaluates fn with the variables of ctx.
func run[F context.ExecGraphFn](t testing.TB, ctx *context.Context, fn F, inputs ...any) []any {
	t.Helper()
	outputs, err := context.ExecOnceN(backend(t), ctx, fn, inputs...)
	require.NoError(t, err)
	values := make([]any, len(outputs))
	for i, out := range outputs {
		values[i] = out.Value()
	}
	return values
}

func uniforms(seed uint64, batch, sites int) [][]float64 {
	rng := rand.New(rand.NewPCG(seed, 0))
	u := make([][]float64, batch)
	for b := range u {
		u[b] = make([]float64, sites)
		for s := range u[b] {
			u[b][s] = rng.Float64()
		}
	}
	return u
}

// requireFrequencies compares the frequencies of drawn codes with their probabilities by Pearson's
// chi-square test. Impossible codes must never be drawn. Codes with an expected count below 5 are
// merged.
func requireFrequencies(t testing.TB, cards []int, probs []float64, draws [][]int32) {
	t.Helper()
	counts := make([]float64, len(probs))
	for _, code := range draws {
		counts[space.Encode(cards, code)]++
	}
	statistic, cells := 0.0, 0
	add := func(count, expected float64) {
		if expected > 0 {
			statistic += (count - expected) * (count - expected) / expected
			cells++
		}
	}
	rareCount, rareExpected := 0.0, 0.0
	for index, p := range probs {
		expected := p * float64(len(draws))
		switch {
		case p == 0:
			require.Zero(t, counts[index], "code %v is impossible", space.Decode(cards, index, nil))
		case expected < 5:
			rareCount, rareExpected = rareCount+counts[index], rareExpected+expected
		default:
			add(counts[index], expected)
		}
	}
	add(rareCount, rareExpected)
	if cells > 1 {
		require.Less(t, statistic, distuv.ChiSquared{K: float64(cells - 1)}.Quantile(1-falseAlarm))
	}
}

// skewed returns unnormalised log weights of n models; the listed models are excluded.
func skewed(n int, scale float64, excluded ...int) []float64 {
	rng := rand.New(rand.NewPCG(7, uint64(n)))
	logits := make([]float64, n)
	for i := range logits {
		logits[i] = 100 + scale*rng.NormFloat64() // far from normalised
	}
	for _, i := range excluded {
		logits[i] = math.Inf(-1)
	}
	return logits
}

// normalise returns probabilities from log weights by the definition, for comparison.
func normalise(logits []float64) []float64 {
	probs := slices.Clone(logits)
	floats.AddConst(-floats.LogSumExp(logits), probs)
	for i, logProb := range probs {
		probs[i] = math.Exp(logProb)
	}
	return probs
}

func TestCategoricalValues(t *testing.T) {
	cards := []int{3, 2, 2}
	for name, logits := range map[string][]float64{
		"all":      skewed(12, 2),
		"excluded": skewed(12, 2, 0, 5, 11),
		"extreme":  skewed(12, 400, 3), // most weights underflow
		"single":   skewed(12, 1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10),
	} {
		t.Run(name, func(t *testing.T) {
			q, err := modeldist.NewCategorical(cards, modeldist.CategoricalConfig{LogPrior: logits})
			require.NoError(t, err)
			got := run(t, context.New(), func(ctx *context.Context, codes *graph.Node) []*graph.Node {
				return []*graph.Node{q.LogProb(ctx, codes), q.LogProbs(ctx, codes.Graph()), q.Entropy(ctx, codes.Graph())}
			}, allCodes(cards))
			want := slices.Clone(logits)
			floats.AddConst(-floats.LogSumExp(logits), want)
			entropy := 0.0
			for i, p := range normalise(logits) {
				if p > 0 {
					entropy -= p * want[i]
				}
				for _, table := range got[:2] {
					logProb := table.([]float64)[i]
					if math.IsInf(want[i], -1) {
						require.Equal(t, want[i], logProb)
					} else {
						require.InDelta(t, want[i], logProb, 1e-12*(1+math.Abs(want[i])))
					}
				}
			}
			require.InDelta(t, entropy, got[2], 1e-12*(1+entropy))
		})
	}
}

func TestCategoricalStartsUniform(t *testing.T) {
	q, err := modeldist.NewCategorical([]int{5}, modeldist.CategoricalConfig{})
	require.NoError(t, err)
	got := run(t, context.New(), func(ctx *context.Context, codes *graph.Node) []*graph.Node {
		return []*graph.Node{q.LogProb(ctx, codes), q.Entropy(ctx, codes.Graph())}
	}, [][]int32{{4}})
	require.InDelta(t, -math.Log(5), got[0].([]float64)[0], 1e-15)
	require.InDelta(t, math.Log(5), got[1], 1e-15)
}

// TestCategoricalGradients checks that ∂ log q(m)/∂ψ = e_m − q, with e_m the m-th unit vector, and
// ∂H/∂ψ = −q (log q + H), with H the entropy. For an excluded model both are exactly zero.
func TestCategoricalGradients(t *testing.T) {
	cards := []int{4, 2}
	for name, logits := range map[string][]float64{
		"all": skewed(8, 2), "excluded": skewed(8, 2, 0, 5), "extreme": skewed(8, 500, 2),
	} {
		t.Run(name, func(t *testing.T) {
			q, err := modeldist.NewCategorical(cards, modeldist.CategoricalConfig{LogPrior: logits})
			require.NoError(t, err)
			probs := normalise(logits)
			codes := [][]int32{{0, 1}, {3, 1}, {3, 1}, {1, 1}}
			rewards := []float64{0.5, -2, 1.5, 3}
			got := run(t, context.New(), func(ctx *context.Context, codes, rewards *graph.Node) []*graph.Node {
				g := codes.Graph()
				score := graph.ReduceAllSum(graph.Mul(rewards, q.LogProb(ctx, codes)))
				psi := q.Variable(ctx).ValueGraph(g)
				return []*graph.Node{graph.Gradient(score, psi)[0], graph.Gradient(q.Entropy(ctx, g), psi)[0]}
			}, codes, rewards)

			wantScore := make([]float64, len(probs))
			for b, code := range codes {
				wantScore[space.Encode(cards, code)] += rewards[b]
			}
			entropy := 0.0
			for _, p := range probs {
				if p > 0 {
					entropy -= p * math.Log(p)
				}
			}
			for i, p := range probs {
				score, slope := got[0].([]float64)[i], got[1].([]float64)[i]
				if math.IsInf(logits[i], -1) {
					require.Zero(t, score)
					require.Zero(t, slope)
					continue
				}
				require.InDelta(t, wantScore[i]-floats.Sum(rewards)*p, score, 1e-12)
				wantSlope := 0.0
				if p > 0 {
					wantSlope = -p * (math.Log(p) + entropy)
				}
				require.InDelta(t, wantSlope, slope, 1e-12)
			}
		})
	}
}

func TestCategoricalSamples(t *testing.T) {
	for name, c := range map[string]struct {
		cards  []int
		logits []float64
	}{
		"one level":  {[]int{3, 2}, skewed(6, 1, 2)},
		"two levels": {[]int{5, 3, 2, 2}, skewed(60, 0.7, 0, 1, 2, 30, 59)},
		"one model":  {[]int{1}, []float64{0}},
	} {
		t.Run(name, func(t *testing.T) {
			q, err := modeldist.NewCategorical(c.cards, modeldist.CategoricalConfig{LogPrior: c.logits})
			require.NoError(t, err)
			draws := run(t, context.New(), q.Sample, uniforms(11, 20_000, len(c.cards)))[0].([][]int32)
			requireFrequencies(t, c.cards, normalise(c.logits), draws)
		})
	}
}

// TestFrequenciesAreChecked shows that requireFrequencies detects draws that ignore the logits.
func TestFrequenciesAreChecked(t *testing.T) {
	q, err := modeldist.NewCategorical([]int{3, 2}, modeldist.CategoricalConfig{})
	require.NoError(t, err)
	draws := run(t, context.New(), q.Sample, uniforms(11, 20_000, 2))[0].([][]int32)
	probs := normalise(skewed(6, 0.2))
	require.True(t, fails(t, func(t testing.TB) { requireFrequencies(t, []int{3, 2}, probs, draws) }))
}

// fails reports whether the function check fails, which may use only the methods of testing.TB that
// package require uses.
func fails(t testing.TB, check func(testing.TB)) bool {
	spy := &recorder{TB: t}
	func() {
		defer func() {
			if r := recover(); r != nil && r != any(spy) {
				panic(r)
			}
		}()
		check(spy)
	}()
	return spy.failed
}

// recorder is a testing.TB that records a failure instead of reporting it.
type recorder struct {
	testing.TB
	failed bool
}

func (r *recorder) Errorf(string, ...any) { r.failed = true }
func (r *recorder) FailNow()              { panic(r) }
func (r *recorder) Helper()               {}

func TestCategoricalSampleEnds(t *testing.T) {
	logits := make([]float64, 1000)
	for i := range logits {
		logits[i] = -0.1 * float64(i%7)
	}
	logits[0], logits[998], logits[999] = math.Inf(-1), math.Inf(-1), math.Inf(-1)
	q, err := modeldist.NewCategorical([]int{1000}, modeldist.CategoricalConfig{LogPrior: logits})
	require.NoError(t, err)
	draws := run(t, context.New(), q.Sample, [][]float64{{0}, {math.Nextafter(1, 0)}})[0]
	require.Equal(t, [][]int32{{1}, {997}}, draws)
}

func TestNewCategoricalErrors(t *testing.T) {
	inf := math.Inf(1)
	for name, c := range map[string]struct {
		cards []int
		cfg   modeldist.CategoricalConfig
		want  string
	}{
		"no site":        {nil, modeldist.CategoricalConfig{}, "at least one site"},
		"no outcome":     {[]int{2, 0}, modeldist.CategoricalConfig{}, "site 1 has 0 outcomes"},
		"too many":       {slices.Repeat([]int{2}, 21), modeldist.CategoricalConfig{}, "2097152 models needs 0.0625 GiB"},
		"far too many":   {slices.Repeat([]int{2}, 40), modeldist.CategoricalConfig{}, "use an autoregressive distribution"},
		"beyond integer": {slices.Repeat([]int{2}, 100), modeldist.CategoricalConfig{}, "more than 2^62 models"},
		"own limit":      {[]int{4}, modeldist.CategoricalConfig{Limit: 3}, "the limit is 3 models"},
		"bad limit":      {[]int{4}, modeldist.CategoricalConfig{Limit: -1}, "limit of -1 models"},
		"wrong length":   {[]int{2, 2}, modeldist.CategoricalConfig{LogPrior: make([]float64, 3)}, "has 3 values, the space has 4"},
		"not a number":   {[]int{2}, modeldist.CategoricalConfig{LogPrior: []float64{0, math.NaN()}}, "model 1 (code [1]) is NaN"},
		"infinite":       {[]int{2}, modeldist.CategoricalConfig{LogPrior: []float64{inf, 0}}, "model 0 (code [0]) is +Inf"},
		"no model":       {[]int{2}, modeldist.CategoricalConfig{LogPrior: []float64{-inf, -inf}}, "-Inf for all 2 models"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := modeldist.NewCategorical(c.cards, c.cfg)
			require.ErrorContains(t, err, c.want)
		})
	}
	_, err := modeldist.NewCategorical(slices.Repeat([]int{2}, 21), modeldist.CategoricalConfig{Limit: 1 << 21})
	require.NoError(t, err, "the limit can be raised")
}

func TestCategoricalMisuse(t *testing.T) {
	q, err := modeldist.NewCategorical([]int{2, 2}, modeldist.CategoricalConfig{})
	require.NoError(t, err)
	_, err = context.ExecOnce(backend(t), context.New(), q.LogProb, [][]int32{{0}})
	require.ErrorContains(t, err, "modeldist.Categorical.LogProb: want codes of shape [B, 2]")
	_, err = context.ExecOnce(backend(t), context.New(), q.Sample, [][]float32{{0, 0}})
	require.ErrorContains(t, err, "modeldist.Categorical.Sample: want uniforms of shape [B, 2] and dtype Float64")
}

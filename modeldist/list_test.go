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

	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/gradest"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/modeldist"
	"github.com/transdim/vti/space"
)

var _ distribution = (*modeldist.List)(nil)

// listCase is a distribution over lists, and its space.
type listCase struct {
	q *modeldist.List
	s *space.Lists
}

func newList(t testing.TB, items, slots int, cfg modeldist.ListConfig) listCase {
	t.Helper()
	q, err := modeldist.NewList(items, slots, cfg)
	require.NoError(t, err)
	s, err := space.NewLists(slices.Repeat([]int{1}, items), slots, 0)
	require.NoError(t, err)
	return listCase{q, s}
}

// perturbed returns a context in which every variable of q differs from its initial value.
func (c listCase) perturbed(t testing.TB, scale float64) *context.Context {
	t.Helper()
	ctx := context.New()
	run(t, ctx, c.q.LogProb, [][]int32{c.s.Code(nil, nil)}) // creates the variables
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

// logProbs returns the log probabilities of all codes. Most codes are not ascending lists.
func (c listCase) logProbs(t testing.TB, ctx *context.Context) []float64 {
	t.Helper()
	logProbs := run(t, ctx, c.q.LogProb, allCodes(c.s.Cards()))[0].([]float64)
	for index, code := range space.All(c.s.Cards()) {
		require.Equal(t, c.s.Valid(code), !math.IsInf(logProbs[index], -1), "code %v", code)
	}
	return logProbs
}

// listShapes are sizes of spaces of lists, down to the smallest possible size. The field active is
// the number of items whose log odds depend on the members before them; 0 stands for all items.
var listShapes = []struct{ items, slots, active int }{{5, 3, 0}, {5, 3, 2}, {6, 2, 1}, {4, 4, 3}, {3, 1, 2}, {1, 1, 0}}

func TestListSumsToOneAndSamples(t *testing.T) {
	testkit.Slow(t)
	for _, shape := range listShapes {
		for _, dtype := range []dtypes.DType{dtypes.Float32, dtypes.Float64} {
			t.Run(fmt.Sprint(shape, dtype), func(t *testing.T) {
				c := newList(t, shape.items, shape.slots, modeldist.ListConfig{Active: shape.active, Embedding: 4, Hidden: 8, DType: dtype})
				ctx := c.perturbed(t, 0.7)
				probs := c.logProbs(t, ctx)
				require.InDelta(t, 0, floats.LogSumExp(probs), map[dtypes.DType]float64{dtypes.Float32: 1e-6, dtypes.Float64: 1e-12}[dtype])
				for i := range probs {
					probs[i] = math.Exp(probs[i])
				}
				requireFrequencies(t, c.s.Cards(), probs, run(t, ctx, c.q.Sample, uniforms(21, 10_000, shape.slots))[0].([][]int32))
			})
		}
	}
}

// TestListStartsAtItsLogOdds checks that in an untrained distribution items are members
// independently, except that nothing is added to a full list.
func TestListStartsAtItsLogOdds(t *testing.T) {
	odds := []float64{0.4, -1.2, 2, -0.3, 0.8}
	for _, active := range []int{5, 2} {
		c := newList(t, 5, 3, modeldist.ListConfig{LogOdds: odds, Active: active, DType: dtypes.Float64})
		logProbs := c.logProbs(t, context.New())
		for index, code := range space.All(c.s.Cards()) {
			if !c.s.Valid(code) {
				continue
			}
			want, members := 0.0, c.s.Set(code)
			for item, x := range odds {
				switch {
				case slices.Contains(members, int32(item)):
					want -= math.Log1p(math.Exp(-x))
				// A full list has no term for the items after its last member.
				case len(members) < 3 || item < int(members[2]):
					want -= math.Log1p(math.Exp(x))
				}
			}
			require.InDelta(t, want, logProbs[index], 1e-12, "code %v", code)
		}
	}
}

// TestListSampleEnds checks that uniforms at the ends of their range give valid lists.
func TestListSampleEnds(t *testing.T) {
	below1 := math.Nextafter(1, 0)
	c := newList(t, 40, 3, modeldist.ListConfig{Active: 7})
	draws := run(t, context.New(), c.q.Sample, [][]float64{{0, 0, 0}, {below1, 0, 0}, {0.9999, 0, 0.999999}, {below1, below1, below1}})[0].([][]int32)
	require.Equal(t, []int32{0, 1, 2}, draws[0])
	for _, code := range draws {
		require.True(t, c.s.Valid(code), code)
	}
}

func TestListGradient(t *testing.T) {
	c := newList(t, 6, 3, modeldist.ListConfig{Active: 3, Embedding: 3, Hidden: 5, DType: dtypes.Float64})
	ctx := c.perturbed(t, 0.5)
	codes := [][]int32{{0, 1, 2}, {1, 4, 6}, {6, 6, 6}, {3, 4, 5}, {2, 1, 0}}
	score := func(ctx *context.Context, codes *graph.Node) *graph.Node {
		logProbs := c.q.LogProb(ctx, codes)
		// The last code is not an ascending list.
		logProbs = graph.Where(graph.IsFinite(logProbs), logProbs, graph.ZerosLike(logProbs))
		return graph.ReduceAllSum(graph.Mul(graph.AddScalar(graph.Iota(codes.Graph(), logProbs.Shape(), 0), -1.5), logProbs))
	}
	var variables []*context.Variable
	for v := range ctx.IterVariables() {
		variables = append(variables, v)
	}
	gradients, err := context.ExecOnceN(backend(t), ctx, func(ctx *context.Context, codes *graph.Node) []*graph.Node {
		loss := score(ctx, codes)
		return graph.Gradient(loss, valuesOf(variables, codes.Graph())...)
	}, codes)
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
				return value.MustExec(codes)[0].Value().(float64)
			}
			slope := (shifted(h) - shifted(-h)) / (2 * h)
			shifted(0)
			require.InDelta(t, slope, gradient[at], 1e-6*(1+math.Abs(slope)), "%s[%d]", v.ScopeAndName(), at)
		}
	}
}

// learn trains q on log weights of lists by the score-function gradient, in 200 steps of 256 draws.
// It returns the total variation distance between q and the normalised weights.
func (c listCase) learn(t testing.TB, logWeight func(members []int32) float64) (variation float64) {
	t.Helper()
	target := make([]float64, len(allCodes(c.s.Cards())))
	for index, code := range space.All(c.s.Cards()) {
		target[index] = math.Inf(-1)
		if c.s.Valid(code) {
			target[index] = logWeight(c.s.Set(code))
		}
	}
	floats.AddConst(-floats.LogSumExp(target), target)
	ctx := context.New()
	adam := optimizers.Adam().LearningRate(0.03).Done()
	train := context.MustNewExec(backend(t), ctx, func(ctx *context.Context, u *graph.Node) *graph.Node {
		codes := c.q.Sample(ctx, u)
		logQ := c.q.LogProb(ctx, codes)
		loss := graph.Sub(logQ, graph.Gather(graph.Const(u.Graph(), target), graph.InsertAxes(space.Index(c.s.Cards(), codes), -1)))
		surrogate, _ := gradest.ScoreFunction(loss, gradest.LeaveOneOut(loss), logQ)
		adam.UpdateGraph(ctx, u.Graph(), surrogate)
		return surrogate
	})
	for step := range 200 {
		_, err := train.Exec(uniforms(uint64(step), 256, len(c.s.Cards())))
		require.NoError(t, err)
	}
	for i, logProb := range c.logProbs(t, ctx) {
		variation += math.Abs(math.Exp(logProb)-math.Exp(target[i])) / 2
	}
	return variation
}

// TestListLearnsDependence learns from rewards under which two items exclude each other.
// Independent hazards cannot represent this.
func TestListLearnsDependence(t *testing.T) {
	testkit.Slow(t)
	exclusive := func(members []int32) float64 {
		if slices.Contains(members, 1) == slices.Contains(members, 3) {
			return -3
		}
		return 0.5 * float64(len(members)%2)
	}
	cfg := modeldist.ListConfig{Embedding: 8, Hidden: 16}
	require.Less(t, newList(t, 6, 3, cfg).learn(t, exclusive), 0.06)
	cfg.Active = 1 // the log odds of the second item cannot depend on the first item
	require.Greater(t, newList(t, 6, 3, cfg).learn(t, exclusive), 0.12)
}

// TestListLearnsItsTail checks that the log odds of items whose log odds do not depend on other
// members (not active) are learned.
func TestListLearnsItsTail(t *testing.T) {
	testkit.Slow(t)
	independent := func(members []int32) (sum float64) {
		for _, item := range members {
			sum += []float64{0.5, -2, 1, -1, 1.5}[item]
		}
		return sum
	}
	require.Less(t, newList(t, 5, 5, modeldist.ListConfig{Active: 1, Embedding: 4, Hidden: 8}).learn(t, independent), 0.06)
}

func TestNewListErrors(t *testing.T) {
	for _, c := range []struct {
		items, slots int
		cfg          modeldist.ListConfig
		want         string
	}{
		{0, 1, modeldist.ListConfig{}, "0 items"}, {3, 4, modeldist.ListConfig{}, "at most 4 of 3 items"},
		{3, 1, modeldist.ListConfig{Active: -1}, "want none negative"}, {3, 1, modeldist.ListConfig{LogOdds: []float64{1}}, "1 log odds for 3 items"},
		{2, 1, modeldist.ListConfig{LogOdds: []float64{0, math.Inf(1)}}, "item 1 are +Inf"}, {2, 1, modeldist.ListConfig{DType: dtypes.Int32}, "Float32 or Float64"},
	} {
		_, err := modeldist.NewList(c.items, c.slots, c.cfg)
		require.ErrorContains(t, err, c.want)
	}
}

// BenchmarkList measures drawing, log probabilities and their gradients, for thousands of items.
func BenchmarkList(b *testing.B) {
	device, err := gpu.Open(gpu.CPU)
	require.NoError(b, err)
	defer device.Close()
	const slots = 20
	for _, size := range []struct{ items, batch int }{{1000, 256}, {1000, 1024}, {10000, 256}, {10000, 1024}} {
		odds := slices.Repeat([]float64{-math.Log(float64(size.items) / 5)}, size.items)
		q, err := modeldist.NewList(size.items, slots, modeldist.ListConfig{LogOdds: odds})
		require.NoError(b, err)
		ctx := context.New()
		u := uniforms(1, size.batch, slots)
		codes := context.MustNewExec(device.Backend(), ctx, q.Sample).MustExec(u)[0]
		run := func(name string, input any, f func(ctx *context.Context, x *graph.Node) []*graph.Node) {
			b.Run(fmt.Sprintf("%s/items=%d/batch=%d", name, size.items, size.batch), func(b *testing.B) {
				exec := context.MustNewExec(device.Backend(), ctx, f)
				exec.MustExec(input)
				b.ReportAllocs()
				for b.Loop() {
					exec.MustExec(input)
				}
			})
		}
		run("Sample", u, func(ctx *context.Context, u *graph.Node) []*graph.Node { return []*graph.Node{q.Sample(ctx, u)} })
		run("LogProb", codes, func(ctx *context.Context, codes *graph.Node) []*graph.Node {
			return []*graph.Node{q.LogProb(ctx, codes)}
		})
		run("Gradient", codes, func(ctx *context.Context, codes *graph.Node) []*graph.Node {
			logQ := q.LogProb(ctx, codes)
			var variables []*graph.Node
			for v := range ctx.IterVariables() {
				variables = append(variables, v.ValueGraph(codes.Graph()))
			}
			return append(graph.Gradient(graph.ReduceAllSum(logQ), variables...), logQ)
		})
	}
}

package rjmcmc

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/space"
)

// densities returns a result with the log densities of normal draws in two dimensions.
func densities(chains, draws int, seed uint64) *Result {
	random := rand.New(rand.NewPCG(seed, 3))
	r := &Result{Chains: chains, ladder: []float64{1}, atStart: make([]int, draws)}
	for range chains * draws {
		r.LogDensity = append(r.LogDensity, -random.ExpFloat64())
	}
	return r
}

// Of a thousand stationary runs of this size, settle shortens two on average, and nine or more for
// one in 4,000 choices of seeds. In a further run, the first 30 draws of a chain are far too low,
// and one chain is at its starting point until the draw with index 40: settle drops the first 41
// draws of all chains. A run of ten draws per chain is too short, and keeps its draws.
func TestSettle(t *testing.T) {
	cut := 0
	for seed := range uint64(1000) {
		r := densities(8, 500, seed)
		r.settle()
		if r.discarded > 0 {
			cut++
		}
	}
	assert.Less(t, cut, 9)

	r := densities(8, 500, 1)
	for i := range 30 {
		r.LogDensity[i*8+5] = -100 + float64(i)
	}
	r.atStart[40] = 1
	r.settle()
	assert.Equal(t, 41, r.discarded)
	assert.Equal(t, 459*8, r.Draws())
	assert.Zero(t, r.unmoved())

	few := densities(2, 10, 1)
	few.LogDensity[0] = -1000
	few.settle()
	assert.Zero(t, few.discarded, "too few draws to say")
}

// Chains that start far away, with hardly any burn-in, do not spoil moments. Without settle, the
// standard deviations would be many times too large.
func TestStartsDoNotLeakIntoDraws(t *testing.T) {
	testkit.Slow(t)
	l := correlatedLinear(t)
	const far = 30 // factor by which the columns are multiplied, and the coefficients divided
	for _, row := range l.x {
		floats.Scale(far, row)
	}
	l.tau /= far
	r, err := Run(context.Background(), testkit.Backend(t), l, Config{Chains: 32, BurnIn: 8, Iterations: 4000, Thin: 2, Seed: 2})
	require.NoError(t, err)
	assert.Positive(t, r.Info.Discarded)
	assert.Less(t, r.Info.Discarded, 1000)
	assert.Zero(t, r.Info.AtStart)
	z, where := l.worst(r)
	assert.Less(t, z, sigmas, where)
}

// oneModel has two models, the second almost excluded a priori; the one coordinate of both is
// standard normal.
type oneModel struct{ *space.Table }

func (o oneModel) Space() space.Space { return o.Table }

func (oneModel) LogPrior(codes *graph.Node) *graph.Node {
	second := graph.ConvertDType(graph.ReduceSum(codes, 1), graph.Const(codes.Graph(), 0.0).DType())
	return graph.MulScalar(second, -1e9)
}

func (oneModel) LogJoint(_, _, theta *graph.Node) *graph.Node {
	return graph.MulScalar(graph.ReduceSum(graph.Square(theta), 1), -0.5)
}

// Chains whose only move is to the other model stay at their starting points: AtStart counts all
// draws, and the diagnostics show it. With walks AtStart is 0.
func TestChainsThatNeverMoveAreSeen(t *testing.T) {
	sp, err := space.NewTable([][]bool{{true}, {true}})
	require.NoError(t, err)
	cfg := Config{Chains: 8, BurnIn: -1, Iterations: 100, Thin: 1, Walks: -1, Joints: -1, Starts: [][]int32{{0}}}
	r, err := Run(context.Background(), testkit.Backend(t), oneModel{sp}, cfg)
	require.NoError(t, err)
	assert.Equal(t, 800, r.Info.AtStart)
	assert.Zero(t, r.Info.Discarded)
	assert.True(t, math.IsInf(r.LogDensitySummary().RHat, 1))

	cfg.Walks = 1
	r, err = Run(context.Background(), testkit.Backend(t), oneModel{sp}, cfg)
	require.NoError(t, err)
	assert.Zero(t, r.Info.AtStart)
	assert.Positive(t, r.Info.Discarded, "the first draw of a chain that has not moved yet")
	assert.Less(t, r.LogDensitySummary().RHat, 1.1)
}

// An event seen once gets an error of at least 1/n for n effective draws, and an event never seen
// gets a positive error.
func TestErrorsOfRareEvents(t *testing.T) {
	seen := func(times int) Summary {
		r := densities(10, 400, 1)
		return r.summariseIndicator(func(d int) bool { return d%97 == 3 && d/97 < times })
	}
	never, once, often := seen(0), seen(1), seen(30)
	assert.Greater(t, never.MCSE, once.MCSE)
	assert.Greater(t, once.MCSE, 1.0/4000)
	assert.InDelta(t, math.Sqrt(30)/4000, often.MCSE, 0.4*math.Sqrt(30)/4000)
	always := densities(10, 400, 1).summariseIndicator(func(int) bool { return true })
	assert.Equal(t, never.MCSE, always.MCSE)
	assert.Equal(t, 1.0, always.Mean)
}

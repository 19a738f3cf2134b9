package rjmcmc

import (
	"context"
	"math"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/space"
)

// separated has two models with equal prior probabilities and one coordinate each. The first model
// has evidence e^-6 and the posterior N(4, 0.1²). The second has the posterior ¾ N(−4, 0.1²) + ¼
// N(4, 0.1²), with two modes many standard deviations apart.
type separated struct{ *space.Table }

func newSeparated(t *testing.T) separated {
	sp, err := space.NewTable([][]bool{{true, false}, {false, true}})
	require.NoError(t, err)
	return separated{sp}
}

func (s separated) Space() space.Space { return s.Table }

func (separated) LogPrior(codes *graph.Node) *graph.Node {
	return graph.BroadcastToDims(graph.Const(codes.Graph(), -math.Ln2), codes.Shape().Dim(0))
}

func (separated) LogJoint(codes, mask, theta *graph.Node) *graph.Node {
	const sd = 0.1
	normal := func(coordinate int, mean, weight float64) *graph.Node {
		x := graph.Squeeze(graph.Slice(theta, graph.AxisRange(), graph.AxisElem(coordinate)), 1)
		return graph.AddScalar(graph.MulScalar(graph.Square(graph.AddScalar(x, -mean)), -0.5/(sd*sd)), math.Log(weight/sd)-0.5*math.Log(2*math.Pi))
	}
	left, right := normal(1, -4, 0.75), normal(1, 4, 0.25)
	larger := graph.Max(left, right)
	both := graph.Add(larger, graph.Log1P(graph.Exp(graph.Neg(graph.Abs(graph.Sub(left, right))))))
	second := graph.Squeeze(graph.Slice(mask, graph.AxisRange(), graph.AxisElem(1)), 1)
	return graph.Where(second, both, graph.AddScalar(normal(0, 4, 1), -6))
}

// In a posterior where plain chains stay at their starting points, tempered chains find the
// evidence and the weights of modes. The bounds are 5 standard errors on three quantities: one seed
// in 5e5 fails by chance.
func TestTemperedChainsCrossBetweenModes(t *testing.T) {
	testkit.Slow(t)
	target := newSeparated(t)
	cfg := Config{Chains: 32, BurnIn: 300, Iterations: 3000, Seed: 3, Starts: [][]int32{{1}}}
	plain, err := Run(context.Background(), testkit.Backend(t), target, cfg)
	require.NoError(t, err)
	negative := func(r *Result) Summary {
		return r.summariseIndicator(func(d int) bool { return r.Theta(d)[1] < 0 })
	}
	assert.False(t, negative(plain).RHat < 1.5, "plain chains were not meant to manage")

	cfg.Temperatures = 8
	r, err := Run(context.Background(), testkit.Backend(t), target, cfg)
	require.NoError(t, err)
	in := r.Outcome(0, 1)
	evidence := []float64{math.Exp(-6) / 2, 0.5}
	assert.InDelta(t, evidence[1]/(evidence[0]+evidence[1]), in.Mean, 5*in.MCSE)
	left := negative(r)
	assert.InDelta(t, 0.75*evidence[1]/(evidence[0]+evidence[1]), left.Mean, 5*left.MCSE)
	assert.Less(t, max(in.RHat, left.RHat), 1.02)
	value, se := r.LogEvidence()
	assert.InDelta(t, math.Log(evidence[0]+evidence[1]), value, 5*se)
	assert.Less(t, se, 0.1)
	assert.Len(t, r.Info.Exchanges, 7)
	assert.Greater(t, r.Info.RoundTrips, 50)
}

// Tempered chains sample the posterior of the linear model, with and without its quadratic
// approximation. Chains whose exchanges ignore the acceptance ratio give wrong answers.
func TestTemperedLinearModel(t *testing.T) {
	testkit.Long(t)
	l := correlatedLinear(t)
	cfg := Config{Chains: 48, BurnIn: 300, Iterations: 1200, Thin: 2, Seed: 1, Temperatures: 4}
	r, err := Run(context.Background(), testkit.Backend(t), l, cfg)
	require.NoError(t, err)
	z, where := l.worst(r)
	assert.Less(t, z, sigmas, where)
	value, se := r.LogEvidence()
	_, exact := l.enumerate()
	assert.InDelta(t, exact, value, 5*se)
	assert.Less(t, se, 0.05)

	s, err := newSampler(testkit.Backend(t), l, cfg)
	require.NoError(t, err)
	s.logExchange = func(cold, hot int) float64 { return 0 }
	broken, err := s.run(context.Background())
	require.NoError(t, err)
	z, where = l.worst(broken)
	assert.Greater(t, z, sigmas, where)
}

func TestTemperedLists(t *testing.T) {
	testkit.Long(t)
	l := smallList(t)
	r, err := Run(context.Background(), testkit.Backend(t), approximated{l},
		Config{Chains: 48, BurnIn: 300, Iterations: 600, Thin: 2, Seed: 1, Jumps: 2, Temperatures: 4})
	require.NoError(t, err)
	z, _, where := l.worst(t, r)
	assert.Less(t, z, sigmas, where)
	assert.Less(t, r.LogDensitySummary().RHat, 1.02)
}

// logRatio finds the ratio of the normalising constants of two normal densities, from their exact
// quantiles in place of draws.
func TestLogRatio(t *testing.T) {
	const n = 20001
	var cold, hot []float64
	for i := range n {
		u := math.Sqrt2 * math.Erfinv(2*(float64(i)+0.5)/n-1)
		// log ratio of the kernels of N(0, ½²) and N(0, 1), plus 3
		logDensityRatio := func(x float64) float64 { return -0.5*x*x*4 + 0.5*x*x + 3 }
		cold, hot = append(cold, logDensityRatio(u/2)), append(hot, logDensityRatio(u))
	}
	assert.InDelta(t, 3-math.Ln2, logRatio(cold, hot), 1e-3)
}

func TestEnoughEndsARun(t *testing.T) {
	asked := 0
	r, err := Run(context.Background(), testkit.Backend(t), correlatedLinear(t), Config{Chains: 8, BurnIn: 20, Iterations: 160, Thin: 2, Enough: func(r *Result) bool {
		asked++
		return r.Draws() >= 3*5*8
	}})
	require.NoError(t, err)
	assert.Equal(t, 3, asked)
	assert.Equal(t, 3*5*8, r.Draws())
}

func TestFurtherLengthensARun(t *testing.T) {
	var asked []int
	r, err := Run(context.Background(), testkit.Backend(t), correlatedLinear(t), Config{Chains: 8, BurnIn: 20, Iterations: 160, Thin: 2, Further: func(r *Result) int {
		asked = append(asked, r.Draws()/r.Chains)
		return 50 * (3 - len(asked))
	}})
	require.NoError(t, err)
	assert.Equal(t, []int{80, 130, 155}, asked)
	assert.Equal(t, 155*8, r.Draws())
	first := r.First(80)
	assert.Equal(t, 80*8, first.Draws())
	shorter, err := Run(context.Background(), testkit.Backend(t), correlatedLinear(t), Config{Chains: 8, BurnIn: 20, Iterations: 160, Thin: 2})
	require.NoError(t, err)
	assert.Equal(t, shorter.LogDensity, first.LogDensity)
	assert.Equal(t, shorter.LogDensitySummary(), first.LogDensitySummary())
}

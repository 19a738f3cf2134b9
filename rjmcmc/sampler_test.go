package rjmcmc

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/space"
)

// sigmas bounds |estimate − exact| / MCSE. A normal error exceeds it once in 150,000 seeds.
const sigmas = 4.5

// correlatedLinear has an intercept and four predictors, the second nearly a copy of the first.
func correlatedLinear(t testing.TB) linearTarget {
	rng := rand.New(rand.NewPCG(3, 1))
	sp, err := space.NewSubsets(5, []int{0}, [][]int{{1}, {2}, {3}, {4}})
	require.NoError(t, err)
	l := linearTarget{space: sp, sigma: 1, tau: 1.2, inclusion: 0.4}
	for range 30 {
		a, c := rng.NormFloat64(), rng.NormFloat64()
		row := []float64{1, a, a + 0.35*rng.NormFloat64(), c, 0.5*c + rng.NormFloat64()}
		l.x = append(l.x, row)
		l.y = append(l.y, 0.3+0.45*row[1]-0.4*row[3]+rng.NormFloat64())
	}
	return l
}

// worst returns the largest error of model probabilities and of first and second moments of the
// coefficients, in Monte Carlo standard errors, and the quantity with this error.
func (l linearTarget) worst(r *Result) (float64, string) {
	var z float64
	var where string
	see := func(got Summary, want float64, format string, args ...any) {
		if e := math.Abs(got.Mean-want) / got.MCSE; e > z || math.IsNaN(e) {
			z, where = e, fmt.Sprintf(format+": got %.5f ± %.5f, want %.5f", append(args, got.Mean, got.MCSE, want)...)
		}
	}
	models := l.exact()
	for _, m := range models {
		see(r.summariseIndicator(func(d int) bool { return slices.Equal(r.Codes(d), m.codes) }), m.probability, "P(%v)", m.codes)
	}
	for j := range r.Dim {
		var mean, second float64
		for _, m := range models {
			mean += m.probability * m.mean[j]
			second += m.probability * m.second[j]
		}
		see(r.Summarise(func(d int) float64 { return r.Theta(d)[j] }), mean, "E β_%d", j)
		see(r.Summarise(func(d int) float64 { return r.Theta(d)[j] * r.Theta(d)[j] }), second, "E β_%d²", j)
	}
	return z, where
}

func TestConjugateLinearModel(t *testing.T) {
	testkit.Slow(t)
	l := correlatedLinear(t)
	base := Config{Chains: 64, BurnIn: 400, Iterations: 1500, Thin: 2, Seed: 1}
	variants := map[string]func(*Config){
		"all moves":     func(*Config) {},
		"jump and walk": func(c *Config) { c.Swaps, c.Joints = -1, -1 },
		"swap heavy":    func(c *Config) { c.Swaps, c.Walks = 3, -1 },
		"untuned":       func(c *Config) { c.BurnIn = 10 },
	}
	for name, change := range variants {
		t.Run(name, func(t *testing.T) {
			cfg := base
			change(&cfg)
			r, err := Run(context.Background(), testkit.Backend(t), l, cfg)
			require.NoError(t, err)
			z, where := l.worst(r)
			assert.Less(t, z, sigmas, where)
			for j := 1; j < r.Dim; j++ {
				assert.Less(t, r.Inclusion(j).RHat, 1.02)
			}
			assert.Less(t, r.LogDensitySummary().RHat, 1.02)
			assert.Zero(t, r.Info.NonFinite)
		})
	}
}

func TestFactorsEnterTogether(t *testing.T) {
	testkit.Slow(t)
	l := correlatedLinear(t)
	var err error
	l.space, err = space.NewSubsets(5, []int{0}, [][]int{{1, 2}, {3, 4}})
	require.NoError(t, err)
	r, err := Run(context.Background(), testkit.Backend(t), l, Config{Chains: 64, BurnIn: 400, Iterations: 1500, Thin: 2, Seed: 1})
	require.NoError(t, err)
	z, where := l.worst(r)
	assert.Less(t, z, sigmas, where)
}

// Above MaxQuadraticDim coordinates the sampler works without a quadratic approximation.
func TestManyCoordinates(t *testing.T) {
	testkit.Slow(t)
	rng := rand.New(rand.NewPCG(3, 1))
	var groups [][]int
	for j := range MaxQuadraticDim + 1 {
		groups = append(groups, []int{j})
	}
	sp, err := space.NewSubsets(len(groups), nil, groups)
	require.NoError(t, err)
	l := linearTarget{space: sp, sigma: 1, tau: 1, inclusion: 0.01}
	for range 60 {
		row := make([]float64, len(groups))
		for j := range row {
			row[j] = rng.NormFloat64()
		}
		l.x = append(l.x, row)
		l.y = append(l.y, 3*row[7]+rng.NormFloat64())
	}
	r, err := Run(context.Background(), testkit.Backend(t), l, Config{Chains: 16, BurnIn: 1200, Iterations: 300, Walks: 2, Seed: 1})
	require.NoError(t, err)
	assert.Nil(t, r.Tuning.Quadratic)
	assert.Zero(t, r.Info.Proposed[Joint])
	assert.Greater(t, r.Inclusion(7).Mean, 0.9)
	in := r.Summarise(func(d int) float64 { return r.Theta(d)[7] })
	assert.InDelta(t, 3, in.Mean, 1)
}

func TestBrokenTransfersAreCaught(t *testing.T) {
	testkit.Slow(t)
	l := correlatedLinear(t)
	breakers := map[string]func(*sampler){
		"proposal densities left out": func(s *sampler) {
			s.transfer = func(w *workspace, c int) float64 {
				s.propagate(w, c)
				return 0
			}
		},
		"kept coordinates shift one way only": func(s *sampler) {
			s.transfer = func(w *workspace, c int) float64 {
				_, theta, mask := s.proposal.row(c)
				_, from, was := s.state.row(c)
				logRatio := s.propagate(w, c)
				if countTrue(mask) < countTrue(was) {
					for j := range theta {
						if mask[j] && was[j] {
							theta[j] = from[j]
						}
					}
				}
				return logRatio
			}
		},
		// This sampler reuses the old values of inactive coordinates.
		"stale coefficients": func(s *sampler) {
			last := make([]float64, len(s.state.theta))
			s.transfer = func(w *workspace, c int) float64 {
				_, theta, mask := s.proposal.row(c)
				_, from, was := s.state.row(c)
				stale := last[c*s.dim : (c+1)*s.dim]
				for j := range theta {
					switch {
					case was[j] && !mask[j]:
						stale[j], theta[j] = from[j], 0
					case mask[j] && !was[j]:
						theta[j] = stale[j]
					}
				}
				return 0
			}
		},
	}
	for name, breakIt := range breakers {
		t.Run(name, func(t *testing.T) {
			s, err := newSampler(testkit.Backend(t), l, Config{Chains: 64, BurnIn: 400, Iterations: 1500, Thin: 2, Seed: 1})
			require.NoError(t, err)
			breakIt(s)
			r, err := s.run(context.Background())
			require.NoError(t, err)
			z, where := l.worst(r)
			assert.Greater(t, z, sigmas, where)
		})
	}
}

func countTrue(mask []bool) int {
	n := 0
	for _, on := range mask {
		if on {
			n++
		}
	}
	return n
}

func TestTwoModelsOfDifferentDimension(t *testing.T) {
	sp, err := space.NewTable([][]bool{{true, false, false}, {false, true, true}})
	require.NoError(t, err)
	target := tableTarget{
		space: sp, prior: []float64{0.2, 0.8}, centre: [][]float64{{3, 0, 0}, {0, -10, 0.1}}, spread: []float64{0.3, 2, 0.05},
	}
	r, err := Run(context.Background(), testkit.Backend(t), target, Config{Chains: 64, BurnIn: 600, Iterations: 1000, Seed: 2})
	require.NoError(t, err)
	for index, p := range target.prior {
		got := r.Outcome(0, int32(index))
		assert.InDelta(t, p, got.Mean, sigmas*got.MCSE)
		assert.Less(t, got.MCSE, 0.01)
	}
	within := r.Summarise(func(d int) float64 { return (r.Theta(d)[1] + 10) * indicator(r.Mask(d)[1]) })
	assert.InDelta(t, 0, within.Mean, sigmas*within.MCSE)
	for d := range r.Draws() {
		for j, on := range r.Mask(d) {
			require.Equal(t, on, r.Theta(d)[j] != 0, "inactive coordinates are 0")
		}
	}
}

// Jumps and swaps are reversible in a space whose sites have one, two or three outcomes and whose
// models have random masks: the probabilities of models agree with the target.
func TestAnyCards(t *testing.T) {
	testkit.Slow(t)
	rng := rand.New(rand.NewPCG(9, 9))
	cards := []int{3, 2, 3, 1, 2, 3}
	n, _ := space.CountCodes(cards)
	target := tableTarget{spread: []float64{1, 0.5, 2, 1}}
	masks := make([][]bool, n)
	var total float64
	for i := range masks {
		row := make([]float64, 4)
		for j := range row {
			masks[i] = append(masks[i], rng.IntN(2) == 1)
			row[j] = rng.NormFloat64()
		}
		target.centre = append(target.centre, row)
		p := rng.ExpFloat64()
		target.prior = append(target.prior, p)
		total += p
	}
	target.space = maskTable{cards, masks}
	for name, cfg := range map[string]Config{
		"jumps": {Swaps: -1},
		"swaps": {Swaps: 4},
	} {
		t.Run(name, func(t *testing.T) {
			cfg.Chains, cfg.BurnIn, cfg.Iterations, cfg.Thin, cfg.Seed = 128, 300, 1500, 3, 5
			r, err := Run(context.Background(), testkit.Backend(t), target, cfg)
			require.NoError(t, err)
			var chi2, count float64
			for _, m := range r.Models(0) {
				want := target.prior[space.Encode(cards, m.Codes)] / total
				if want < 0.001 {
					continue // too few visits for a normal approximation
				}
				z := (m.Mean - want) / m.MCSE
				chi2 += z * z
				count++
				assert.Less(t, math.Abs(z), sigmas, "P(%v) = %g, want %g", m.Codes, m.Mean, want)
			}
			assert.Greater(t, count, 80.0)
			// The mean of the squared errors is about 1: the estimates have no bias, and the MCSEs
			// are not too small.
			assert.InDelta(t, 1, chi2/count, sigmas*math.Sqrt(2/count))
		})
	}
}

func TestAdaptationStopsAfterBurnIn(t *testing.T) {
	l := correlatedLinear(t)
	var tunings []Tuning
	for _, iterations := range []int{5, 60} {
		r, err := Run(context.Background(), testkit.Backend(t), l, Config{Chains: 8, BurnIn: 100, Iterations: iterations, Seed: 3})
		require.NoError(t, err)
		tunings = append(tunings, r.Tuning)
	}
	assert.Equal(t, tunings[0], tunings[1])
	assert.NotEqual(t, newTuning(5), tunings[0])

	// Without burn-in the proposals do not adapt.
	r, err := Run(context.Background(), testkit.Backend(t), l, Config{Chains: 8, BurnIn: -1, Iterations: 50, Seed: 3})
	require.NoError(t, err)
	assert.Equal(t, newTuning(5), r.Tuning)
}

func TestAdaptationReachesItsTargets(t *testing.T) {
	sp, err := space.NewSubsets(3, []int{0, 1}, [][]int{{2}})
	require.NoError(t, err)
	target := tableTarget{
		space: sp, prior: []float64{0.5, 0.5}, centre: [][]float64{{0, 500, 0}, {0, 500, 20}}, spread: []float64{1e-3, 40, 3},
	}
	r, err := Run(context.Background(), testkit.Backend(t), target, Config{Chains: 64, BurnIn: 1500, Iterations: 400, Seed: 4})
	require.NoError(t, err)
	assert.InDelta(t, walkTarget, r.Info.Acceptance(Walk), 0.05)
	assert.InDelta(t, jointTarget(2), r.Info.Acceptance(Joint), 0.06)
	assert.Greater(t, r.Info.Acceptance(Jump), 0.5)
	assert.InDelta(t, 500, r.Tuning.BirthMean[1], 10)
	assert.InDelta(t, 20, r.Tuning.BirthMean[2], 1)
	assert.InDelta(t, 3*birthInflation, r.Tuning.BirthSD[2], 0.5)
}

func TestSameDrawsOnAnyNumberOfCores(t *testing.T) {
	l := correlatedLinear(t)
	var results []*Result
	for _, cores := range []int{1, 4} {
		previous := runtime.GOMAXPROCS(cores)
		r, err := Run(context.Background(), testkit.Backend(t), l, Config{Chains: 2*blockRows - 5, Temperatures: 3, BurnIn: 50, Iterations: 50, Seed: 7})
		runtime.GOMAXPROCS(previous)
		require.NoError(t, err)
		results = append(results, r)
	}
	assert.Equal(t, results[0], results[1])
	other, err := Run(context.Background(), testkit.Backend(t), l, Config{Chains: 2*blockRows - 5, Temperatures: 3, BurnIn: 50, Iterations: 50, Seed: 8})
	require.NoError(t, err)
	assert.NotEqual(t, results[0].LogDensity, other.LogDensity)
}

func TestCancel(t *testing.T) {
	l := correlatedLinear(t)
	run := func(at int) (*Result, error) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		return Run(ctx, testkit.Backend(t), l, Config{Chains: 4, BurnIn: 20, Iterations: 100, Thin: 10, Progress: func(p Progress) {
			assert.Equal(t, 120, p.Total)
			assert.Equal(t, p.Iteration <= 20, p.BurnIn)
			if p.Iteration == at {
				cancel()
			}
		}})
	}
	r, err := run(10)
	assert.ErrorIs(t, err, context.Canceled)
	assert.Nil(t, r)
	r, err = run(50) // with thinning, blocks of chains wait for each other when a draw is kept
	assert.ErrorIs(t, err, context.Canceled)
	require.NotNil(t, r)
	assert.Equal(t, 3*4, r.Draws())
	assert.Len(t, r.Models(0)[0].Codes, 4)
}

// brokenTarget replaces the LogJoint of a linearTarget.
type brokenTarget struct {
	linearTarget
	logJoint func(theta *graph.Node) *graph.Node
}

func (b brokenTarget) LogJoint(_, _, theta *graph.Node) *graph.Node { return b.logJoint(theta) }

func TestBadTargets(t *testing.T) {
	l := correlatedLinear(t)
	run := func(f func(theta *graph.Node) *graph.Node) error {
		_, err := Run(context.Background(), testkit.Backend(t), brokenTarget{l, f}, Config{Chains: 4, BurnIn: 30, Iterations: 30})
		return err
	}
	sum := func(theta *graph.Node) *graph.Node { return graph.ReduceSum(theta, 1) }
	assert.ErrorContains(t, run(func(theta *graph.Node) *graph.Node {
		return graph.Log(graph.SubScalar(graph.MulScalar(graph.Square(sum(theta)), -1), 1))
	}), "no start with a finite log density for 4 of 4 chains")
	assert.ErrorContains(t, run(func(theta *graph.Node) *graph.Node { // NaN above 0, finite below
		return graph.Sub(graph.Log(graph.MulScalar(sum(theta), -1)), graph.Square(sum(theta)))
	}), "NaN or +Inf")
	assert.ErrorContains(t, run(func(*graph.Node) *graph.Node { panic("oops") }), "oops")
	assert.ErrorContains(t, run(func(theta *graph.Node) *graph.Node { return graph.ReduceAllSum(theta) }), "rjmcmc: evaluating the target")
}

func TestValidate(t *testing.T) {
	assert.NoError(t, Config{}.Validate())
	for _, c := range []Config{
		{Chains: -1}, {Iterations: -1}, {Thin: -1}, {Iterations: 4}, {Jumps: -1, Swaps: -1},
	} {
		err := c.Validate()
		assert.ErrorContains(t, err, "rjmcmc: ", "%+v", c)
	}
}

func indicator(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// Blocks that make several moves before they wait for each other end in the same states as blocks
// that wait after each move.
func TestMovesOfAnIteration(t *testing.T) {
	run := func(size int) *sampler {
		s, err := newSampler(testkit.Backend(t), correlatedLinear(t), Config{Chains: 4, BurnIn: 20, Iterations: 5})
		require.NoError(t, err)
		defer s.density.close()
		_, err = s.run(t.Context())
		require.NoError(t, err)
		schedule := slices.Repeat(s.schedule(s.iteration), 20)
		for part := range slices.Chunk(schedule, size) {
			require.NoError(t, s.steps(part))
		}
		return s
	}
	want := run(1)
	for _, size := range []int{4, 6, 1 << 20} {
		got := run(size)
		require.Equal(t, want.state.theta, got.state.theta)
		require.Equal(t, want.state.codes, got.state.codes)
		require.Equal(t, want.info.Proposed, got.info.Proposed)
	}
}

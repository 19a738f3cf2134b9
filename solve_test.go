package vti_test

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/modeldist"
)

// bent is a conjugate model in which a parabola in the intercept is added to the other
// coefficients. Evidences are unchanged, but no normal distribution fits the posteriors.
type bent struct {
	*conjugate
	by float64
}

func (b bent) LogJoint(codes, mask, theta *Node) *Node {
	dim := theta.Shape().Dim(1)
	intercept := SliceAxis(theta, 1, AxisElem(0)) // [B,1]
	shift := MulScalar(Square(MulScalar(intercept, 2)), b.by)
	others := Sub(SliceAxis(theta, 1, AxisRange(1, dim)), shift)
	return b.conjugate.LogJoint(codes, mask, Concatenate([]*Node{intercept, others}, 1))
}

func (c *conjugate) inclusion() []float64 {
	p := len(c.space.Cards())
	var masses []float64
	var codes [][]int32
	for index := range 1 << p {
		code := make([]int32, p)
		for j := range code {
			code[j] = int32(index >> j & 1)
		}
		evidence, _, _, _ := c.exact(code)
		masses, codes = append(masses, evidence), append(codes, code)
	}
	total, inclusion := logsum.Of(masses), make([]float64, p)
	for i, code := range codes {
		for j, bit := range code {
			inclusion[j] += float64(bit) * math.Exp(masses[i]-total)
		}
	}
	return inclusion
}

// requirePrecise checks the inclusion probabilities of columns. Their standard errors must be below
// precision, and their errors at most five standard errors, which a right answer exceeds by chance
// in one of 1.7 million comparisons.
func requirePrecise(t *testing.T, c *vti.Certificate, exact []float64, precision float64) {
	t.Helper()
	require.Equal(t, vti.Trusted, c.Verdict, c.Reasons)
	for j, want := range exact {
		got, se := c.Probability(func(code []int32) bool { return code[j] == 1 })
		require.LessOrEqual(t, se, precision)
		require.InDelta(t, want, got, 5*se+1e-6, "column %d", j)
	}
}

// TestSolveTrainsNothingWhereNothingIsMissing checks that Solve does not train for a conjugate
// target, for which an untrained flow, the normal approximation, is exact.
func TestSolveTrainsNothingWhereNothingIsMissing(t *testing.T) {
	target := newConjugate(30, 3)
	solution, err := vti.Solve(t.Context(), openDevice(t, gpu.CPU), target, vti.SolveConfig{Fit: vti.Config{Seed: 1}})
	require.NoError(t, err)
	require.Zero(t, solution.Posterior.Steps())
	require.InDelta(t, 0, solution.Divergence, 0.01)
	require.Empty(t, solution.Advice)
	requirePrecise(t, solution.Certificate, target.inclusion(), 0.005)
}

// TestSolveTrainsForWhatIsLacking checks that training ends when Lacks returns "", or after 3
// rounds.
func TestSolveTrainsForWhatIsLacking(t *testing.T) {
	testkit.Slow(t)
	target, cfg := newConjugate(30, 3), hardConfig(t)
	cfg.Fit.Checkpoint = ""
	for lacking, rounds := range map[int]int{1: 1, 100: 3} {
		asked, trained := 0, 0
		cfg.Lacks = func(c *vti.Certificate) string {
			require.Equal(t, vti.Trusted, c.Verdict)
			if asked++; asked > lacking {
				return ""
			}
			return "a moment"
		}
		solution, err := vti.Solve(t.Context(), openDevice(t, gpu.CPU), target, cfg)
		require.NoError(t, err)
		for _, round := range solution.Rounds {
			if round.Work == vti.Training {
				require.Equal(t, "a moment", round.Why)
				trained++
			}
		}
		require.Equal(t, rounds, trained)
		requirePrecise(t, solution.Certificate, target.inclusion(), 0.005)
	}
}

// hardConfig returns settings with which Solve must train on a bent target.
func hardConfig(t *testing.T) vti.SolveConfig {
	fit := smallConfig()
	fit.Steps, fit.FirstRound, fit.CheckpointEvery = 310, 10, 7
	fit.Checkpoint = filepath.Join(t.TempDir(), "posterior.vti")
	return vti.SolveConfig{Fit: fit, Certify: vti.CertifyConfig{Draws: 1 << 17}}
}

// If the weights of the untrained flow are bad, rounds of training make them good.
func TestSolveTrainsUntilWeightsAreGood(t *testing.T) {
	testkit.Long(t)
	target := bent{newConjugate(30, 3), 1}
	cfg := hardConfig(t)
	cfg.Fit.Steps = 0
	solution, err := vti.Solve(t.Context(), openDevice(t, gpu.CPU), target, cfg)
	require.NoError(t, err)
	for _, round := range solution.Rounds {
		t.Logf("%+v", round)
	}
	require.Positive(t, solution.Posterior.Steps())
	requirePrecise(t, solution.Certificate, target.inclusion(), 0.005)
	last := solution.Rounds[len(solution.Rounds)-1]
	require.True(t, last.Full)
	require.Equal(t, vti.Weighing, last.Work)
}

// The same seed gives the same bits for any number of threads. A run that is stopped in training or
// in certification, and resumed, gives the same bits too.
func TestSolveIsDeterministicAndResumes(t *testing.T) {
	testkit.Slow(t)
	target := bent{newConjugate(30, 3), 1}
	device := openDevice(t, gpu.CPU)
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	solve := func(cfg vti.SolveConfig) *vti.Solution {
		solution, err := vti.Solve(t.Context(), device, target, cfg)
		require.NoError(t, err)
		return solution
	}
	coarse := func() vti.SolveConfig {
		cfg := hardConfig(t)
		cfg.Fit.Steps, cfg.Precision, cfg.Certify.Draws = 150, 0.02, 1<<13
		return cfg
	}
	runtime.GOMAXPROCS(1)
	first := coarse()
	want := solve(first)
	require.Greater(t, len(want.Rounds), 3)
	runtime.GOMAXPROCS(2)
	same := func(cfg vti.SolveConfig, got *vti.Solution) {
		t.Helper()
		for _, s := range []*vti.Solution{want, got} {
			for i := range s.Rounds {
				s.Rounds[i].Seconds = 0
			}
		}
		require.Equal(t, want.Rounds, got.Rounds)
		// compared as text, in which NaN equals NaN
		require.Equal(t, fmt.Sprint(want.Certificate.Models), fmt.Sprint(got.Certificate.Models))
		require.Equal(t, want.Certificate.Sample, got.Certificate.Sample)
		requireSameFile(t, first.Fit.Checkpoint, cfg.Fit.Checkpoint)
	}
	second := coarse()
	same(second, solve(second))

	for name, stop := range map[string]func(cfg *vti.SolveConfig, cancel func()){
		"in training": func(cfg *vti.SolveConfig, cancel func()) {
			cfg.Fit.LogEvery = 1
			cfg.Fit.Progress = func(info vti.Info) {
				if info.Step == 17 {
					cancel()
				}
			}
		},
		"while certifying": func(cfg *vti.SolveConfig, cancel func()) {
			calls := 0
			cfg.Certify.Progress = func(int, int) {
				if calls++; calls == 40 {
					cancel()
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "while certifying" {
				testkit.Long(t)
			}
			cfg := coarse()
			ctx, cancel := context.WithCancel(t.Context())
			stopped := cfg
			stop(&stopped, cancel)
			_, err := vti.Solve(ctx, device, target, stopped)
			require.ErrorIs(t, err, context.Canceled)
			cfg.Fit.Resume = true
			same(cfg, solve(cfg))
		})
	}
	second.Fit.Resume = true // resumes a run that has ended
	same(second, solve(second))
}

// TestSolveStopsInTime sets a time limit that has passed at once. Solve must return an answer with
// a verdict and advice, and a run that resumes without the limit must be trusted.
func TestSolveStopsInTime(t *testing.T) {
	target := bent{newConjugate(30, 3), 1}
	cfg := hardConfig(t)
	cfg.Fit.Steps, cfg.MaxTime = 0, time.Nanosecond
	solution, err := vti.Solve(t.Context(), openDevice(t, gpu.CPU), target, cfg)
	require.NoError(t, err)
	require.NotEqual(t, vti.Trusted, solution.Certificate.Verdict)
	require.Contains(t, solution.Advice, "the next round of training has 10 steps")
	require.Zero(t, solution.Posterior.Steps())
	cfg.MaxTime, cfg.Fit.Resume = 0, true
	more, err := vti.Solve(t.Context(), openDevice(t, gpu.CPU), target, cfg)
	require.NoError(t, err)
	require.Equal(t, vti.Trusted, more.Certificate.Verdict, more.Certificate.Reasons)
	require.GreaterOrEqual(t, len(more.Rounds), len(solution.Rounds))
}

func TestSolveRefuses(t *testing.T) {
	target, device := newConjugate(30, 3), openDevice(t, gpu.CPU)
	surrogate, err := modeldist.NewSurrogate(target.space.Cards(), modeldist.SurrogateConfig{Belief: modeldist.DiagonalBelief})
	require.NoError(t, err)
	for want, cfg := range map[string]vti.SolveConfig{
		"got Precision -1, want a standard error of probabilities": {Precision: -1},
		"got Precision NaN":        {Precision: math.NaN()},
		"got MaxTime -1s":          {MaxTime: -time.Second},
		"got Tempering 1":          {Fit: vti.Config{Tempering: 1}},
		"learns by itself":         {Fit: vti.Config{Models: surrogate}},
		"got Resume without Check": {Fit: vti.Config{Resume: true}},
	} {
		_, err := vti.Solve(t.Context(), device, target, cfg)
		require.ErrorContains(t, err, want)
	}
	// a checkpoint of Fit has no plan
	fit := hardConfig(t).Fit
	fit.Steps = 10
	_, err = vti.Fit(t.Context(), device, target, fit)
	require.NoError(t, err)
	fit.Resume = true
	_, err = vti.Solve(t.Context(), device, target, vti.SolveConfig{Fit: fit})
	require.ErrorContains(t, err, "got the checkpoint of a fit, want one of Solve")
}

// With AnswerOnly, q(m) is fitted to the models of the preliminary certificate if training follows,
// and is not fitted if weights of models suffice. The answers, and q(m) if it is fitted, must have
// the same bits as without AnswerOnly, also in a run that is stopped before the fit and resumed.
func TestAnswerOnlyFitsModelsIfTheyAreUsed(t *testing.T) {
	testkit.Slow(t)
	target, device := laplaceConjugate{conjugate: newConjugate(30, 6)}, openDevice(t, gpu.CPU)
	settings := func(answerOnly, trains bool) vti.SolveConfig {
		cfg := hardConfig(t)
		cfg.AnswerOnly, cfg.Fit.Steps, cfg.Certify.MaxModels = answerOnly, 10, 1
		cfg.Lacks = func(*vti.Certificate) string {
			if trains {
				return "a moment"
			}
			return ""
		}
		return cfg
	}
	solve := func(cfg vti.SolveConfig) *vti.Solution {
		solution, err := vti.Solve(t.Context(), device, target, cfg)
		require.NoError(t, err)
		require.Equal(t, vti.Trusted, solution.Certificate.Verdict)
		return solution
	}
	same := func(want, got *vti.Solution) {
		t.Helper()
		require.Equal(t, want.Certificate.LogEvidence, got.Certificate.LogEvidence)
		require.Equal(t, want.Certificate.Sample.Weight, got.Certificate.Sample.Weight)
		require.Equal(t, want.Certificate.Sample.Theta, got.Certificate.Sample.Theta)
	}
	whole, answer := solve(settings(false, false)), solve(settings(true, false))
	same(whole, answer)
	require.True(t, math.IsNaN(answer.Divergence))
	start, err := vti.Open(t.Context(), device, target, settings(false, false).Fit)
	require.NoError(t, err)
	log := func(p *vti.Posterior) []float64 {
		values, err := p.LogProb([][]int32{make([]int32, 6)}, mat.NewDense(1, 7, nil))
		require.NoError(t, err)
		return values
	}
	require.NotEqual(t, log(start), log(whole.Posterior))
	require.Equal(t, log(start), log(answer.Posterior))

	whole, answer = solve(settings(false, true)), solve(settings(true, true))
	same(whole, answer)
	require.Positive(t, answer.Posterior.Steps())
	require.Equal(t, whole.Posterior.VariableValues(), answer.Posterior.VariableValues())

	stopped := settings(true, true)
	ctx, cancel := context.WithCancel(t.Context())
	stopped.Status = func(text string) {
		if strings.Contains(text, "certificate of fresh draws") {
			cancel()
		}
	}
	_, err = vti.Solve(ctx, device, target, stopped)
	require.ErrorIs(t, err, context.Canceled)
	stopped.Fit.Resume, stopped.Status = true, nil
	resumed := solve(stopped)
	same(whole, resumed)
	require.Equal(t, whole.Posterior.VariableValues(), resumed.Posterior.VariableValues())
}

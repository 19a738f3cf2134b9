package varsel

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/rjmcmc"
	"github.com/transdim/vti/space"
	"github.com/transdim/vti/varsel/regression"
)

// contradicting returns a robust problem whose rows lie near two planes. Its noise is so small that
// each set of rows on one plane is a separate mode.
func contradicting(t *testing.T, rows int, seed uint64, prior Prior, sigma float64) *Problem {
	t.Helper()
	random := stream.Rand(seed, "contradicting")
	data := correlated(t, likelihood.RobustKind, rows, 3, 1)
	design, err := NewDesign(data, DesignOptions{Target: "y", Exclude: []string{"o"}, Likelihood: likelihood.RobustKind})
	require.NoError(t, err)
	first, second := 2*random.NormFloat64(), 2*random.NormFloat64()
	for i := range design.Y {
		side := float64(1 - 2*(i%2))
		design.Y[i] = side*(first*design.X.At(i, 1)+second*design.X.At(i, 2)) + sigma*random.NormFloat64()
	}
	problem, err := NewProblem(design, ModelOptions{Likelihood: likelihood.RobustKind, Sigma1: sigma, Sigma2: 10 * sigma, Prior: prior})
	require.NoError(t, err)
	return problem
}

// structured returns a contradicting problem with an offset, two predictors that enter together, a
// product of two other predictors that needs both of them, and models of at most three predictors.
func structured(t *testing.T) *Problem {
	t.Helper()
	data := correlated(t, likelihood.RobustKind, 10, 4, 1)
	design, err := NewDesign(data, DesignOptions{
		Target: "y", Offset: "o", Groups: []PredictorGroup{{Name: "pair", Columns: []string{"x0", "x1"}}}, Interactions: []string{"x2:x3"}, Likelihood: likelihood.RobustKind,
	})
	require.NoError(t, err)
	for i := range design.Y {
		side := float64(1 - 2*(i%2))
		design.Y[i] = side*(design.X.At(i, 3)+design.X.At(i, 5)) + 0.5*design.Y[i]
	}
	problem, err := NewProblem(design, ModelOptions{Likelihood: likelihood.RobustKind, Sigma1: 0.2, Sigma2: 2, Prior: Prior{MaxSize: 3}})
	require.NoError(t, err)
	require.Len(t, problem.Target.Space().Cards(), 4)
	require.NotNil(t, problem.Target.heredity)
	return problem
}

// sumsOf returns exact sums over sets of outliers, without the limit on rows that runs have.
func sumsOf(problem *Problem) *regression.Assignments {
	return regression.NewAssignments(&problem.Target.Regression, 0.1, 10)
}

// After moves of all kinds the evidence of a state is the closed form of its model m and set of
// outliers a. Draws of the coefficients θ from the state satisfy p(y, θ | m) p(a | θ, y) = p(y, a |
// m) p(θ | y, m, a), and their squared distances from the mean have a χ² distribution.
func TestCollapsedStates(t *testing.T) {
	for _, problem := range []*Problem{contradicting(t, 10, 1, Prior{}, 0.1), structured(t), contradicting(t, 10, 2, ownProbabilities(0.05, 0.2, 0.9), 0.1)} {
		checkStates(t, problem)
	}
}

func checkStates(t *testing.T, problem *Problem) {
	t.Helper()
	target, sums := problem.Target, sumsOf(problem)
	random := stream.Rand(1, "states")
	c := target.collapse()
	code, theta, eta := make([]int32, len(target.space.Cards())), make([]float64, target.space.Dim()), make([]float64, 10)
	draws, excess := 0.0, 0.0
	for k := range 400 {
		start := c.Prior
		if k%2 == 1 {
			start = c.Far
		}
		drawn, err := start(random)
		require.NoError(t, err)
		state := drawn.(*outlierState)
		for range k % 40 {
			state.Sweep(float64(k%5)/4, random)
		}
		outliers, logPrior := 0, 0.0
		for i, outlier := range state.outlier {
			if outlier {
				outliers |= 1 << i
			}
			logPrior += target.Outliers.LogShare[bit(outlier)]
		}
		posterior, logShare, err := sums.Given(target.active(state.code), outliers)
		require.NoError(t, err)
		want := logShare + posterior.LogEvidence()
		require.InDelta(t, want-logPrior, state.logEvidence, 1e-8)
		clone := state.Clone()
		clone.Sweep(0.5, random)
		require.InDelta(t, want-logPrior, state.logEvidence, 1e-8, "a clone moves alone")

		logDensity, err := state.Draw(random, code, theta)
		require.NoError(t, err)
		require.Equal(t, state.code, code)
		f, ok := state.factor()
		require.True(t, ok)
		square, n := 0.0, len(state.members)
		logTheta := f.LogDet() / 2
		for b := range n { // Lᵀ (φ − mean)
			sum := 0.0
			for a := b; a < n; a++ {
				j := state.members[a]
				sum += f.At(a, b) * ((theta[j]-target.Mean[j])/target.SD[j] - state.mean[a])
			}
			square += sum * sum
			logTheta -= halfLog2Pi + math.Log(target.SD[state.members[b]])
		}
		logTheta -= square / 2
		draws, excess = draws+float64(2*n), excess+square-float64(n)

		logOutliers := 0.0
		for i, row := range state.rows {
			rest := state.rest[i]
			for _, j := range state.members {
				rest -= row[j] * (theta[j] - target.Mean[j]) / target.SD[j]
			}
			var logs [2]float64
			for component, share := range target.Outliers.LogShare {
				v := target.Outliers.Variance[component]
				logs[component] = share - rest*rest/v/2 - math.Log(v)/2
			}
			logOutliers += logs[bit(state.outlier[i])] - logsum.Of(logs[:])
		}
		logJoint := target.LogJointAt(target.active(code), theta, eta)
		require.InDelta(t, want+logTheta, logJoint+logOutliers, 1e-8)
		logModel := state.collapsed.logPrior.OfCode(state.code)
		if target.heredity != nil {
			logModel -= target.heredity.logMass
		}
		require.InDelta(t, logModel+logJoint, logDensity, 1e-9)
	}
	require.Less(t, math.Abs(excess)/math.Sqrt(draws), 4.0) // a false alarm in 16,000 seeds
}

// exactPosterior returns the log evidence of all models together and the inclusion probabilities,
// by sums over all models and all sets of outliers.
func exactPosterior(t *testing.T, problem *Problem) (logEvidence float64, inclusion []float64) {
	t.Helper()
	var codes [][]int32
	for _, code := range space.All(problem.Target.Space().Cards()) {
		codes = append(codes, slices.Clone(code))
	}
	evidences, err := closedForms{models: problem.Target, form: sumsOf(problem).Of}.LogEvidences(t.Context(), codes)
	require.NoError(t, err)
	inclusion = make([]float64, len(codes[0]))
	logPrior := graph.MustNewExec(testkit.Backend(t), problem.Target.LogPrior).MustExec(codes)[0].Value().([]float64)
	floats.Add(evidences, logPrior)
	logEvidence = logsum.Of(evidences)
	for i, code := range codes {
		for site, in := range code {
			inclusion[site] += float64(in) * math.Exp(evidences[i]-logEvidence)
		}
	}
	return logEvidence, inclusion
}

// Annealed populations and tempered chains agree with sums over all models and sets of outliers, on
// tables whose modes neither method can leave without tempering. Answers may differ by 4.5 of their
// errors, which gives a false alarm in one of 2,000 seeds.
func TestCollapsedAgreesWithSums(t *testing.T) {
	testkit.Slow(t)
	for seed, problem := range []*Problem{
		contradicting(t, 10, 0, Prior{}, 0.1), contradicting(t, 10, 1, Prior{Kind: UniformPrior}, 0.1), structured(t), contradicting(t, 10, 2, ownProbabilities(0.05, 0.2, 0.9), 0.1),
	} {
		seed, sites := uint64(seed), len(problem.Target.space.Cards())
		logEvidence, inclusion := exactPosterior(t, problem)
		c := problem.Target.collapse()

		annealed, err := rjmcmc.Anneal(t.Context(), c, rjmcmc.AnnealConfig{Groups: 16, Particles: 100, Sweeps: 2, Seed: seed})
		require.NoError(t, err)
		var means []float64
		for _, group := range annealed.Groups {
			means = append(means, math.Exp(group.LogEvidence-logEvidence))
		}
		mean, sd := stat.MeanStdDev(means, nil)
		require.InDelta(t, 1, mean, 4.5*sd/4, "seed %d", seed)
		require.Less(t, sd/4, 0.15)

		chains, err := rjmcmc.RunCollapsed(t.Context(), c, sites, problem.Target.space.MaskRow, rjmcmc.CollapsedConfig{
			Chains: 16, BurnIn: 100, Iterations: 400, Thin: 1, Powers: annealed.Ladder(3), Seed: seed,
		})
		require.NoError(t, err)
		value, se := chains.LogEvidence()
		require.InDelta(t, logEvidence, value, 4.5*se+1e-3, "seed %d", seed)
		require.Less(t, se, 0.15)
		for site, want := range inclusion {
			got := chains.Outcome(site, 1)
			require.InDelta(t, want, got.Mean, 4.5*got.MCSE, "seed %d, predictor %d", seed, site)
		}
	}
}

// The 13 rows of a table lie near two planes, with noise of 1 or 0.01. The answer must be trusted,
// and differ from exact sums over sets of outliers by at most 5 standard errors plus 0.03 nats for
// the log evidence or 0.01 for probabilities, the margins with which a run compares two methods.
func TestCollapsedTrustIsEarned(t *testing.T) {
	testkit.Slow(t)
	device, err := gpu.Open(gpu.CPU)
	require.NoError(t, err)
	defer device.Close()
	trusted := 0
	for seed, sigma := range []float64{1, 0.01} {
		problem := contradicting(t, 13, uint64(seed), Prior{}, sigma)
		ctx, stop := context.WithCancel(t.Context())
		solution, err := vti.Solve(ctx, device, problem.Posterior(), vti.SolveConfig{
			Precision: 0.03, Round: func(round vti.SolveRound) {
				if round.Verdict != vti.Trusted {
					stop()
				}
			},
		})
		stop()
		if err != nil {
			require.ErrorIs(t, err, context.Canceled)
			continue
		}
		trusted++
		certificate := solution.Certificate
		require.Equal(t, vti.CollapsedChains, certificate.Basis)
		require.True(t, certificate.Confirmed)
		logEvidence, inclusion := exactPosterior(t, problem)
		require.InDelta(t, logEvidence, certificate.LogEvidence, 0.03+5*certificate.LogEvidenceSE, "sigma %v", sigma)
		for site, want := range inclusion {
			got, se := certificate.Probability(func(code []int32) bool { return code[site] == 1 })
			require.InDelta(t, want, got, 0.01+5*se, "sigma %v, predictor %d", sigma, site)
		}
	}
	require.Equal(t, 2, trusted)
}

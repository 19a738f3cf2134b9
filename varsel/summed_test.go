package varsel

import (
	gocontext "context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/varsel/design"
	"github.com/transdim/vti/varsel/exact"
)

// manyModels returns a problem of 17 predictors, which has more models than a run lists.
func manyModels(t *testing.T, prior Prior) *Problem {
	t.Helper()
	return simulatedProblem(t, design.Simulation{Rows: 60, Predictors: 17, Effects: 3, Correlation: 0.4, Seed: 5}, ModelOptions{Prior: prior})
}

// If there are more models than a run lists, it uses the sum over all models of RunExact and
// reports the same numbers.
func TestRunsSumOverManyModels(t *testing.T) {
	testkit.Slow(t)
	problem := manyModels(t, Prior{})
	exact, err := RunExact(t.Context(), problem, nil, "")
	require.NoError(t, err)
	got, err := Run(t.Context(), openDevice(t), problem, RunConfig{})
	require.NoError(t, err)
	require.Equal(t, vti.Trusted, got.Certificate.Verdict)
	require.Equal(t, vti.ExactSum, got.Certificate.Basis)
	require.True(t, got.Certificate.Complete)
	require.Equal(t, 1<<17, got.Certificate.ModelsChecked)
	require.Zero(t, got.Steps)
	require.InDelta(t, float64(*exact.LogEvidence), float64(*got.LogEvidence), 1e-9)
	require.Zero(t, float64(*got.LogEvidSE))
	for s, want := range exact.Inclusion {
		require.InDelta(t, float64(want.Certified), float64(got.Inclusion[s].Certified), 1e-9, want.Name)
		require.Zero(t, float64(got.Inclusion[s].SE))
	}
	require.Equal(t, exact.Coefficients, got.Coefficients)
	for i, want := range exact.Models[:10] {
		require.Equal(t, want.Code, got.Models[i].Code)
		require.InDelta(t, float64(want.Certified), float64(got.Models[i].Certified), 1e-9)
		require.InDelta(t, float64(*want.LogEvidence), float64(*got.Models[i].LogEvidence), 1e-9)
	}
}

// LogEvidences, called for many codes at once, computes the evidences of all models together. The
// numbers must equal the results of calls for single codes, with and without heredity.
func TestEvidencesFoundTogether(t *testing.T) {
	pairs := []string{"x0:x1", "x0:x2", "x0:x3", "x0:o", "x1:x2", "x1:x3", "x1:o", "x2:x3"}
	interactions := interactionProblem(t, DesignOptions{Interactions: pairs}, ModelOptions{Heredity: StrongHeredity})
	thirteen := simulatedProblem(t, design.Simulation{Rows: 40, Predictors: 13, Effects: 3, Correlation: 0.4, Seed: 6}, ModelOptions{})
	problems := []*Problem{thirteen, interactions}
	if !testing.Short() {
		problems = append(problems, manyModels(t, Prior{}))
	}
	for _, problem := range problems {
		require.True(t, problem.summed())
		forms, random := problem.forms(), rand.New(rand.NewPCG(1, 1))
		var codes [][]int32
		for len(codes) < 2*leastOfAll {
			code := make([]int32, len(problem.Design.Predictors))
			for g := range code {
				code[g] = int32(random.IntN(2))
			}
			if h := problem.Target.heredity; h == nil || h.allows(code) {
				codes = append(codes, code)
			}
		}
		together, err := forms.LogEvidences(t.Context(), codes)
		require.NoError(t, err)
		for i, code := range codes {
			alone, err := forms.LogEvidences(t.Context(), [][]int32{code})
			require.NoError(t, err)
			require.InDelta(t, alone[0], together[i], 1e-6)
		}
	}
}

// The log evidences of the first 200 models in a sum must equal the evidences of single models, and
// the probabilities of all listed models must sum to 1, to within 1e-8.
func TestSumModels(t *testing.T) {
	testkit.Slow(t)
	problem := manyModels(t, Prior{})
	sum, ok, err := problem.known().Sum(t.Context(), nil)
	require.NoError(t, err)
	require.True(t, ok)
	want, err := problem.forms().LogEvidences(t.Context(), sum.Codes[:200])
	require.NoError(t, err)
	require.InDeltaSlice(t, want, sum.LogEvidences[:200], 1e-8)
	prior := Prior{}.WithDefaults().LogProbs(17)
	covered := 0.0
	for i, code := range sum.Codes {
		size := len(code) - len(slices.DeleteFunc(slices.Clone(code), func(bit int32) bool { return bit == 1 }))
		covered += math.Exp(prior[size] + sum.LogEvidences[i] - sum.LogEvidence)
	}
	require.InDelta(t, 1, covered, 1e-8)
}

// Sum returns no sum over all models in three cases: the models that it would list, from which
// parameters are drawn, have too little of the posterior probability; the sum would take too much
// work; or the run is cancelled. After a cancellation a later call can compute the sum.
func TestSumsThatAreNotMade(t *testing.T) {
	testkit.Slow(t)
	spread := simulatedProblem(t, design.Simulation{Rows: 8, Predictors: 17, Seed: 5}, ModelOptions{Prior: Prior{Kind: UniformPrior}})
	_, ok, err := spread.known().Sum(t.Context(), nil)
	require.NoError(t, err)
	require.False(t, ok, "half of the models do not have nearly all of the probability")

	asked, err := manyModels(t, Prior{}).ExactProblem()
	require.NoError(t, err)
	require.True(t, affordable(&asked))
	for columns, want := range map[int]bool{1: true, 6: false, 40: false} { // number of columns of each predictor
		wide := exact.Problem{Y: slices.Repeat([]float64{1, -2}, 10), Noise: exact.Noise{SD: 2}}
		for g := range asked.Groups {
			wide.Groups = append(wide.Groups, nil)
			for range columns {
				wide.Groups[g] = append(wide.Groups[g], len(wide.PriorSD))
				wide.PriorSD = append(wide.PriorSD, 1)
			}
		}
		wide.X = mat.NewDense(20, len(wide.PriorSD), nil)
		wide.X.Apply(func(i, j int, _ float64) float64 { return math.Sin(float64(i * (j + 1))) }, wide.X)
		require.Equal(t, want, affordable(&wide), "%d columns each", columns)
	}

	cancelled, cancel := gocontext.WithCancel(t.Context())
	cancel()
	fresh := manyModels(t, Prior{})
	_, _, err = fresh.known().Sum(cancelled, nil)
	require.ErrorIs(t, err, gocontext.Canceled)
	_, ok, err = fresh.known().Sum(t.Context(), nil)
	require.NoError(t, err)
	require.True(t, ok)
}

package varsel

import (
	"math"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/space"
)

// TestListsAgreeWithEnumeration compares certified answers of models as lists with enumeration.
// q(m) starts from screening, or from a start that favours no predictor, which must not bias the
// answer.
func TestListsAgreeWithEnumeration(t *testing.T) {
	testkit.Slow(t)
	device := openDevice(t)
	for name, model := range map[string]ModelOptions{
		"known noise":   {Sigma: 1, Prior: Prior{Kind: BetaBinomialPrior, A: 1, B: 1, MaxSize: 5}},
		"unknown noise": {Prior: Prior{Kind: BetaBinomialPrior, A: 1, B: 1, MaxSize: 5}},
	} {
		t.Run(name, func(t *testing.T) {
			problem := slotProblem(t, correlated(t, likelihood.GaussianKind, 40, 12, 4), DesignOptions{}, model)
			exact, err := RunExact(t.Context(), problem, nil, "")
			require.NoError(t, err)
			for i, steps := range []int{50, 300} {
				start := "screening"
				if i > 0 {
					start = "even odds"
					for predictor := range problem.Slots.start.LogOdds {
						problem.Slots.start.LogOdds[predictor] = math.Log(3.0 / 9)
					}
				}
				sampler, err := problem.NewModels(AutoSampler, SurrogateOptions{}, 5, dtypes.Float32)
				require.NoError(t, err)
				fit := vti.Config{Flow: cosmic.Config{Layers: 2, Blocks: 1, Hidden: 16}, Models: sampler, Steps: steps, Batch: 256, Seed: 5}
				result, err := Run(t.Context(), device, problem, RunConfig{Fit: fit, Certify: vti.CertifyConfig{Draws: 1 << 15}, Dir: t.TempDir()})
				require.NoError(t, err)
				require.NotEqual(t, vti.Failed, result.Certificate.Verdict, result.Certificate.Reasons)
				for s, want := range exact.Inclusion {
					got := result.Inclusion[s]
					// About a hundred numbers are compared to four standard errors: a false alarm
					// in one of 150 seeds.
					require.InDelta(t, float64(want.Certified), float64(got.Certified), 4*float64(got.SE)+1e-3, "%s from %s", want.Name, start)
					require.Less(t, float64(got.SE), 0.02)
				}
				require.InDelta(t, float64(*exact.LogEvidence), float64(*result.LogEvidence), 4*float64(*result.LogEvidSE)+1e-3)
				byCode := map[string]ModelReport{}
				for _, m := range result.Models {
					byCode[m.Code] = m
				}
				for _, m := range exact.Models[:5] {
					require.InDelta(t, float64(m.Certified), float64(byCode[m.Code].Certified), 4*float64(byCode[m.Code].SE)+1e-9, m.Code)
				}
			}
		})
	}
}

// For lists of at most two of 21 predictors, exactly the codes that are valid lists must have a
// positive prior probability. The certificate must list all 232 models and agree with the exact
// sum.
func TestListsThatCanBeEnumerated(t *testing.T) {
	problem := slotProblem(t, correlated(t, likelihood.GaussianKind, 40, 20, 2), DesignOptions{},
		ModelOptions{Sigma: 1, Prior: Prior{Kind: BetaBinomialPrior, A: 1, B: 1, MaxSize: 2}})
	cards := problem.Slots.space.Cards()
	var total float64
	for _, code := range space.All(cards) {
		prior := MustExecOnce(testkit.Backend(t), problem.Slots.LogPrior, [][]int32{code}).Value().([]float64)[0]
		require.Equal(t, problem.Slots.space.Valid(code), !math.IsInf(prior, -1), code)
		total += math.Exp(prior)
	}
	require.InDelta(t, 1, total, 1e-12)

	exact, err := RunExact(t.Context(), problem, nil, "")
	require.NoError(t, err)
	sampler, err := problem.NewModels(AutoSampler, SurrogateOptions{}, 5, dtypes.Float32)
	require.NoError(t, err)
	fit := vti.Config{Flow: cosmic.Config{Layers: 2, Blocks: 1, Hidden: 16}, Models: sampler, Steps: 20, Batch: 256, Seed: 5}
	result, err := Run(t.Context(), openDevice(t), problem, RunConfig{Fit: fit, Dir: t.TempDir()})
	require.NoError(t, err)
	require.Equal(t, vti.Trusted, result.Certificate.Verdict, result.Certificate.Reasons)
	require.Equal(t, exact.Data, result.Data)
	require.Equal(t, 1+21+21*20/2, len(result.Models), "20 columns and the offset column of the table")
	for s, want := range exact.Inclusion {
		// 21 numbers are compared to four standard errors: a false alarm in one of 750 seeds.
		require.InDelta(t, float64(want.Certified), float64(result.Inclusion[s].Certified), 4*float64(result.Inclusion[s].SE)+1e-3, want.Name)
	}
	require.InDelta(t, float64(*exact.LogEvidence), float64(*result.LogEvidence), 4*float64(*result.LogEvidSE)+1e-3)
}

// A run that needs no training must report no numbers of q. The log evidences of three models by
// inner products of columns must equal the log evidences by rows.
func TestAnswerWithoutQ(t *testing.T) {
	problem := slotProblem(t, correlated(t, likelihood.GaussianKind, 120, 110, 4), DesignOptions{}, ModelOptions{Prior: Prior{Kind: BetaBinomialPrior, A: 1, B: 1, MaxSize: 5}})
	require.NotNil(t, problem.Target.Products)
	result, err := Run(t.Context(), openDevice(t), problem, RunConfig{Fit: vti.Config{Seed: 3}})
	require.NoError(t, err)
	require.Equal(t, vti.Trusted, result.Certificate.Verdict, result.Certificate.Reasons)
	for _, in := range result.Inclusion {
		require.Nil(t, in.Q)
	}
	require.Nil(t, result.Models[0].Q)
	forms := problem.forms()
	codes := [][]int32{problem.models().code(nil), problem.models().code([]int{3, 50, 7}), problem.models().code([]int{1, 2, 4, 90, 91})}
	byProducts, err := forms.LogEvidences(t.Context(), codes)
	require.NoError(t, err)
	_, _, _, ok := problem.Target.Products.Model(problem.models().active(codes[2]).Places)
	require.True(t, ok, "rows are used")
	problem.Target.Products = nil
	byRows, err := forms.LogEvidences(t.Context(), codes)
	require.NoError(t, err)
	require.InDeltaSlice(t, byRows, byProducts, 1e-9)
}

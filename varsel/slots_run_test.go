package varsel

import (
	"math"
	"testing"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/likelihood"
)

// TestListsAgreeWithEnumeration certifies models as lists, from the start that screening gives and
// from one that favours no predictor, against enumeration: where q(m) starts does not bias the
// answer.
func TestListsAgreeWithEnumeration(t *testing.T) {
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
					for predictor := range problem.Slots.start.logOdds {
						problem.Slots.start.logOdds[predictor] = math.Log(3.0 / 9)
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
					// Four standard errors on a hundred numbers: a false alarm in 150 choices of
					// seeds.
					require.InDelta(t, float64(want.Certified), float64(got.Certified), 4*float64(got.SE)+1e-3, "%s from %s", want.Name, start)
					require.Less(t, float64(got.SE), 0.02)
				}
				require.InDelta(t, float64(*exact.LogEvidence), float64(*result.LogEvidence), 4*float64(*result.LogEvidSE)+1e-3)
				byCode := map[string]ModelReport{}
				for _, m := range result.Models {
					byCode[m.Code] = m
				}
				for _, m := range exact.Models[:5] {
					require.InDelta(t, float64(m.Certified), float64(byCode[m.Code].Certified), 4*float64(byCode[m.Code].SE), m.Code)
				}
			}
		})
	}
}

package varsel

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/table"
)

// twoSums returns a table of n rows. Its response is the sum of predictors 1 to k, and nearly the
// sum of predictors k+1 to 2k, where predictor 2k makes up the difference. x0 is in both sums.
func twoSums(t testing.TB, kind likelihood.Kind, seed uint64, n, p, k int, sigma float64) *table.Table {
	t.Helper()
	random := stream.Rand(seed, "sums")
	var text strings.Builder
	text.WriteString("y")
	for j := range p {
		fmt.Fprintf(&text, ",x%d", j)
	}
	for range n {
		x := make([]float64, p)
		for j := range x {
			x[j] = random.NormFloat64()
		}
		sum := 0.0
		for j := 1; j <= k; j++ {
			sum += x[j]
		}
		x[2*k] = sum + 0.01*random.NormFloat64()
		for j := k + 1; j < 2*k; j++ {
			x[2*k] -= x[j]
		}
		y := sum/math.Sqrt(float64(k)) + x[0]/2 + sigma*random.NormFloat64()
		if kind == likelihood.PoissonKind {
			y = math.Round(math.Exp(4 + y/2))
		} else if kind.HasCategories() {
			y = 2 + math.Round(2*math.Tanh(y))
		}
		fmt.Fprintf(&text, "\n%v", y)
		for _, v := range x {
			fmt.Fprintf(&text, ",%v", v)
		}
	}
	path := filepath.Join(t.TempDir(), "sums.csv")
	require.NoError(t, os.WriteFile(path, []byte(text.String()), 0o644))
	data, err := table.ReadFile(path)
	require.NoError(t, err)
	return data
}

// Four predictors can replace four other predictors, and a fifth predictor is needed beside either
// four. Inclusion probabilities agree with the sum over all models of at most five predictors.
// Models that mix the two sets of four are less probable by tens of nats, and screening finds only
// one of the sets, so that chains must propose to exchange whole sets.
func TestPredictorsThatStandInForOthers(t *testing.T) {
	testkit.Slow(t)
	device := openDevice(t)
	for _, seed := range []uint64{1, 2} {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			if seed == 2 {
				testkit.Long(t)
			}
			model := ModelOptions{Prior: Prior{Kind: BetaBinomialPrior, A: 1, B: 1, MaxSize: 5}}
			problem := slotProblem(t, twoSums(t, model.Likelihood, seed, 60, 22, 4, 0.1), DesignOptions{}, model)
			want := inclusionBySum(t, problem)
			var err error
			fit := vti.Config{Flow: cosmic.Config{Layers: 1, Blocks: 1, Hidden: 8}, Seed: 3}
			fit.Models, err = problem.NewModels(AutoSampler, SurrogateOptions{}, 1, fit.DType)
			require.NoError(t, err)
			result, err := Run(t.Context(), device, problem, RunConfig{Fit: fit, Certify: vti.CertifyConfig{MaxModels: 1}})
			require.NoError(t, err)
			require.Equal(t, vti.Trusted, result.Certificate.Verdict, result.Certificate.Reasons)
			// 44 numbers are compared to five standard errors: a false alarm in one of 40,000 runs.
			for s, got := range result.Inclusion {
				assert.InDelta(t, want[s], float64(got.Certified), 5*float64(got.SE)+1e-3, got.Name)
			}
		})
	}
}

// From the model of one of the two sums and x0, a search finds the model of the other sum and x0,
// among 150 predictors and for every kind of response.
func TestModelsWithoutMembersAreFound(t *testing.T) {
	testkit.Slow(t)
	for name, model := range map[string]ModelOptions{
		"gaussian":    {},
		"known sigma": {Sigma: 0.2},
		"student":     {Likelihood: likelihood.StudentKind},
		"poisson":     {Likelihood: likelihood.PoissonKind},
		"categorical": {Likelihood: likelihood.CategoricalKind},
		"cumulative":  {Likelihood: likelihood.CumulativeLogitKind},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "categorical" || name == "student" {
				testkit.Long(t)
			}
			rows := 90
			if model.Likelihood.HasCategories() {
				rows = 300
			}
			model.Prior = Prior{Kind: BetaBinomialPrior, A: 1, B: 1, MaxSize: 12}
			data := twoSums(t, model.Likelihood, 4, rows, 150, 5, 0.1)
			targets := []models{}
			if !model.Likelihood.HasCategories() { // a categorical response cannot have models as lists
				targets = append(targets, slotProblem(t, data, DesignOptions{}, model).Slots)
			}
			design, err := NewDesign(data, DesignOptions{Target: "y", Likelihood: model.Likelihood})
			require.NoError(t, err)
			problem, err := NewProblem(design, model)
			require.NoError(t, err)
			one, other := []int{0, 1, 2, 3, 4, 5}, []int{0, 6, 7, 8, 9, 10}
			for _, target := range append(targets, problem.Target) {
				for _, both := range [][2][]int{{one, other}, {other, one}} {
					found, err := jointSearch{target}.instead(t.Context(), target.code(both[0]))
					require.NoError(t, err)
					require.Contains(t, found, target.code(both[1]))
				}
				found, err := jointSearch{target}.instead(t.Context(), target.code(nil))
				require.NoError(t, err)
				require.Empty(t, found)
			}
		})
	}
}

package varsel

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/table"
)

// hiddenPair is a pair of predictors that matter only together. The first is a cause of the
// response plus a disturbance, and the second measures the disturbance, so that neither alone
// explains the cause. The third, unless it is 0, measures a second disturbance.
type hiddenPair struct {
	first, second, third int
	cause                int     // number of the cause, 0 or 1
	disturbance          float64 // standard deviation of the disturbance
}

// hiddenPairs returns a table of n rows with p predictors, which are pure noise except for the
// given pairs, and a response to two independent causes with the given effects.
func hiddenPairs(t testing.TB, kind likelihood.Kind, seed uint64, n, p int, effects [2]float64, sigma float64, pairs ...hiddenPair) *table.Table {
	t.Helper()
	random := stream.Rand(seed, "pairs")
	var text strings.Builder
	text.WriteString("y")
	for j := range p {
		fmt.Fprintf(&text, ",x%d", j)
	}
	for range n {
		cause := [2]float64{random.NormFloat64(), random.NormFloat64()}
		x := make([]float64, p)
		for j := range x {
			x[j] = random.NormFloat64()
		}
		for _, pair := range pairs {
			disturbance := pair.disturbance * random.NormFloat64()
			x[pair.first], x[pair.second] = cause[pair.cause]+disturbance, -disturbance+0.02*random.NormFloat64()
			if pair.third > 0 {
				other := pair.disturbance * random.NormFloat64()
				x[pair.first], x[pair.third] = x[pair.first]+other, -other+0.02*random.NormFloat64()
			}
		}
		eta := effects[0]*cause[0] + effects[1]*cause[1]
		y := eta + sigma*random.NormFloat64()
		if kind.Binary() {
			y = math.Round(0.5 + 0.5*math.Copysign(1, eta+random.NormFloat64()/3))
		} else if kind.HasCategories() {
			y = 1 + math.Round(1.5*math.Tanh(y))
		}
		fmt.Fprintf(&text, "\n%v", y)
		for _, v := range x {
			fmt.Fprintf(&text, ",%v", v)
		}
	}
	path := filepath.Join(t.TempDir(), "pairs.csv")
	require.NoError(t, os.WriteFile(path, []byte(text.String()), 0o644))
	data, err := table.ReadFile(path)
	require.NoError(t, err)
	return data
}

// Inclusion probabilities of tables with predictors that matter only together agree with the sum
// over all models of at most three of 50 predictors. The cases are a pair that is certainly in the
// model, a pair that is perhaps in it, one of two pairs, three predictors that matter only
// together, and a pair beside another predictor.
func TestPredictorsThatMatterOnlyTogether(t *testing.T) {
	testkit.Slow(t)
	device := openDevice(t)
	pair, other := hiddenPair{first: 17, second: 43, disturbance: 5}, hiddenPair{first: 30, second: 11, disturbance: 4}
	beside := hiddenPair{first: 40, second: 46, cause: 1} // without a disturbance the first predictor suffices
	for name, c := range map[string]struct {
		rows    int
		effects [2]float64
		sigma   float64
		pairs   []hiddenPair
	}{
		"certain": {40, [2]float64{1, 0}, 0.05, []hiddenPair{pair}},
		"perhaps": {40, [2]float64{0.95, 0}, 1, []hiddenPair{pair}},
		"which":   {40, [2]float64{0.9, 0}, 0.7, []hiddenPair{pair, other}},
		"three":   {60, [2]float64{1, 0}, 0.3, []hiddenPair{{first: 17, second: 43, third: 30, disturbance: 4}}},
		"on top":  {60, [2]float64{1, 2}, 0.3, []hiddenPair{pair, beside}},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "three" && name != "on top" {
				testkit.Long(t)
			}
			model := ModelOptions{Prior: Prior{Kind: BetaBinomialPrior, A: 1, B: 1, MaxSize: 3}}
			data := hiddenPairs(t, model.Likelihood, 7, c.rows, 50, c.effects, c.sigma, c.pairs...)
			problem := slotProblem(t, data, DesignOptions{}, model)
			want := inclusionBySum(t, problem)
			fit := vti.Config{Flow: cosmic.Config{Layers: 1, Blocks: 1, Hidden: 8}, Seed: 3}
			result, err := Run(t.Context(), device, problem, RunConfig{Fit: fit, Certify: vti.CertifyConfig{MaxModels: 1}})
			require.NoError(t, err)
			require.Equal(t, vti.Trusted, result.Certificate.Verdict, result.Certificate.Reasons)
			require.False(t, result.Certificate.Complete)
			// 250 numbers are compared to five standard errors: a false alarm in one of 7,000 runs.
			for s, got := range result.Inclusion {
				assert.InDelta(t, want[s], float64(got.Certified), 5*float64(got.SE)+1e-3, got.Name)
			}
		})
	}
}

// inclusionBySum returns inclusion probabilities by a sum over all lists.
func inclusionBySum(t testing.TB, problem *Problem) []float64 {
	t.Helper()
	slots := problem.Slots
	var codes [][]int32
	var prior []float64
	for code := range slots.space.Models() {
		codes = append(codes, slices.Clone(code))
		prior = append(prior, slots.terms.Sizes[slots.space.Size(code)])
	}
	mass, err := problem.forms().LogEvidences(t.Context(), codes)
	require.NoError(t, err)
	for i := range mass {
		mass[i] += prior[i]
	}
	total := logsum.Of(mass)
	inclusion := make([]float64, slots.space.Items())
	for i, code := range codes {
		for _, member := range slots.members(code) {
			inclusion[member] += math.Exp(mass[i] - total)
		}
	}
	return inclusion
}

// The answer finds two or three of 40 predictors that matter only together to a categorical
// response, with or without an order of its categories. In a table of these predictors alone, the
// evidence of the full model is 20 nats ahead of all other models, more than the 12 nats that the
// prior takes for choosing three among 40.
func TestCategoriesThatMatterOnlyTogether(t *testing.T) {
	testkit.Long(t)
	device := openDevice(t)
	for _, kind := range []likelihood.Kind{likelihood.CategoricalKind, likelihood.CumulativeLogitKind} {
		for _, members := range [][]string{{"x3", "x17"}, {"x3", "x17", "x24"}} {
			t.Run(fmt.Sprint(kind, members), func(t *testing.T) {
				pair := hiddenPair{first: 3, second: 17, disturbance: 40}
				if len(members) == 3 {
					pair.third = 24
				}
				data := hiddenPairs(t, kind, 22, 150, 40, [2]float64{1.2, 0}, 0.5, pair)
				answer := func(exclude ...string) *Result {
					design, err := NewDesign(data, DesignOptions{Target: "y", Likelihood: kind, Exclude: exclude})
					require.NoError(t, err)
					problem, err := NewProblem(design, ModelOptions{Likelihood: kind, SlabScale: 30, Prior: Prior{Kind: BetaBinomialPrior, A: 1, B: 1, MaxSize: 3}})
					require.NoError(t, err)
					fit := vti.Config{Flow: cosmic.Config{Layers: 1, Blocks: 1, Hidden: 8}, Seed: 3}
					result, err := Run(t.Context(), device, problem, RunConfig{Fit: fit})
					require.NoError(t, err)
					require.Equal(t, vti.Trusted, result.Certificate.Verdict, result.Certificate.Reasons)
					return result
				}
				others := slices.DeleteFunc(data.Names(), func(name string) bool { return name == "y" || slices.Contains(members, name) })
				models := answer(others...).Models
				require.Equal(t, len(members), models[0].Size)
				require.Greater(t, float64(*models[0].LogEvidence-*models[1].LogEvidence), 20.0)
				for _, got := range answer().Inclusion {
					require.Equal(t, slices.Contains(members, got.Name), got.Certified > 0.99, got.Name)
				}
			})
		}
	}
}

// The hidden pair is the first of the pairs that a search finds around the empty model, for
// continuous, binary and categorical responses, and for groups of columns.
func TestJointPredictorsAreFound(t *testing.T) {
	for name, c := range map[string]struct {
		kind   likelihood.Kind
		model  ModelOptions
		rows   int
		groups []PredictorGroup
	}{
		"gaussian":    {rows: 60},
		"known sigma": {rows: 60, model: ModelOptions{Sigma: 0.2}},
		"logistic":    {kind: likelihood.LogisticKind, rows: 200},
		"student":     {kind: likelihood.StudentKind, rows: 60},
		"categorical": {kind: likelihood.CategoricalKind, rows: 200},
		"cumulative":  {kind: likelihood.CumulativeProbitKind, rows: 200},
		"groups":      {rows: 60, groups: []PredictorGroup{{Name: "both", Columns: []string{"x17", "x18"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			c.model.Likelihood = c.kind
			c.model.Prior = Prior{Kind: BetaBinomialPrior, A: 1, B: 1, MaxSize: 4}
			data := hiddenPairs(t, c.kind, 11, c.rows, 150, [2]float64{1, 0}, 0.1, hiddenPair{first: 17, second: 93, disturbance: 5})
			want := []string{"x17", "x93"}
			if c.groups != nil {
				want = []string{"both", "x93"}
			}
			design, err := NewDesign(data, DesignOptions{Target: "y", Likelihood: c.kind, Groups: c.groups})
			require.NoError(t, err)
			problem, err := NewProblem(design, c.model)
			require.NoError(t, err)
			targets := []models{problem.Target}
			if !c.kind.HasCategories() { // a categorical response cannot have models as lists
				targets = append(targets, slotProblem(t, data, DesignOptions{Groups: c.groups}, c.model).Slots)
			}
			for _, target := range targets {
				with, without, err := jointSearch{target}.together(t.Context(), target.code(nil))
				require.NoError(t, err)
				require.Equal(t, target.code(nil), without[0])
				var names []string
				for _, member := range target.members(with[0]) {
					names = append(names, design.Predictors[member].Name)
				}
				require.ElementsMatch(t, want, names)
			}
		})
	}
}

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
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/table"
)

// hiddenPair is a pair of predictors neither of which explains a cause of the response alone: one
// is the cause with a disturbance, the other measures the disturbance. With a third, unless it is
// 0, there are two disturbances.
type hiddenPair struct {
	first, second, third int
	cause                int     // which of two causes
	disturbance          float64 // its sd
}

// hiddenPairs is a table of n rows with p predictors of noise but for some pairs, and a response of
// two independent causes with these effects.
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
// over all models of three among 50: where such a pair decides, where it may
// or may not be there, where one of two pairs is, and on top of what another predictor explains;
// and three predictors.
func TestPredictorsThatMatterOnlyTogether(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds of a processor")
	}
	device := openDevice(t)
	pair, other := hiddenPair{first: 17, second: 43, disturbance: 5}, hiddenPair{first: 30, second: 11, disturbance: 4}
	beside := hiddenPair{first: 40, second: 46, cause: 1} // without a disturbance: one predictor is enough
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
			model := ModelOptions{Prior: Prior{Kind: BetaBinomialPrior, A: 1, B: 1, MaxSize: 3}}
			data := hiddenPairs(t, model.Likelihood, 7, c.rows, 50, c.effects, c.sigma, c.pairs...)
			problem := slotProblem(t, data, DesignOptions{}, model)
			want := inclusionBySum(t, problem)
			fit := vti.Config{Flow: cosmic.Config{Layers: 1, Blocks: 1, Hidden: 8}, Seed: 3}
			result, err := Run(t.Context(), device, problem, RunConfig{Fit: fit, Certify: vti.CertifyConfig{MaxModels: 1}})
			require.NoError(t, err)
			require.Equal(t, vti.Trusted, result.Certificate.Verdict, result.Certificate.Reasons)
			require.False(t, result.Certificate.Complete)
			// Five standard errors on 200 numbers: a false alarm in 8,000 runs.
			for s, got := range result.Inclusion {
				assert.InDelta(t, want[s], float64(got.Certified), 5*float64(got.SE)+1e-3, got.Name)
			}
		})
	}
}

// inclusionBySum are inclusion probabilities by a sum over all lists.
func inclusionBySum(t testing.TB, problem *Problem) []float64 {
	t.Helper()
	slots := problem.Slots
	var codes [][]int32
	var prior []float64
	for code := range slots.space.Models() {
		codes = append(codes, slices.Clone(code))
		prior = append(prior, slots.sizes[slots.space.Size(code)])
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

// The pairs that a target finds around the model without members have the hidden pair first, in
// the table and in one whose rows are added up; for a response of two values as well.
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
		"groups":      {rows: 60, groups: []PredictorGroup{{Name: "both", Columns: []string{"x17", "x18"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			c.model.Likelihood = c.kind
			c.model.Prior = Prior{Kind: BetaBinomialPrior, A: 1, B: 1, MaxSize: 4}
			data := hiddenPairs(t, c.kind, 11, c.rows, 150, [2]float64{1, 0}, 0.1, hiddenPair{first: 17, second: 93, disturbance: 5})
			problem := slotProblem(t, data, DesignOptions{Groups: c.groups}, c.model)
			slots := problem.Slots
			with, without, err := jointSearch{slots}.together(t.Context(), slots.space.Code(nil, nil))
			require.NoError(t, err)
			require.Equal(t, slots.space.Code(nil, nil), without[0])
			var names []string
			for _, member := range slots.members(with[0]) {
				names = append(names, problem.Design.Predictors[member].Name)
			}
			want := []string{"x17", "x93"}
			if c.groups != nil {
				want = []string{"both", "x93"}
			}
			require.ElementsMatch(t, want, names)

			bits := make([]int32, len(problem.Design.Predictors))
			with, _, err = jointSearch{slots.base}.together(t.Context(), bits)
			require.NoError(t, err)
			for member, in := range with[0] {
				require.Equal(t, in == 1, slices.Contains(names, problem.Design.Predictors[member].Name))
			}
		})
	}
}

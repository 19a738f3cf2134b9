package varsel

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/rjmcmc"
	"github.com/transdim/vti/table"
	"github.com/transdim/vti/varsel/design"
)

func TestStart(t *testing.T) {
	data := parseTable(t, "a,b,c,y\n1,2,5,1\n2,1,3,2\n4,4,1,3\n3,5,2,5\n6,1,1,2\n")
	design, err := NewDesign(data, DesignOptions{Target: "y"})
	require.NoError(t, err)
	problem, err := NewProblem(design, ModelOptions{})
	require.NoError(t, err)
	for text, want := range map[string][]int32{"null": {0, 0, 0}, "full": {1, 1, 1}, "c, a": {1, 0, 1}, "b": {0, 1, 0}} {
		code, err := problem.Start(text)
		require.NoError(t, err)
		assert.Equal(t, want, code, text)
	}
	for text, message := range map[string]string{"d": `"d" is not a predictor`, "": "is not a predictor", "a,a": "a is listed twice"} {
		_, err := problem.Start(text)
		assert.ErrorContains(t, err, message)
	}
	limited, err := NewProblem(design, ModelOptions{Prior: Prior{MaxSize: 2}, Codes: ListCodes})
	require.NoError(t, err)
	require.NotNil(t, limited.Slots)
	code, err := limited.Start("c,a")
	require.NoError(t, err)
	assert.Equal(t, []int{0, 2}, limited.members(code))
	_, err = limited.Start("full")
	assert.ErrorContains(t, err, "3 predictors, where a model has at most 2")
}

// productsProblem returns the problem of the table ozone with all 36 products of its nine
// predictors.
func productsProblem(t *testing.T, model ModelOptions) *Problem {
	t.Helper()
	data, err := table.ReadFile("../testdata/ozone.csv")
	require.NoError(t, err)
	design, err := NewDesign(data, DesignOptions{Target: "O3", Interactions: []string{design.AllInteractions}})
	require.NoError(t, err)
	problem, err := NewProblem(design, model)
	require.NoError(t, err)
	return problem
}

func TestStartUnderHeredity(t *testing.T) {
	strong, weak := productsProblem(t, ModelOptions{}), productsProblem(t, ModelOptions{Heredity: WeakHeredity})
	for text, message := range map[string]string{
		"null": "", "full": "", "temp:ibt,ibt,temp": "", "temp:ibt": "temp:ibt without the parents that strong heredity asks for", "temp,temp:ibt": "temp:ibt without the parents",
	} {
		if _, err := strong.Start(text); message == "" {
			require.NoError(t, err, text)
		} else {
			require.ErrorContains(t, err, message)
		}
	}
	_, err := weak.Start("temp,temp:ibt")
	require.NoError(t, err)
	_, err = weak.Start("temp:ibt")
	require.ErrorContains(t, err, "weak heredity")
}

// The models in which chains start are allowed and not above the largest size. Their sizes range
// from 0 to nearly the number of predictors without parents.
func TestSpreadStarts(t *testing.T) {
	problem := productsProblem(t, ModelOptions{})
	least, most := math.MaxInt, 0
	for _, code := range problem.spreadStarts(64, 1) {
		members := bitMembers(code)
		least, most = min(least, len(members)), max(most, len(members))
		for _, g := range members {
			require.Empty(t, problem.Design.Predictors[g].Parents)
		}
	}
	require.LessOrEqual(t, least, 1)
	require.GreaterOrEqual(t, most, 7)
	for _, code := range productsProblem(t, ModelOptions{Prior: Prior{MaxSize: 2}}).spreadStarts(64, 1) {
		require.LessOrEqual(t, len(bitMembers(code)), 2)
	}
	require.Equal(t, problem.spreadStarts(8, 3), problem.spreadStarts(16, 3)[:8])
}

// Among 2^45 models with strong heredity, chains that start from the models of spreadStarts must
// find the three predictors that matter. Chains whose starts the sampler chooses must get stuck.
func TestChainsUnderHeredity(t *testing.T) {
	testkit.Slow(t)
	problem := productsProblem(t, ModelOptions{})
	device, err := gpu.Open(gpu.CPU)
	require.NoError(t, err)
	defer device.Close()
	cfg := rjmcmc.Config{Chains: 64, BurnIn: 1000, Iterations: 500, Thin: 10, Seed: 1}
	result, err := RunChains(t.Context(), device, problem, cfg, t.TempDir())
	require.NoError(t, err)
	stuck, err := rjmcmc.Run(t.Context(), device.Backend(), problem.Posterior(), cfg)
	require.NoError(t, err)
	for _, name := range []string{"humidity", "temp", "ibt"} { // `vti varsel` gives each of them probability 1.000
		g := slices.Index(problem.Design.PredictorNames(), name)
		require.Greater(t, float64(result.Inclusion[g].Certified), 0.9, name)
	}
	require.Less(t, stuck.Outcome(slices.Index(problem.Design.PredictorNames(), "temp"), 1).Mean, 0.9)
}

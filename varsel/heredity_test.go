package varsel

import (
	"fmt"
	"math"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/space"
	"github.com/transdim/vti/varsel/design"
	"github.com/transdim/vti/varsel/exact"
)

func interactionProblem(t testing.TB, options DesignOptions, model ModelOptions) *Problem {
	t.Helper()
	options.Target = "y"
	design, err := NewDesign(correlated(t, likelihood.GaussianKind, 60, 4, 2), options)
	require.NoError(t, err)
	problem, err := NewProblem(design, model)
	require.NoError(t, err)
	return problem
}

// The prior over models under a heredity rule is the prior by size, restricted to the allowed
// models and normalised, so that it sums to one. On the allowed models the exact answer is
// proportional to the answer without heredity.
func TestHeredity(t *testing.T) {
	for _, c := range []struct {
		name     string
		options  DesignOptions
		heredity Heredity
		valid    func(in map[string]bool) bool
	}{
		{"strong", DesignOptions{Exclude: []string{"o"}, Interactions: []string{"x0:x1", "x1:x3"}}, StrongHeredity,
			func(in map[string]bool) bool {
				return (!in["x0:x1"] || in["x0"] && in["x1"]) && (!in["x1:x3"] || in["x1"] && in["x3"])
			}},
		{"weak", DesignOptions{Exclude: []string{"o"}, Interactions: []string{"x0:x1", "x1:x3"}}, WeakHeredity,
			func(in map[string]bool) bool {
				return (!in["x0:x1"] || in["x0"] || in["x1"]) && (!in["x1:x3"] || in["x1"] || in["x3"])
			}},
		{"an always-in parent, strong", DesignOptions{Exclude: []string{"o"}, Always: []string{"x0"}, Interactions: []string{"x0:x1"}}, StrongHeredity,
			func(in map[string]bool) bool { return !in["x0:x1"] || in["x1"] }},
		{"an always-in parent, weak", DesignOptions{Exclude: []string{"o"}, Always: []string{"x0"}, Interactions: []string{"x0:x1", "x1:x2"}}, WeakHeredity,
			func(in map[string]bool) bool { return !in["x1:x2"] || in["x1"] || in["x2"] }},
	} {
		for _, prior := range []Prior{{}, {Kind: BetaBinomialPrior, A: 1, B: 2}, {Kind: BernoulliPrior, Pi: 0.3, MaxSize: 3}} {
			t.Run(fmt.Sprint(c.name, prior), func(t *testing.T) {
				problem := interactionProblem(t, c.options, ModelOptions{Sigma: 1, Prior: prior, Heredity: c.heredity})
				free := interactionProblem(t, c.options, ModelOptions{Sigma: 1, Prior: prior, Heredity: NoHeredity})
				names := problem.Design.PredictorNames()
				var codes [][]int32
				for _, code := range space.All(problem.Target.Space().Cards()) {
					codes = append(codes, slices.Clone(code))
				}
				value := MustNewExec(testkit.Backend(t), problem.Target.LogPrior).MustExec(codes)[0].Value().([]float64)
				require.InDelta(t, 0, floats.LogSumExp(value), 1e-12)

				answer := func(p *Problem) map[string]float64 {
					asked, err := p.ExactProblem()
					require.NoError(t, err)
					asked.TopModels = len(codes)
					result, err := exact.Enumerate(t.Context(), asked)
					require.NoError(t, err)
					require.Len(t, result.Models, result.Count)
					probability := map[string]float64{}
					for _, model := range result.Models {
						probability[bitsOf(model.Code)] = model.Probability
					}
					return probability
				}
				got, all := answer(problem), answer(free)
				kept := 0.0
				for i, code := range codes {
					in := map[string]bool{}
					for g, name := range names {
						in[name] = code[g] == 1
					}
					size := 0
					for _, bit := range code {
						size += int(bit)
					}
					require.Equal(t, c.valid(in) && size <= prior.Limit(len(names)), !math.IsInf(value[i], -1), bitsOf(code))
					if c.valid(in) {
						kept += all[bitsOf(code)]
					} else {
						require.NotContains(t, got, bitsOf(code))
					}
				}
				for code, probability := range got {
					require.InDelta(t, all[code]/kept, probability, 1e-10)
				}
			})
		}
	}
}

// The column of a product is the product of the standardised predictors. Coefficients on the scale
// of the table give the same predictions as coefficients on the working scale.
func TestInteractionColumns(t *testing.T) {
	problem := interactionProblem(t, DesignOptions{Exclude: []string{"o"}, Interactions: []string{design.AllInteractions}}, ModelOptions{})
	design := problem.Design
	require.Equal(t, []string{"x0", "x1", "x2", "x3", "x0:x1", "x0:x2", "x0:x3", "x1:x2", "x1:x3", "x2:x3"}, design.PredictorNames())
	require.Equal(t, []int{1, 3}, design.Predictors[8].Parents)
	n := design.Rows()
	product := make([]float64, n)
	for i := range n {
		product[i] = design.X.At(i, 2) * design.X.At(i, 4) // x1 and x3, standardised
	}
	mean, sd := stat.MeanStdDev(product, nil)
	j := design.Predictors[8].Coordinates[0]
	for i := range n {
		require.InDelta(t, (product[i]-mean)/sd, design.X.At(i, j), 1e-10)
	}
	theta := make([]float64, design.Dim())
	for k := range theta {
		theta[k] = 0.1 * float64(k+1)
	}
	beta := design.Scaling.ToOriginal(nil, theta)
	for i := range n {
		working, original := 0.0, 0.0
		for k := range theta {
			working += theta[k] * design.X.At(i, k)
			original += beta[k] * (design.X.At(i, k)*design.Scaling.SD[k] + design.Scaling.Mean[k])
		}
		require.InDelta(t, working*design.Scaling.YSD+design.Scaling.YMean, original, 1e-9)
	}
}

func TestInteractionErrors(t *testing.T) {
	data := correlated(t, likelihood.GaussianKind, 30, 3, 1)
	for _, c := range []struct {
		options DesignOptions
		want    string
	}{
		{DesignOptions{Interactions: []string{"x0:x9"}}, `"x9"`},
		{DesignOptions{Interactions: []string{"x0"}}, "want two columns as a:b"},
		{DesignOptions{Interactions: []string{"x0:x0"}}, "want two columns as a:b"},
		{DesignOptions{Interactions: []string{"x0:x1", "x0:x1"}}, "named twice"},
		{DesignOptions{Interactions: []string{"x0:x1"}, Exclude: []string{"x1"}}, "is not a predictor here"},
		{DesignOptions{Interactions: []string{"x0:pair"}, Groups: []PredictorGroup{{Name: "pair", Columns: []string{"x1", "x2"}}}}, "is a factor or a group"},
	} {
		c.options.Target = "y"
		_, err := NewDesign(data, c.options)
		require.ErrorContains(t, err, c.want)
	}
	design, err := NewDesign(data, DesignOptions{Target: "y", Interactions: []string{"x0:x1"}})
	require.NoError(t, err)
	_, err = NewProblem(design, ModelOptions{Codes: ListCodes, Prior: Prior{MaxSize: 2}})
	require.ErrorContains(t, err, "cannot be written as lists")
}

func bitsOf(code []int32) string { return fmt.Sprint(code) }

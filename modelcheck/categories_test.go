package modelcheck

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/internal/stream"
)

// choicesInput returns rows of three categories. Their probabilities do not depend on x. The
// responses and the replicates are drawn from the same probabilities.
func choicesInput(n int) RegressionInput {
	random := stream.Rand(1, "choices")
	shares := []float64{0.2, 0.5, 0.3}
	draw := func() float64 {
		u := random.Float64()
		for k, p := range shares {
			if u -= p; u < 0 {
				return float64(k)
			}
		}
		return 2
	}
	in := RegressionInput{Kind: Category, Response: Column{Name: "y"}, Predictors: []Column{{Name: "x"}}, Unordered: []string{"a", "b", "c"}}
	for range n {
		in.Response.Values, in.Predictors[0].Values = append(in.Response.Values, draw()), append(in.Predictors[0].Values, random.NormFloat64())
	}
	in.Draw = func(_ int, mean, sd, replicate []float64) {
		for i := range replicate {
			replicate[i] = draw()
			for k, p := range shares {
				mean[k*n+i], sd[k*n+i] = p, math.Sqrt(p*(1-p))
			}
		}
	}
	return in
}

// A table drawn from the model is called good, also if it is sorted by category, and the histogram
// counts the rows of each category. The check has findings for a table in which one category has
// exactly the rows whose x is far from zero, and for a table with copied rows.
func TestUnorderedCategories(t *testing.T) {
	in := choicesInput(200)
	report, err := Regression(t.Context(), in)
	require.NoError(t, err)
	require.Equal(t, Good, report.Verdict, "%v", report.Findings)
	require.Equal(t, []string{"a", "b", "c"}, []string{report.Predictive[0].Category, report.Predictive[1].Category, report.Predictive[2].Category})
	count := 0.0
	for _, y := range in.Response.Values {
		if y == 1 {
			count++
		}
	}
	require.Equal(t, count, report.Predictive[1].Observed)
	require.InDelta(t, 100, report.Predictive[1].Median, 3)

	sorted := choicesInput(200)
	places := map[float64]int{1: 0, 0: 1, 2: 2} // an order different from the numeric order
	slices.SortStableFunc(sorted.Response.Values, func(a, b float64) int { return places[a] - places[b] })
	report, err = Regression(t.Context(), sorted)
	require.NoError(t, err)
	require.Equal(t, Good, report.Verdict, "%v", report.Findings)

	bent := choicesInput(200)
	for i, x := range bent.Predictors[0].Values {
		if math.Abs(x) > 1.2 {
			bent.Response.Values[i] = 2
		} else if bent.Response.Values[i] == 2 {
			bent.Response.Values[i] = 1
		}
	}
	report, err = Regression(t.Context(), bent)
	require.NoError(t, err)
	require.True(t, slices.ContainsFunc(report.Findings, func(f Finding) bool {
		return f.Where == "column x" && f.Statistic != 0 && len(f.What) > 0 && f.What[len(f.What)-5:] == "y = c"
	}), "%v", report.Findings)

	copied := choicesInput(100)
	copy(copied.Response.Values[50:], copied.Response.Values[:49])
	copy(copied.Predictors[0].Values[50:], copied.Predictors[0].Values[:49])
	report, err = Regression(t.Context(), copied)
	require.NoError(t, err)
	require.NotEqual(t, Good, report.Verdict)
}

// The test gives category b a higher probability in all its rows than in all other rows. The check
// must report that b is separated.
func TestSeparatedCategory(t *testing.T) {
	in := choicesInput(60)
	n := len(in.Response.Values)
	in.Draw = func(_ int, mean, sd, replicate []float64) {
		for i, y := range in.Response.Values {
			replicate[i] = y
			for k := range 3 {
				p := 0.1
				if k == int(y) && k == 1 {
					p = 0.8
				}
				mean[k*n+i], sd[k*n+i] = p, math.Sqrt(p*(1-p))
			}
		}
	}
	report, err := Regression(t.Context(), in)
	require.NoError(t, err)
	require.True(t, slices.ContainsFunc(report.Findings, func(f Finding) bool {
		return f.Where == "response y = b" && f.Verdict == Questionable
	}), "%v", report.Findings)
}

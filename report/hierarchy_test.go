package report

import (
	"testing"

	"github.com/transdim/vti/hbm/frame"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/hbm/regression"
	"github.com/transdim/vti/run"
)

// TestPopulationAnswer checks that the answer distinguishes effects of numbers from effects of
// levels of a factor.
func TestPopulationAnswer(t *testing.T) {
	result := &regression.Result{
		Data: regression.FrameSummary{Response: "y", Columns: []frame.ColumnSummary{
			{Name: "age", Min: 3, Max: 14}, {Name: "period=p2", Max: 1}, {Name: "period=p3", Max: 1},
		}},
		Effects: []regression.Summary{
			{Name: "(Intercept)", Mean: 4, Q025: 3, Q975: 5},
			{Name: "age", Mean: 0.5, Q025: 0.25, Q975: 0.75},
			{Name: "period=p2", Mean: -2, Q025: -3, Q975: -1},
			{Name: "period=p3", Mean: -1, Q025: -3, Q975: 1},
		},
	}
	v := &hierarchy{&source{}, result}
	require.Equal(t, "Across the population, y changes with one more unit of age (0.500, 95% interval 0.250 to 0.750), and is different where period=p2 (−2.00, 95% interval −3.00 to −1.00); the sign of the effect of period=p3 (−1.00, 95% interval −3.00 to 1.00) is not known.", v.populationAnswer())
	result.Effects = result.Effects[:1]
	require.Equal(t, "The formula has no effects of columns on the whole population.", v.populationAnswer())
}

// A curve is not reported as a slope. The answer says how far it departs from its straight line,
// unless the selection of terms finds that it is probably a line. A curve is not reported as a
// grouping of the rows either.
func TestCurvesInAnswers(t *testing.T) {
	result := &regression.Result{
		Data: regression.FrameSummary{Response: "y", Groups: []regression.GroupSummary{{Name: "g", Levels: 3}, {Name: "s(age)", Levels: 1, Line: "age"}}},
		Effects: []regression.Summary{
			{Name: "(Intercept)", Mean: 4, Q025: 3, Q975: 5},
			{Name: "age", Mean: 0.5, Q025: 0.25, Q975: 0.75},
		},
		SDs:     []regression.Summary{{Name: "sd((Intercept) | g)", Mean: 1, Q025: 0.5, Q975: 2}, {Name: "sd(s(age))", Mean: 3, Q025: 2, Q975: 4}},
		Varying: []regression.LevelSummary{{Group: "g", Level: "a", Term: "(Intercept)"}, {Smooth: true, Group: "s(age)", Level: "all", Term: "bend 1"}},
	}
	v := &hierarchy{&source{}, result}
	const curve = "The effect of age is a curve, which departs from its line by a standard deviation of 3.00 (95% interval 2.00 to 4.00)."
	require.Equal(t, curve, v.sentences()[0])
	require.Equal(t, "Groups differ by standard deviations of the level by g (1.00, 0.500 to 2.00).", v.sentences()[1])
	require.Equal(t, "What explains y, and how does it vary by g?", v.title())
	require.Len(t, v.varying(), 1)
	result.Terms = []regression.TermState{{Term: "s(age)", State: "linear", Prob: 0.3}, {Term: "s(age)", State: "curved", Prob: 0.3}, {Term: "s(age)", State: "curved, varying by g", Prob: 0.4}}
	require.Equal(t, curve, v.sentences()[0])
	result.Terms = []regression.TermState{{Term: "s(age)", State: "linear", Prob: 0.8}, {Term: "s(age)", State: "curved", Prob: 0.2}}
	require.Equal(t, "Across the population, y changes with one more unit of age (0.500, 95% interval 0.250 to 0.750).", v.sentences()[0])
}

// TestRegressionText checks that an untrusted answer of a variational family comes with the advice
// to use the marginal family, which integrates effects out.
func TestRegressionText(t *testing.T) {
	text := func(command, family string, verdict vti.Verdict) string {
		return regressionText(&regression.Result{Origin: run.Origin{Command: command}, Family: family, Certificate: &regression.Certificate{Verdict: verdict}})
	}
	for _, verdict := range []vti.Verdict{vti.Doubtful, vti.Failed} {
		require.Contains(t, text("hbm", "pavi-e", verdict), "--family marginal")
		require.NotContains(t, text("hbm", regression.MarginalFamily, verdict), "--family")
		require.NotContains(t, text(regression.InferCommand, "pavi-e", verdict), "--family")
	}
	require.NotContains(t, text("hbm", "pavi-f", vti.Trusted), "Try")
}

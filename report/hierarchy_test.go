package report

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/hbm/regression"
)

// The answer tells effects of numbers from those of levels of a factor.
func TestPopulationAnswer(t *testing.T) {
	result := &regression.Result{
		Data: regression.FrameSummary{Response: "y", Columns: []regression.ColumnSummary{
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

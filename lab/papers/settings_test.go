package papers

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The settings of VTI are those of table 2, of section 5.1 (prior of models and likelihood), and of
// appendix E.1 and E.2 (flows, prior of coefficients, figure 4).
func TestSettingsOfVTI(t *testing.T) {
	s := settingsOf[vtiSettings]("vti")
	require.Equal(t, 50, s.Rows)
	require.Equal(t, 7, s.Predictors)
	require.Equal(t, 0.4, s.Inclusion)
	require.Equal(t, 0.1, s.Outliers)
	require.Equal(t, map[string]vtiLevel{
		"none":   {Sigma: [2]float64{1, 10}, Effects: [2]float64{0.5, 0.5}},
		"medium": {Sigma: [2]float64{2, 5}, Effects: [2]float64{0.5, 1.5}},
		"high":   {Sigma: [2]float64{4, 4}, Effects: [2]float64{0.5, 1.5}, Mixed: 0.4, Mixture: 0.1},
	}, s.Levels)
	require.Equal(t, vtiNoise{Sigma: s.Levels["none"].Sigma, Outliers: 0.1}, s.Likelihood)
	require.Equal(t, map[string]float64{"focused": 1.5, "wide": 10}, s.PriorSD)
	require.Equal(t, map[string]flowSize{"affine": {5, 5}, "spline": {4, 6}}, s.Flows)
	require.Equal(t, 10, s.Fits.DataSets)
	require.Equal(t, 10, s.Cardinality.DataSets)
	require.Equal(t, 30000, s.Cardinality.Steps)
	require.Equal(t, []string{"spline"}, s.Cardinality.Flows)
	require.Equal(t, 1000, s.Cardinality.Draws)
	require.Equal(t, []string{"medium", "high"}, s.Cardinality.Levels)
	require.Equal(t, []int{9, 24}, []int{s.Cardinality.Predictors[0], s.Cardinality.Predictors[len(s.Cardinality.Predictors)-1]})
	// The flows that are built have these sizes.
	for name, size := range s.Flows {
		require.Equal(t, size, flowSize{flowOf(name).Layers, flowOf(name).Blocks}, name)
	}
}

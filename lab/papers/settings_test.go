package papers

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSettingsOfVTI checks that the settings agree with table 2, section 5.1 (prior of models and
// likelihood), and appendices E.1 and E.2 (flows, prior of coefficients, figure 4) of Davies et al.
// (2025).
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
	require.Equal(t, []string{"spline", "affine"}, s.Cardinality.Flows) // the paper has splines only
	require.Equal(t, 1000, s.Cardinality.Draws)
	require.Equal(t, []string{"medium", "high"}, s.Cardinality.Levels)
	require.Equal(t, []int{9, 24}, []int{s.Cardinality.Predictors[0], s.Cardinality.Predictors[len(s.Cardinality.Predictors)-1]})
	// The flows that flowOf returns must have the sizes in the settings.
	for name, size := range s.Flows {
		require.Equal(t, size, flowSize{flowOf(name).Layers, flowOf(name).Blocks}, name)
	}
}

// TestSettingsOfExchangeable checks that the settings agree with table 1 (its corners, and the best
// network of each task) and appendices B and C of Mittal et al. (2023).
func TestSettingsOfExchangeable(t *testing.T) {
	s := settingsOf[exchangeableSettings]("exchangeable")
	require.Len(t, s.Tasks, 11)
	require.Equal(t, []float64{11.7, 49.8}, []float64{s.Prior[0], s.Prior[10]})
	require.Equal(t, []float64{1.6, 79.3}, []float64{s.Optimum[0], s.Optimum[10]})
	require.Len(t, s.Networks, 8)
	require.Equal(t, 238.8, s.Networks["deepsets gaussian forward"][6])
	require.Equal(t, 57.7, s.Networks["transformer gaussian forward"][10])
	require.Equal(t, 25.2, s.Networks["deepsets gaussian reverse"][4])
	require.Equal(t, 91.2, s.Networks["transformer gaussian reverse"][7])
	require.Equal(t, 4.5, s.Networks["deepsets flow forward"][1])
	require.Equal(t, 200.2, s.Networks["transformer flow forward"][6])
	require.Equal(t, 64.7, s.Networks["deepsets flow reverse"][9])
	require.Equal(t, 74.5, s.Networks["transformer flow reverse"][10])
	for at, want := range []float64{1.6, 4.4, 0.1, 0.3, 10.6, 1.7, 31.3, 92.4, 66.8, 83.3, 75} {
		var figures []float64
		for _, row := range s.Networks {
			require.Len(t, row, 11)
			figures = append(figures, row[at])
		}
		if at >= 7 { // the tasks from number 7 on have accuracies
			require.Equal(t, want, slices.Max(figures), s.Tasks[at])
		} else {
			require.Equal(t, want, slices.Min(figures), s.Tasks[at])
		}
	}
	require.Equal(t, [2]int{64, 128}, s.Rows)
	require.Equal(t, 100, s.DataSets)
	require.Equal(t, map[string]int{"deepsets": 627, "transformer": 256}, s.Widths)
	require.Equal(t, []int{4, 4, 4, 256}, []int{s.EncoderLayers, s.Heads, s.FlowLayers, s.FlowWidth})
}

// TestSettingsOfPlates checks that the settings agree with the papers on hierarchical models: table
// B.1 to B.4 and section 5 of PAVI, eq. 6 and tables 1 and 2 of ADAVI, and appendix F.2 of the
// paper on amortized branch distributions (docs/papers/branch.md).
func TestSettingsOfPlates(t *testing.T) {
	pavi := settingsOf[paviSettings]("pavi")
	require.Equal(t, []int{2, 20, 200}, pavi.Groups)
	require.Equal(t, []int{1, 5, 20}, pavi.Reduced)
	require.Equal(t, []float64{22, 241, 2434}, pavi.Asymptotic)
	require.Equal(t, []float64{21.4, 238, 2377}, pavi.ELBO["pavi-f"])
	require.Equal(t, []float64{17.4, 184, 2242}, pavi.ELBO["pavi-e"])
	require.Equal(t, []float64{18.8, 216, 2217}, pavi.ELBO["adavi"])
	require.Equal(t, []int{4058, 4202, 5642}, pavi.Weights["pavi-f"])
	require.Equal(t, 27394, pavi.Weights["pavi-e"][2])
	require.Equal(t, []int{8, 100, 2}, []int{pavi.Convergence.Dim, pavi.Convergence.Groups, pavi.Convergence.Reduced})
	require.Equal(t, []int{8, 20, 2}, []int{pavi.Encodings.Dim, pavi.Encodings.Groups, pavi.Encodings.Reduced})
	require.Equal(t, []int{2, 16}, []int{slices.Min(pavi.Encodings.Sizes), slices.Max(pavi.Encodings.Sizes)})
	require.Equal(t, 20, pavi.DataSets)
	require.Equal(t, otherPlates{2, 20, 10, map[string]float64{"pavi-f": -111, "pavi-e": -152, "adavi": -200}}, pavi.Mixture)
	require.Equal(t, otherPlates{2, 15, 15, map[string]float64{"pavi-f": -670, "pavi-e": -670}}, pavi.Variances)
	require.Equal(t, brainSize{5, 6, 12, 7, 4}, pavi.Brain.Size)
	require.Equal(t, -82000.0, pavi.Brain.ELBO["pavi-f"])
	require.Equal(t, 128, pavi.Parcellation.Reduced)

	adavi := settingsOf[adaviSettings]("adavi")
	require.Equal(t, []int{3, 30, 300}, adavi.Groups)
	require.Equal(t, []int{2, 50, 20}, []int{adavi.Dim, adavi.Samples, adavi.DataSets})
	require.Equal(t, [3]float64{1, 0.2, 0.05}, adavi.SD)
	require.Equal(t, adavi.SD, pavi.OurSD)
	require.Equal(t, adavi.Samples, pavi.OurSamples)
	require.Equal(t, []float64{245, 2440, 24400}, adavi.Truth)
	require.Equal(t, []float64{225, 2320, 22400}, adavi.ELBO["adavi"])
	require.Equal(t, 12000, adavi.Weights["adavi"])
	require.Equal(t, []float64{-21, -17.6}, []float64{adavi.NonConjugate["meanfield"], adavi.NonConjugate["adavi"]})
	require.Equal(t, []float64{171, -494}, []float64{adavi.Mixture["meanfield"], adavi.Mixture["adavi"]})

	branch := settingsOf[branchSettings]("branch")
	require.Equal(t, []int{10, 1000, 100000}, branch.Groups)
	require.Equal(t, []float64{-0.5845, -0.5658, -0.6077}, branch.Ratings.ELBO["branch dense"])
	require.Equal(t, []float64{-0.5749, -0.5602, -0.5716}, branch.Ratings.Test["amortized-branch diagonal"])
	require.Equal(t, []int{200, 400}, branch.Ratings.Batch[1:])
	require.Equal(t, []int{10, 100, 128}, []int{branch.Dim, branch.Rows, branch.OurUnits})
}

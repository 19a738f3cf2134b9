package varsel

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/varsel/exact"
)

// Given the exact probabilities of models, knownMoments must return the means, standard deviations
// and quantiles of coefficients that the enumeration returns.
func TestMomentsOfCertificatesAreThoseOfEnumeration(t *testing.T) {
	for name, problem := range exactProblems(t) {
		t.Run(name, func(t *testing.T) {
			asked, err := problem.ExactProblem()
			require.NoError(t, err)
			answer, err := exact.Enumerate(t.Context(), asked)
			require.NoError(t, err)
			var models []vti.ModelEstimate
			for _, code := range possible(t, problem.Posterior()) {
				models = append(models, vti.ModelEstimate{Code: code})
			}
			probabilities := map[string]float64{}
			for _, m := range answer.Models {
				probabilities[modelText(bitMembers(m.Code), len(m.Code))] = m.Probability
			}
			require.Len(t, probabilities, answer.Count)
			require.Len(t, models, answer.Count)
			for i := range models {
				models[i].Certified = probabilities[modelText(problem.members(models[i].Code), len(problem.Design.Predictors))]
			}
			got, want := problem.knownMoments(t.Context(), models), problem.coefficients(answer.Coefficients)
			require.Len(t, got, len(want))
			for j, w := range want {
				require.Equal(t, w.Name, got[j].Name)
				unit := math.Max(float64(w.SDGivenIn), 1e-3)
				pairs := [][2]Number{
					{w.Mean, got[j].Mean}, {w.SD, got[j].SD}, {w.MeanGivenIn, got[j].MeanGivenIn}, {w.SDGivenIn, got[j].SDGivenIn},
				}
				for _, pair := range pairs {
					require.InDelta(t, float64(pair[0]), float64(pair[1]), 1e-9*unit, w.Name)
				}
				for _, pair := range [][2]Number{{w.Q025, got[j].Q025}, {w.Q975, got[j].Q975}, {w.Q025GivenIn, got[j].Q025GivenIn}, {w.Q975GivenIn, got[j].Q975GivenIn}} {
					require.InDelta(t, float64(pair[0]), float64(pair[1]), 1e-7*unit, w.Name)
				}
			}
		})
	}
}

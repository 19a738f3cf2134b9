package varsel

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/space"
)

// Moments from the singular values of each model are those of the walk over sums of squares, which
// gets there by other formulas.
func TestDecomposedMomentsAreThoseOfTheWalk(t *testing.T) {
	for name, problem := range exactProblems(t) {
		if problem.Slots != nil {
			continue
		}
		t.Run(name, func(t *testing.T) {
			exact, err := problem.ExactProblem()
			require.NoError(t, err)
			answer, err := Exact(t.Context(), exact)
			require.NoError(t, err)
			var models []vti.ModelEstimate
			for _, code := range space.All(problem.Target.Space().Cards()) {
				models = append(models, vti.ModelEstimate{Code: append([]int32(nil), code...)})
			}
			codes := make([][]int32, len(models))
			for i, m := range models {
				codes[i] = m.Code
			}
			logs, err := exactBits{problem.Target}.LogEvidences(t.Context(), codes)
			require.NoError(t, err)
			probabilities := map[string]float64{}
			for _, m := range answer.Models {
				probabilities[string(modelText(bitMembers(m.Code), len(m.Code)))] = m.Probability
			}
			require.Len(t, probabilities, answer.Count)
			for i := range models {
				require.False(t, math.IsNaN(logs[i]))
				models[i].Certified = probabilities[string(modelText(bitMembers(codes[i]), len(codes[i])))]
			}
			got, want := problem.decomposedMoments(t.Context(), models), problem.exactCoefficients(answer)
			require.Len(t, got, len(want))
			for j, w := range want {
				require.Equal(t, w.Name, got[j].Name)
				unit := math.Max(float64(w.SDGivenIn), 1e-3)
				pairs := [][2]Number{
					{w.Mean, got[j].Mean}, {w.SD, got[j].SD}, {w.MeanGivenIn, got[j].MeanGivenIn}, {w.SDGivenIn, got[j].SDGivenIn},
				}
				for _, pair := range pairs {
					require.InDelta(t, float64(pair[0]), float64(pair[1]), 1e-5*unit, w.Name)
				}
				for _, pair := range [][2]Number{{w.Q025, got[j].Q025}, {w.Q975, got[j].Q975}, {w.Q025GivenIn, got[j].Q025GivenIn}, {w.Q975GivenIn, got[j].Q975GivenIn}} {
					require.InDelta(t, float64(pair[0]), float64(pair[1]), 0.04*unit, w.Name)
				}
			}
		})
	}
}

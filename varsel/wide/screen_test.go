package wide

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// If σ is known, the log Bayes factor that screening finds for adding a predictor is the difference
// of exact log evidences.
func TestScreeningEvidence(t *testing.T) {
	d := correlated(50, 6)
	d.Predictors[1].Coordinates = []int{2, 6}
	d.Predictors = d.Predictors[:5]
	s := searchOf(d, 1)
	for _, model := range [][]int{nil, {0}, {2, 4}} {
		f := s.fit()
		f.find(model)
		for predictor, got := range f.evidences(model) {
			if slices.Contains(model, predictor) {
				require.True(t, math.IsNaN(got))
				continue
			}
			require.InDelta(t, s.evidence(t, append(slices.Clone(model), predictor)...)-s.evidence(t, model...), got, 1e-8)
		}
		odds, err := s.Enters(t.Context(), [][]int{model})
		require.NoError(t, err)
		for predictor, got := range f.evidences(model) {
			if !slices.Contains(model, predictor) {
				require.InDelta(t, got+s.prior().Birth(len(model), predictor), odds[0][predictor], 1e-12)
			}
		}
	}
}

package score

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Log evidences computed in parallel are exactly equal to log evidences computed one by one.
func TestMixedScoresSideBySide(t *testing.T) {
	for _, name := range []string{"separated", "rare"} {
		text := mixedTables()[name]
		scores, err := mixedTable(t, text, ModelOptions{}).ExactScores(t.Context(), nil)
		require.NoError(t, err)
		forms := mixedTable(t, text, ModelOptions{}).Forms()
		for k, f := range slices.Backward(scores.Families) {
			require.Equal(t, forms[f.Node].LogEvidence(f.Parents), scores.LogEvidence[k], "%s: %v", name, f)
		}
	}
}

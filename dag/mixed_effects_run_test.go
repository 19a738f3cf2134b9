package dag

import (
	"bytes"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/dag/effects"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/lab/dagtest"
)

// For a table without categories, simulated effects of mixed mechanisms agree with sums over paths
// in the Gaussian model of the BGe score, within 5 standard errors of the 200 simulated draws.
func TestMixedEffectsOfNumbersAreThoseOfBGe(t *testing.T) {
	s, err := sem.Simulate(sem.Simulation{Nodes: 4, Rows: 60, EdgeProbability: 0.6, Seed: 5})
	require.NoError(t, err)
	var text bytes.Buffer
	require.NoError(t, s.WriteCSV(&text))
	found := map[sem.Mechanism][]effects.Effect{}
	for _, mechanism := range []sem.Mechanism{sem.BGe, sem.Mixed} {
		r, err := RunExact(t.Context(), dagtest.Mixed(t, text.String(), score.ModelOptions{Mechanism: mechanism}), ExactConfig{})
		require.NoError(t, err)
		found[mechanism] = r.Effects
	}
	compared := 0
	for _, a := range found[sem.BGe] {
		for _, b := range found[sem.Mixed] {
			if a.From != b.From || a.To != b.To || float64(a.Prob) < 0.2 {
				continue
			}
			compared++
			require.InDelta(t, float64(a.Mean), float64(b.Mean), 5*float64(a.SD)/math.Sqrt(200), "%s → %s", a.From, a.To)
			require.InEpsilon(t, float64(a.SD), float64(b.SD), 0.3, "%s → %s", a.From, a.To)
		}
	}
	require.Greater(t, compared, 3)
}

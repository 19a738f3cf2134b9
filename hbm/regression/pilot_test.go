package regression

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Models that do not matter have a pilot alone, whose evidences are right as well, and those that
// do have the draws that they have without one.
func TestPilotsOfModels(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 1))
	var text strings.Builder
	text.WriteString("y,x,w,g\n")
	for g := range 20 {
		level := random.NormFloat64()
		for range 8 {
			x, w := random.NormFloat64(), random.NormFloat64()
			fmt.Fprintf(&text, "%v,%v,%v,g%d\n", level+0.5*x+0.5*random.NormFloat64(), x, w, g)
		}
	}
	r := newRegression(t, frameOf(t, text.String(), FrameOptions{Formula: "y ~ x + w + (x | g)"}), Options{Select: true})
	e := r.effort()
	require.Zero(t, e.pilot)
	all, err := r.integrate(t.Context(), e, 1, nil)
	require.NoError(t, err)
	e.pilot = exactPilotDraws
	some, err := r.integrate(t.Context(), e, 1, nil)
	require.NoError(t, err)
	pilots := 0
	for k, want := range all.certificate.Models {
		got := some.certificate.Models[k]
		require.Equal(t, want.Code, got.Code)
		tolerance := 5 * math.Hypot(want.LogEvidenceSE, got.LogEvidenceSE)
		require.InDelta(t, want.LogEvidence, got.LogEvidence, tolerance+1e-6, r.FormulaOf(got.Code))
		require.InDelta(t, want.Certified, got.Certified, 0.01)
		if some.models[k].pilot {
			pilots++
			require.False(t, mayMatter(got))
			require.Equal(t, exactPilotDraws, got.Draws)
		} else if want.LogEvidenceSE > 0 {
			require.GreaterOrEqual(t, got.Draws, exactFirstDraws)
		}
	}
	require.Greater(t, pilots, 2)
}

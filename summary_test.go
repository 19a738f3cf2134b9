package vti

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCoordinates compares certified moments of coordinates of the target normals with known ones,
// averaged over all models and over the models that include the coordinate.
func TestCoordinates(t *testing.T) {
	target := newNormals(t, 3)
	posterior := &Posterior{evaluator: newEvaluatorOf(t, target, 512)}
	certificate, err := posterior.Certify(t.Context(), CertifyConfig{Draws: 1 << 15, Tolerance: 1e-9})
	require.NoError(t, err)
	coordinates, err := certificate.Coordinates(0.025, 0.5, 0.975)
	require.NoError(t, err)
	require.Len(t, coordinates, 3)
	odds := math.Exp(gain)
	inclusion := odds / (1 + odds)
	for _, c := range coordinates {
		require.InDelta(t, inclusion, c.Inclusion, 5*c.SE+1e-12)
		require.Less(t, c.SE, 0.01)
		// The limit is five standard errors with about 15,000 effective draws of each coordinate.
		require.InDelta(t, 1, c.Included.Mean, 5*0.5/math.Sqrt(15_000))
		require.InDelta(t, 0.5, c.Included.SD, 5*0.5/math.Sqrt(2*15_000))
		require.InDelta(t, 1-1.96*0.5, c.Included.Quantiles[0], 0.06)
		require.InDelta(t, 1, c.Included.Quantiles[1], 0.03)
		require.InDelta(t, 1+1.96*0.5, c.Included.Quantiles[2], 0.06)
		require.InDelta(t, inclusion, c.Averaged.Mean, 0.02)
		require.InDelta(t, math.Sqrt(inclusion*(0.25+1-inclusion)), c.Averaged.SD, 0.01)
	}
	_, err = (&Certificate{}).Coordinates()
	require.ErrorContains(t, err, "want one with masks of single models")
}

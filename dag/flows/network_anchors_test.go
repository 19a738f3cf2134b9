package flows

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/dag/dagtest"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/tables"
	"github.com/transdim/vti/gpu"
)

// Anchors of linear families, whose posteriors with known noise are normal: μ is their mode, and
// exp(ρ) the scale that fits best, 1/√H_kk. The error of Adam on single draws is bounded loosely;
// anchors that had not moved would be off by far more.
func TestAnchorsOfNormalPosteriors(t *testing.T) {
	device, err := gpu.Open(gpu.CPU)
	require.NoError(t, err)
	defer device.Close()
	p, err := score.NewProblem(dagtest.Chain(t, 40, tables.DataOptions{}), score.ModelOptions{Sigma: 0.8}, tables.Constraints{})
	require.NoError(t, err)
	target := NewTarget(p)
	a, err := target.fitAnchors(t.Context(), device, 1, func(int, int) {})
	require.NoError(t, err)
	for i, f := range p.Families {
		q := newQuadratic(p.Layout(), score.NewLinearStats(p.Data, f.Node), f, 1)
		for k, on := range p.Layout().Mask(f) {
			if on {
				require.InDelta(t, q.mode[k], float64(a.Shift[i][k]), 0.05)
				require.InDelta(t, -0.5*math.Log(q.precision[k*3+k]), float64(a.LogScale[i][k]), 0.3)
			}
		}
	}

	path := filepath.Join(t.TempDir(), AnchorsFile)
	none, err := readAnchors(path, len(p.Families), 3)
	require.NoError(t, err)
	require.Nil(t, none)
	require.NoError(t, a.write(path))
	back, err := readAnchors(path, len(p.Families), 3)
	require.NoError(t, err)
	require.Equal(t, a, back)
	_, err = readAnchors(path, len(p.Families), 4)
	require.ErrorContains(t, err, "with 4 coordinates")
	require.NoError(t, os.WriteFile(path, []byte("x"), 0o644))
	_, err = readAnchors(path, len(p.Families), 3)
	require.ErrorContains(t, err, "damaged")

	// The density of η is that of θ times the determinant.
	target.anchors = a
	theta := target.parameters(3, []float64{0.5, 0.5, 0.5})
	for k, on := range p.Layout().Mask(p.Families[3]) {
		if !on {
			require.Zero(t, theta[k])
		}
	}
}

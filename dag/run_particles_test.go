package dag

import (
	gocontext "context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/transdim/vti"
	"github.com/transdim/vti/dag/dagtest"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/dag/tables"
)

// A run over three nodes: the same seed gives the same answer, errors of the evidences are small,
// and a network finds what no line can.
func TestRunParticles(t *testing.T) {
	p, err := score.NewProblem(dagtest.Chain(t, 40, tables.DataOptions{}), score.ModelOptions{Mechanism: sem.MLP, Hidden: 2}, tables.Constraints{})
	require.NoError(t, err)
	run := func(seed uint64) *Result {
		result, err := RunParticles(t.Context(), p, ParticlesConfig{Islands: 100, Seed: seed, Dir: t.TempDir()})
		require.NoError(t, err)
		return result
	}
	first := run(1)
	require.Equal(t, first.Edges, run(1).Edges)
	other := run(2)
	require.NotEqual(t, vti.Failed, first.Certificate.Verdict)
	require.InDelta(t, float64(first.LogEvidence), float64(other.LogEvidence), 5*math.Hypot(float64(first.LogEvidenceSE), float64(other.LogEvidenceSE)))
	for k, e := range first.Matrix() {
		for j, probability := range e {
			require.InDelta(t, probability, other.Matrix()[k][j], 5*1.5*float64(first.Certificate.WorstSE)+0.01)
		}
	}
	require.Len(t, first.Checks, 3)
	require.NotEmpty(t, first.Parameters)
	_, err = RunParticles(t.Context(), &score.Problem{}, ParticlesConfig{})
	require.ErrorContains(t, err, "not for auto")
}

// A run that was stopped goes on with the runs of particles that had ended, to the same answer, and
// leaves none of them behind.
func TestParticlesResume(t *testing.T) {
	p, err := score.NewProblem(dagtest.Chain(t, 30, tables.DataOptions{}), score.ModelOptions{Mechanism: sem.MLP, Hidden: 1}, tables.Constraints{})
	require.NoError(t, err)
	cfg := ParticlesConfig{Islands: 40, Seed: 1, Dir: t.TempDir()}
	whole, err := RunParticles(t.Context(), p, cfg)
	require.NoError(t, err)
	cfg.Dir, cfg.keepAfter = t.TempDir(), 1
	ctx, stop := gocontext.WithCancel(t.Context())
	cfg.Status = func(text string) {
		if strings.Contains(text, "island") {
			stop()
		}
	}
	_, err = RunParticles(ctx, p, cfg)
	require.ErrorIs(t, err, gocontext.Canceled)
	pieces := filepath.Join(cfg.Dir, piecesDir)
	found, err := filepath.Glob(filepath.Join(pieces, "*", "*"))
	require.NoError(t, err)
	require.NotEmpty(t, found)
	cfg.Resume, cfg.Status = true, nil
	resumed, err := RunParticles(t.Context(), p, cfg)
	require.NoError(t, err)
	require.Equal(t, whole.Edges, resumed.Edges)
	require.Equal(t, whole.LogEvidence, resumed.LogEvidence)
	_, err = os.Stat(pieces)
	require.ErrorIs(t, err, os.ErrNotExist)
}

package dag

import (
	gocontext "context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/dag/effects"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/dag/tables"
	"github.com/transdim/vti/internal/rundir"
	"github.com/transdim/vti/lab/dagtest"
	"github.com/transdim/vti/lab/testkit"
)

// A run of particles over three nodes has the same answer for the same seed. For two seeds, log
// evidences and edge probabilities agree within their stated errors.
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

// Slopes of networks have standard errors that include the differences between islands, which are
// independent groups of particles, and the errors of evidences. Means of two seeds therefore differ
// by about one standard error. The root mean square of 72 such differences was 1.04 in six sets of
// seeds, with a standard deviation of 0.07, so that the test fails by chance in less than 1 of
// 10,000 sets. With standard errors that take all draws as independent the root mean square is 1.5.
func TestErrorsOfNetworkSlopes(t *testing.T) {
	testkit.Slow(t)
	p, err := score.NewProblem(dagtest.Chain(t, 40, tables.DataOptions{}), score.ModelOptions{Mechanism: sem.MLP, Hidden: 2}, tables.Constraints{})
	require.NoError(t, err)
	slopes := func(seed uint64) map[string]effects.Parameter {
		result, err := RunParticles(t.Context(), p, ParticlesConfig{Islands: 60, Seed: seed})
		require.NoError(t, err)
		byEdge := map[string]effects.Parameter{}
		for _, e := range result.Parameters {
			byEdge[e.From+"->"+e.To] = e
		}
		return byEdge
	}
	squares, count := 0.0, 0.0
	for seed := range uint64(12) {
		other := slopes(2*seed + 1)
		for edge, a := range slopes(2 * seed) {
			if b, both := other[edge]; both {
				squares += math.Pow(float64(a.Mean-b.Mean), 2) / (math.Pow(float64(a.MeanSE), 2) + math.Pow(float64(b.MeanSE), 2))
				count++
			}
		}
	}
	require.InDelta(t, 1.04, math.Sqrt(squares/count), 0.3, "%g differences", count)
}

// A stopped run continues from its finished runs of particles, ends with the same answer, and
// deletes them at the end. This is checked for sums and for chains over graphs.
func TestParticlesResume(t *testing.T) {
	testkit.Slow(t)
	for _, chains := range []bool{false, true} {
		testParticlesResume(t, chains)
	}
}

func testParticlesResume(t *testing.T, chains bool) {
	p, err := score.NewProblem(dagtest.Chain(t, 30, tables.DataOptions{}), score.ModelOptions{Mechanism: sem.MLP, Hidden: 1}, tables.Constraints{})
	require.NoError(t, err)
	cfg := ParticlesConfig{Islands: 40, Seed: 1, Chains: chains, Dir: t.TempDir()}
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
	pieces := filepath.Join(cfg.Dir, rundir.PiecesDir)
	found, err := filepath.Glob(filepath.Join(pieces, "*", "*", "*"))
	require.NoError(t, err)
	require.NotEmpty(t, found)
	cfg.Resume, cfg.Status = true, nil
	resumed, err := RunParticles(t.Context(), p, cfg)
	require.NoError(t, err)
	require.Equal(t, whole.Edges, resumed.Edges)
	require.Equal(t, math.Float64bits(float64(whole.LogEvidence)), math.Float64bits(float64(resumed.LogEvidence))) // NaN for chains, which give no evidence
	_, err = os.Stat(pieces)
	require.ErrorIs(t, err, os.ErrNotExist)
}

// For nine nodes, chains over graphs agree with the sums over all graphs. The chains use a growing
// list of families (nodes with sets of parents) that does not hold all families, and their answer
// says so. Particles estimate the evidence of each family, with different seeds for the chains and
// for the sums, so that both answers have errors.
func TestParticlesByChains(t *testing.T) {
	testkit.Long(t)
	p := simulatedNetworks(t, 9, 60, 5)
	exact, err := RunParticles(t.Context(), p, ParticlesConfig{Islands: 1500, Seed: 1})
	require.NoError(t, err)
	found, err := RunParticles(t.Context(), p, ParticlesConfig{Islands: 1500, Seed: 2, Chains: true})
	require.NoError(t, err)
	require.Less(t, found.Certificate.Families, len(p.Families))
	require.Equal(t, vti.Doubtful, found.Certificate.Verdict)
	require.ErrorContains(t, errors.New(strings.Join(found.Certificate.Reasons, "\n")), "others may have been missed")
	require.True(t, math.IsNaN(float64(found.LogEvidence)))
	for i, row := range found.Matrix() {
		for j, probability := range row {
			se := math.Hypot(float64(exact.Certificate.WorstSE), float64(found.Certificate.WorstSE))
			require.InDelta(t, exact.Matrix()[i][j], probability, 4*se, "%d to %d", i, j)
			require.Less(t, se, 0.05)
		}
	}
}

// simulatedNetworks returns a problem with data simulated from small networks with known noise.
func simulatedNetworks(t *testing.T, nodes, rows int, seed uint64) *score.Problem {
	simulated, err := sem.Simulate(sem.Simulation{Nodes: nodes, Rows: rows, ExpectedDegree: 1.5, Mechanism: sem.MLP, Hidden: 4, Seed: seed})
	require.NoError(t, err)
	d, err := tables.NewData(dagtest.Table(t, simulated.Names, simulated.Values), tables.DataOptions{Scaling: tables.Unscaled})
	require.NoError(t, err)
	p, err := score.NewProblem(d, score.ModelOptions{Mechanism: sem.MLP, Hidden: 4, NoBias: true, Sigma: 1}, tables.Constraints{})
	require.NoError(t, err)
	return p
}

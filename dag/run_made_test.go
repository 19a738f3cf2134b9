package dag

import (
	"context"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/dag/dagtest"
	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/dag/tables"
	"github.com/transdim/vti/gpu"
)

// One flow for all nodes with a learned q(m) comes to the edge probabilities of the exact sums,
// under either prior over graphs and with constraints, and a run goes on from its checkpoint to the
// same numbers.
func TestRunMade(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds of a processor")
	}
	device, err := gpu.Open(gpu.CPU)
	require.NoError(t, err)
	defer device.Close()
	for _, orders := range []bool{false, true} {
		p, err := score.NewProblem(dagtest.Chain(t, 25, tables.DataOptions{}), score.ModelOptions{Mechanism: sem.Linear, Orders: orders, EdgePenalty: 0.5}, tables.Constraints{Forbid: []string{"c->a"}, Require: []string{"b->c"}})
		require.NoError(t, err)
		scores, err := p.ExactScores(t.Context(), nil)
		require.NoError(t, err)
		exact, err := score.NewPosterior(context.Background(), p.Structure, scores, nil)
		require.NoError(t, err)
		config := RunConfig{
			Fit:   vti.Config{Steps: 60, Batch: 256, Seed: 3, Start: vti.AnchorStart, Flow: cosmic.Config{Layers: 2, Blocks: 1, Hidden: 8}},
			Draws: 1 << 14, Dir: t.TempDir(), Truth: dgraph.FromParents([]dgraph.Set{{}, dgraph.SetOf(0), dgraph.SetOf(1)}),
		}
		result, err := RunMade(t.Context(), device, p, config)
		require.NoError(t, err)
		require.Equal(t, vti.Trusted, result.Certificate.Verdict, result.Certificate.Reasons)
		require.InDelta(t, exact.LogEvidence+p.LogJacobian(), float64(result.LogEvidence), 0.02)
		want := exact.EdgeProbabilities()
		for i, row := range result.Matrix() {
			for j, probability := range row {
				require.InDelta(t, want[i][j], probability, 0.01, "%d to %d", i, j)
			}
		}
		require.NotEmpty(t, result.Graphs)
		require.NotEmpty(t, result.Parameters)
		require.Len(t, result.Checks, 3)
		require.NotNil(t, result.Metrics)
		if orders {
			continue
		}
		config.Fit.Resume = true
		again, err := RunMade(t.Context(), device, p, config)
		require.NoError(t, err)
		require.Equal(t, result.Edges, again.Edges)
		fit := config.Fit
		fit.Checkpoint = filepath.Join(config.Dir, "posterior.vti")
		require.NoError(t, CheckCheckpoint(device, p, score.Made, fit))
		fit.Batch = 128
		require.Error(t, CheckCheckpoint(device, p, score.Made, fit))
	}
	var wide []float64
	for range 33 {
		wide = append(wide, dagtest.Random(uint64(len(wide))).NormFloat64())
	}
	names := strings.Split("abcdefghijk", "")
	d, err := tables.NewData(dagtest.Table(t, names, [][]float64{wide[:11], wide[11:22], wide[22:]}), tables.DataOptions{})
	require.NoError(t, err)
	many, err := score.NewProblem(d, score.ModelOptions{Mechanism: sem.Linear}, tables.Constraints{})
	require.NoError(t, err)
	require.ErrorContains(t, many.CheckMade(), "want at most 10")
	require.ErrorContains(t, many.CheckReversibleJump(), "want at most 10")
	many.Structure.Orders = true
	require.NoError(t, many.CheckMade())
}

// Of networks the evidences are those of particles, and the answer is that of the sum over graphs.
// A run goes on from its checkpoint to the same numbers. What q(m) was trained on has no part in
// it: after one step the edges are the same.
func TestRunMadeOfNetworks(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds of a processor")
	}
	device, err := gpu.Open(gpu.CPU)
	require.NoError(t, err)
	defer device.Close()
	p, err := score.NewProblem(dagtest.Chain(t, 25, tables.DataOptions{}), score.ModelOptions{Mechanism: sem.MLP, Hidden: 2}, tables.Constraints{})
	require.NoError(t, err)
	exact, err := RunParticles(t.Context(), p, ParticlesConfig{Islands: 300, Seed: 2})
	require.NoError(t, err)
	for _, steps := range []int{40, 1} {
		config := RunConfig{
			Fit:     vti.Config{Steps: steps, Batch: 16, Seed: 3, Flow: cosmic.Config{Layers: 2, Blocks: 1, Hidden: 8}},
			Islands: 300, Dir: t.TempDir(),
		}
		result, err := RunMade(t.Context(), device, p, config)
		require.NoError(t, err)
		require.Equal(t, vti.Trusted, result.Certificate.Verdict, result.Certificate.Reasons)
		require.Positive(t, result.Certificate.Islands)
		se := math.Hypot(float64(exact.LogEvidenceSE), float64(result.LogEvidenceSE))
		require.InDelta(t, float64(exact.LogEvidence), float64(result.LogEvidence), 4*se)
		errors := math.Hypot(float64(exact.Certificate.WorstSE), float64(result.Certificate.WorstSE))
		for i, row := range result.Matrix() {
			for j, probability := range row {
				require.InDelta(t, exact.Matrix()[i][j], probability, 4*errors, "%d to %d", i, j)
			}
		}
		require.NotEmpty(t, result.Checks)
		if steps == 1 {
			continue
		}
		config.Fit.Resume = true
		again, err := RunMade(t.Context(), device, p, config)
		require.NoError(t, err)
		require.Equal(t, result.Edges, again.Edges)
	}
}

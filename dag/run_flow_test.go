package dag

import (
	gocontext "context"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/dag/dagtest"
	"github.com/transdim/vti/dag/effects"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/dag/tables"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/run"
)

// A run of networks that is cancelled in training and resumed ends as one left in peace, to the
// bit.
func TestRunResumes(t *testing.T) {
	device, err := gpu.Open(gpu.CPU)
	require.NoError(t, err)
	defer device.Close()
	p, err := score.NewProblem(dagtest.Chain(t, 25, tables.DataOptions{}), score.ModelOptions{Mechanism: sem.MLP, Hidden: 2}, tables.Constraints{MaxParents: 1})
	require.NoError(t, err)
	config := func(dir string) RunConfig {
		flow := cosmic.Config{Layers: 2, Blocks: 1, Hidden: 8}
		return RunConfig{Fit: vti.Config{Flow: flow, Steps: 20, Batch: 64, LogEvery: 5, Seed: 3}, Draws: 2048, Dir: dir}
	}
	whole, err := RunFlow(t.Context(), device, p, config(t.TempDir()))
	require.NoError(t, err)
	require.Equal(t, 20, whole.Steps)

	ctx, cancel := gocontext.WithCancel(t.Context())
	cfg := config(t.TempDir())
	cfg.Fit.Resume = true
	cfg.Fit.Progress = func(info vti.Info) {
		if info.Step == 10 {
			cancel()
		}
	}
	_, err = RunFlow(ctx, device, p, cfg)
	require.ErrorIs(t, err, gocontext.Canceled)
	require.ErrorContains(t, err, "after 10 of 20 steps")

	cfg.Fit.Progress = nil
	resumed, err := RunFlow(t.Context(), device, p, cfg)
	require.NoError(t, err)
	require.Equal(t, whole.Edges, resumed.Edges)
	require.Equal(t, whole.Graphs, resumed.Graphs)
	require.Equal(t, whole.LogEvidence, resumed.LogEvidence)

	// The record brings back problem and truth, and notices a table that has changed.
	path := filepath.Join(t.TempDir(), "data.csv")
	require.NoError(t, os.WriteFile(path, []byte(dagtest.CSV([]string{"a", "b"}, [][]float64{{1, 2}, {2, 1}, {4, 4}})), 0o644))
	record := &Record{Header: run.Header{Command: "dag", Data: path}, Model: score.ModelOptions{PriorSD: 2}, Constraints: tables.Constraints{Forbid: []string{"a->b"}}}
	first, _, err := record.Problem()
	require.NoError(t, err)
	require.NoError(t, run.WriteRecord(filepath.Dir(path), record))
	read, err := run.ReadRecord[Record](filepath.Dir(path))
	require.NoError(t, err)
	second, _, err := read.Problem()
	require.NoError(t, err)
	require.Equal(t, first.Families, second.Families)
	require.NoError(t, os.WriteFile(path, []byte("a,b\n1,2\n2,1\n4,5\n"), 0o644))
	_, _, err = read.Problem()
	require.ErrorContains(t, err, "has changed since the run started")
}

// However few draws the evidences take, effects have the means and spreads of the exact posterior:
// within 6 standard errors of about 1,500 independent draws on one side.
func TestEffectsOfFewDraws(t *testing.T) {
	device, err := gpu.Open(gpu.CPU)
	require.NoError(t, err)
	defer device.Close()
	p, err := score.NewProblem(dagtest.Chain(t, 40, tables.DataOptions{}), score.ModelOptions{Mechanism: sem.Linear}, tables.Constraints{})
	require.NoError(t, err)
	flow := cosmic.Config{Layers: 2, Blocks: 1, Hidden: 8}
	found, err := RunFlow(t.Context(), device, p, RunConfig{Fit: vti.Config{Flow: flow, Steps: 30, Seed: 3}, Draws: 10, Dir: t.TempDir()})
	require.NoError(t, err)
	exact, err := RunExact(t.Context(), p, ExactConfig{Seed: 4, Dir: t.TempDir()})
	require.NoError(t, err)
	of := map[[2]string]effects.Parameter{}
	for _, e := range exact.Parameters {
		of[[2]string{e.From, e.To}] = e
	}
	for _, e := range found.Parameters {
		want := of[[2]string{e.From, e.To}]
		if e.Prob < 0.3 {
			continue
		}
		require.InDelta(t, float64(want.Mean), float64(e.Mean), 6*float64(want.SD)/math.Sqrt(1500), "%s → %s", e.From, e.To)
		require.InEpsilon(t, float64(want.SD), float64(e.SD), 6/math.Sqrt(2*1500), "%s → %s", e.From, e.To)
	}
}

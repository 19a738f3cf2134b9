package dag

import (
	gocontext "context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/dag/tables"
	"github.com/transdim/vti/dag/walk"
	"github.com/transdim/vti/internal/rundir"
	"github.com/transdim/vti/lab/dagtest"
	"github.com/transdim/vti/lab/testkit"
)

// Sums over all graphs of 16 nodes are impossible, so that the method is chains over graphs. Their
// answer finds the true edges (an AUROC above 0.9), and the same seed gives the same answer.
func TestRunGraphChains(t *testing.T) {
	testkit.Slow(t)
	s, err := sem.Simulate(sem.Simulation{Nodes: 16, Rows: 120, ExpectedDegree: 1, Mechanism: sem.Linear, Seed: 2})
	require.NoError(t, err)
	d, err := tables.NewData(dagtest.Table(t, s.Names, s.Values), tables.DataOptions{})
	require.NoError(t, err)
	p, err := score.NewProblem(d, score.ModelOptions{ExpectedDegree: 1}, tables.Constraints{MaxParents: 4})
	require.NoError(t, err)
	method, err := p.Resolve(score.Auto)
	require.NoError(t, err)
	require.Equal(t, score.Chains, method)
	_, err = p.Resolve(score.Exact)
	require.ErrorContains(t, err, "exact for up to 14")
	run := func() *Result {
		result, err := RunGraphChains(t.Context(), p, GraphChainsConfig{Chains: walk.ChainConfig{Chains: 2, Rounds: 1, Candidates: 5, Seed: 3}, Truth: s.Truth, Dir: t.TempDir()})
		require.NoError(t, err)
		return result
	}
	result := run()
	require.Greater(t, float64(result.Metrics.Answer.Skeleton.AUROC), 0.9)
	require.NotEmpty(t, result.Parameters)
	require.Len(t, result.Checks, 16)
	require.Equal(t, result.Edges, run().Edges)
	p.Model.Mechanism = sem.MLP
	method, err = p.Resolve(score.Auto)
	require.NoError(t, err)
	require.Equal(t, score.Chains, method)
	_, err = p.Resolve(score.Exact)
	require.ErrorContains(t, err, "exact for up to 14")
}

// A stopped run continues and ends with the answer of a run that was not stopped. A run with
// another seed does not use the stored pieces of work. The pieces are deleted at the end, except if
// the time of the run was limited.
func TestGraphChainsResume(t *testing.T) {
	testkit.Slow(t)
	p, err := score.NewProblem(dagtest.Chain(t, 30, tables.DataOptions{}), score.ModelOptions{}, tables.Constraints{})
	require.NoError(t, err)
	whole := func(seed uint64, limit time.Duration, dir string) *Result {
		result, err := RunGraphChains(t.Context(), p, GraphChainsConfig{Chains: walk.ChainConfig{Chains: 2, Rounds: 1, Seed: seed, MaxTime: limit}, Dir: dir, Resume: true})
		require.NoError(t, err)
		return result
	}
	dir := t.TempDir()
	ctx, stop := gocontext.WithCancel(t.Context())
	_, err = RunGraphChains(ctx, p, GraphChainsConfig{Chains: walk.ChainConfig{Chains: 2, Rounds: 1, Seed: 3}, Dir: dir, Status: func(text string) {
		if strings.HasPrefix(text, "round") {
			stop()
		}
	}})
	require.ErrorIs(t, err, gocontext.Canceled)
	kept, err := filepath.Glob(filepath.Join(dir, rundir.PiecesDir, "*", "*", "*"))
	require.NoError(t, err)
	require.Greater(t, len(kept), len(p.Data.Names)) // stored are the scores of each node and the starting graphs
	require.Equal(t, whole(4, 0, t.TempDir()).Edges, whole(4, time.Hour, dir).Edges)
	require.DirExists(t, filepath.Join(dir, rundir.PiecesDir))
	require.Equal(t, whole(3, 0, t.TempDir()).Edges, whole(3, 0, dir).Edges)
	require.NoDirExists(t, filepath.Join(dir, rundir.PiecesDir))
}

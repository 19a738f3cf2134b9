package dag

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/dag/tables"
	"github.com/transdim/vti/dag/walk"
	"github.com/transdim/vti/lab/dagtest"
)

// A run of chains over more nodes than can be summed has files, parameters and metrics. The same
// seed gives the same answer.
func TestRunGraphChains(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds of a processor")
	}
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

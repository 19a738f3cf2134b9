package dag

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti"
	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/dag/walk"
	"github.com/transdim/vti/lab/dagtest"
	"github.com/transdim/vti/lab/testkit"
)

// For a simulated table of numbers and categories, the sum over all graphs finds the true edges,
// apart from their directions. Chains over graphs agree with the sum within 4 standard errors.
func TestMixedGraphsAreFound(t *testing.T) {
	testkit.Slow(t)
	s, err := sem.Simulate(sem.Simulation{Nodes: 5, Rows: 400, EdgeProbability: 0.4, Mechanism: sem.Mixed, Seed: 2})
	require.NoError(t, err)
	var text bytes.Buffer
	require.NoError(t, s.WriteCSV(&text))
	p := dagtest.Mixed(t, text.String(), score.ModelOptions{})
	exact, err := RunExact(t.Context(), p, ExactConfig{Truth: s.Truth})
	require.NoError(t, err)
	require.Equal(t, vti.Trusted, exact.Certificate.Verdict)
	require.Zero(t, float64(exact.Metrics.Answer.Skeleton.MedianSHD))
	chains, err := RunGraphChains(t.Context(), p, GraphChainsConfig{Chains: walk.ChainConfig{Chains: 3, Seed: 1}})
	require.NoError(t, err)
	require.NotEqual(t, vti.Failed, chains.Certificate.Verdict)
	a, b := exact.Matrix(), chains.Matrix()
	for _, e := range dgraph.OrderedPairs(5) {
		require.InDelta(t, a[e.From][e.To], b[e.From][e.To], 4*float64(chains.Certificate.WorstSE), e)
	}
}

// For a table without categories, the evidence of mixed mechanisms equals the BGe score.
func TestMixedOfNumbersIsBGe(t *testing.T) {
	s, err := sem.Simulate(sem.Simulation{Nodes: 4, Rows: 50, Seed: 3})
	require.NoError(t, err)
	var text bytes.Buffer
	require.NoError(t, s.WriteCSV(&text))
	mixed, bge := dagtest.Mixed(t, text.String(), score.ModelOptions{Mechanism: sem.Mixed}), dagtest.Mixed(t, text.String(), score.ModelOptions{Mechanism: sem.BGe})
	a, err := RunExact(t.Context(), mixed, ExactConfig{})
	require.NoError(t, err)
	b, err := RunExact(t.Context(), bge, ExactConfig{})
	require.NoError(t, err)
	require.InDelta(t, float64(b.LogEvidence), float64(a.LogEvidence), 1e-9)
	require.True(t, a.Certificate.Exact)
	require.InDelta(t, float64(b.Edges[0].Prob), float64(a.Edges[0].Prob), 1e-9)
}

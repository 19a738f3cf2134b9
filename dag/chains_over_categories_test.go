package dag

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/tables"
	"github.com/transdim/vti/dag/walk"
	"github.com/transdim/vti/lab/dagtest"
)

// For two tables of categories, edge probabilities by Markov chains over graphs agree with exact
// sums within 4 standard errors of the chains. For the 12 pairs of nodes this fails by chance with
// 1 of 600 seeds.
func TestChainsOverCategories(t *testing.T) {
	for _, interventions := range []bool{false, true} {
		p, err := score.NewProblem(dagtest.Categories(t, dagtest.Random(9), 80, interventions), score.ModelOptions{}, tables.Constraints{})
		require.NoError(t, err)
		scores, err := p.ExactScores(t.Context(), nil)
		require.NoError(t, err)
		posterior, err := score.NewPosterior(t.Context(), p.Structure, scores, nil)
		require.NoError(t, err)
		result, err := RunGraphChains(t.Context(), p, GraphChainsConfig{Chains: walk.ChainConfig{Seed: 6}, Dir: t.TempDir()})
		require.NoError(t, err)
		require.Equal(t, "trusted", result.Certificate.Verdict.String(), result.Certificate.Reasons)
		edges := posterior.EdgeProbabilities()
		for _, e := range result.Edges {
			from, _ := p.Data.Node(e.From)
			to, _ := p.Data.Node(e.To)
			require.InDelta(t, edges[from][to], float64(e.Prob), 4*float64(e.ProbSE), "%s → %s", e.From, e.To)
			require.InDelta(t, edges[to][from], float64(e.ProbReverse), 4*float64(e.ProbReverseSE), "%s → %s", e.To, e.From)
			require.Positive(t, float64(e.ProbSE), "no edge is certain to ± 0")
		}
		exact, err := RunExact(t.Context(), p, ExactConfig{Dir: t.TempDir()})
		require.NoError(t, err)
		require.True(t, exact.Certificate.Exact)
		require.Equal(t, "trusted", exact.Certificate.Verdict.String())
	}
}

package flows

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
)

// Draws of the sum over orders, weighted by the number of orders of each graph, and draws of a
// uniform q(m), weighted by its density, come to the sum over all graphs of the same scores.
func TestWeightedGraphs(t *testing.T) {
	random := rand.New(rand.NewPCG(6, 7))
	s := dgraph.FreeStructure(4)
	scores := score.Scores{Families: s.Families()}
	for range scores.Families {
		scores.LogEvidence = append(scores.LogEvidence, random.NormFloat64())
		scores.SE = append(scores.SE, 0)
	}
	exact, err := score.NewPosterior(t.Context(), s, scores, nil)
	require.NoError(t, err)
	var drawn []DrawnGraph
	for range 20_000 {
		order := random.Perm(4)
		own := DrawnGraph{Parents: make([]dgraph.Set, 4), LogQ: -math.Log(24) - 6*math.Ln2}
		for t, j := range order {
			for _, i := range order[:t] {
				if random.Float64() < 0.5 {
					own.Parents[j] = own.Parents[j].With(i)
				}
			}
		}
		own.LogSorted = logSorted(own.Parents, order)
		drawn = append(drawn, own)
	}
	f := NewFoundGraphs(s, 1, drawn)
	listed, err := f.Posterior(t.Context(), s, scores, nil)
	require.NoError(t, err)
	require.InDelta(t, exact.LogEvidence, listed.LogEvidence, 1e-9)
	ordered := s
	ordered.Orders = true
	for name, sum := range map[string]*weightedGraphs{
		"orders": f.reweighted(ordered.Sum(scores.Families, scores.LogEvidence, func(int, int) bool { return true }), scores),
		"draws":  f.ofDraws(scores),
	} {
		own := score.EstimatedPosterior(s, scores, sum, s.LogMass(), sum.weights.LogMeanSE, sum.weights.ESS)
		require.InDelta(t, exact.LogEvidence, own.LogEvidence, 5*own.LogEvidenceSE, name)
		require.Less(t, own.LogEvidenceSE, 0.1, name)
		want := exact.EdgeProbabilities()
		for i, row := range own.EdgeProbabilities() {
			for j, probability := range row {
				require.InDelta(t, want[i][j], probability, 5*score.ShareError(want[i][j], sum.weights.ESS), name)
			}
		}
	}
}

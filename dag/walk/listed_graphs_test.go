package walk

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/lab/dagtest"
)

// Chains over graphs of listed families agree with the sums over the same graphs, within 5 standard
// errors of their effective draws. This is checked for both priors over graphs, with required and
// forbidden edges, and with families that are missing from the list.
func TestListedGraphsAgainstSums(t *testing.T) {
	random := dagtest.Random(8)
	for _, orders := range []bool{false, true} {
		for _, constrained := range []bool{false, true} {
			s := dgraph.FreeStructure(4)
			s.Orders = orders
			if constrained {
				s.Required[2], s.Allowed[3] = dgraph.SetOf(0), dgraph.SetOf(1, 2)
			}
			scores := score.Scores{Families: s.Families()}
			for _, f := range scores.Families {
				value := 3 * random.NormFloat64()
				if f.Parents.Len() == 3 { // so improbable that they are as good as missing
					value = -1000
				}
				scores.LogEvidence, scores.SE = append(scores.LogEvidence, value), append(scores.SE, 0)
			}
			exact, err := score.NewPosterior(t.Context(), s, scores, nil)
			require.NoError(t, err)
			listed := scores
			listed.Families, listed.LogEvidence, listed.SE = nil, nil, nil
			for i, f := range scores.Families {
				if f.Parents.Len() < 3 {
					listed.Families, listed.LogEvidence, listed.SE = append(listed.Families, f), append(listed.LogEvidence, scores.LogEvidence[i]), append(listed.SE, 0)
				}
			}
			l := NewListedGraphs(s, 1, 0)
			graphs, sum, err := l.round(t.Context(), listed, KeptGraphs)
			require.NoError(t, err)
			edges := graphs.Edges()
			require.Less(t, edges.Worst.RHat, 1.05)
			posterior := l.estimate(listed, sum, edges.Worst.ESS)
			draws, err := posterior.Sample(t.Context(), random, 100)
			require.NoError(t, err)
			require.Positive(t, draws[0].Probability)
			for i, row := range exact.EdgeProbabilities() {
				for j, want := range row {
					require.InDelta(t, want, edges.Probabilities[i][j], 5*math.Max(edges.Errors[i][j], score.ShareError(want, edges.Worst.ESS)), "%d to %d", i, j)
					// the mean probabilities of families given the rest of the graph have less
					// variance than draws
					require.InDelta(t, want, posterior.EdgeProbabilities()[i][j], 4*score.ShareError(want, edges.Worst.ESS), "%d to %d", i, j)
				}
			}
			require.True(t, math.IsNaN(posterior.LogEvidence))
		}
	}
}

package flows

import (
	"math"
	"math/rand/v2"
	"slices"
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
		_, own.LogSorted = sortNodes(own.Parents, func(place int, _ []int) int { return order[place] })
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

// With the prior over orders graphs of more nodes than orders are counted of have shares of draws
// as probabilities. An edge between two of 26 nodes leaves half of the orders.
func TestGraphsOfManyOrders(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 9))
	s := dgraph.FreeStructure(26)
	s.Orders = true
	var scores score.Scores
	for j := range s.Nodes {
		scores.Families, scores.LogEvidence = append(scores.Families, dgraph.Family{Node: j}), append(scores.LogEvidence, 0)
	}
	scores.Families = append(scores.Families, dgraph.Family{Node: 1, Parents: dgraph.SetOf(0)})
	scores.LogEvidence = append(scores.LogEvidence, math.Log(4))
	scores.SE = make([]float64, len(scores.Families))
	orders, _ := math.Lgamma(27)
	var drawn []DrawnGraph
	for range 4000 {
		order := random.Perm(s.Nodes)
		own := DrawnGraph{Parents: make([]dgraph.Set, s.Nodes), LogQ: -orders}
		if slices.Index(order, 0) < slices.Index(order, 1) {
			own.LogQ -= math.Ln2
			if random.Float64() < 0.5 {
				own.Parents[1] = dgraph.SetOf(0)
			}
		}
		drawn = append(drawn, own)
	}
	posterior, err := NewFoundGraphs(s, 1, drawn).Posterior(t.Context(), s, scores, nil)
	require.NoError(t, err)
	graphs, err := posterior.Sample(t.Context(), random, 4000)
	require.NoError(t, err)
	require.Len(t, graphs, 2)
	for _, g := range graphs {
		want := 1.0 / 3
		if g.Graph.Has(0, 1) {
			want = 2.0 / 3
		}
		require.InDelta(t, want, g.Probability, 4*g.SE)
		require.Less(t, g.SE, 0.03)
	}
}

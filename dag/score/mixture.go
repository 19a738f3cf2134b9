package score

import (
	"math"
	"math/rand/v2"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/internal/pick"
)

// ParameterSource draws the parameters of a family from their posterior, zero where not in use.
type ParameterSource func(family int) []float64

// Mixture is a list of families with the probability of each: the posterior of single nodes.
type Mixture struct {
	Families []dgraph.Family
	Shares   []float64
}

// Graph is the graph of some of the families, by node.
func (m Mixture) Graph(families []int) *dgraph.Graph {
	parents := make([]dgraph.Set, len(families))
	for j, f := range families {
		parents[j] = m.Families[f].Parents
	}
	return dgraph.FromParents(parents)
}

// Draws returns a source of families among the families that satisfy a condition, in proportion to
// their shares; nil if there are none.
func (m Mixture) Draws(random *rand.Rand, condition func(dgraph.Family) bool) func() int {
	var places []int
	var shares []float64
	for f, family := range m.Families {
		if m.Shares[f] > 0 && condition(family) {
			places, shares = append(places, f), append(shares, m.Shares[f])
		}
	}
	if places == nil {
		return nil
	}
	table := pick.NewTable(shares)
	return func() int { return places[table.Index(random.Float64())] }
}

// Edges are the edge probabilities, [N][N].
func (m Mixture) Edges(nodes int) [][]float64 {
	probabilities := dgraph.Zeros(nodes)
	for f, family := range m.Families {
		for i := range family.Parents.Nodes() {
			// shares add up to one but for rounding
			probabilities[i][family.Node] = math.Min(probabilities[i][family.Node]+m.Shares[f], 1)
		}
	}
	return probabilities
}

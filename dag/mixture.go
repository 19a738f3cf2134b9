package dag

import (
	"math"
	"math/rand/v2"

	dgraph "github.com/transdim/vti/dag/graph"
)

// parameterSource draws the parameters of a family from their posterior, zero where not in use.
type parameterSource func(family int) []float64

// mixture is a list of families with the probability of each: what is known of single nodes.
type mixture struct {
	families []dgraph.Family
	shares   []float64
}

// draws returns a source of families among those that a condition holds for, in proportion to their
// shares; nil if there are none.
func (m mixture) draws(random *rand.Rand, condition func(dgraph.Family) bool) func() int {
	var places []int
	var cumulative []float64
	total := 0.0
	for f, family := range m.families {
		if m.shares[f] > 0 && condition(family) {
			total += m.shares[f]
			places, cumulative = append(places, f), append(cumulative, total)
		}
	}
	if places == nil {
		return nil
	}
	return func() int { return places[drawIndex(random, cumulative)] }
}

// edges are the edge probabilities, [N][N].
func (m mixture) edges(nodes int) [][]float64 {
	probabilities := zeros(nodes)
	for f, family := range m.families {
		for i := range family.Parents.Nodes() {
			// shares add up to one but for rounding
			probabilities[i][family.Node] = math.Min(probabilities[i][family.Node]+m.shares[f], 1)
		}
	}
	return probabilities
}

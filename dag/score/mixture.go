package score

import (
	"math"
	"math/rand/v2"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/distinct"
	"github.com/transdim/vti/internal/pick"
)

// ParameterSource draws the parameters theta of a family, a node with a set of parents, from their
// posterior. The argument is the index of the family in a list. Parameters that the family does not
// use are 0. Draws of a family with the same island number depend on each other, because they come
// from one group of particles; the number is 0 for a draw that is independent of all others.
type ParameterSource func(family int) (theta []float64, island int)

// ParameterSources returns the source that draws by the given generator. Two sources can be used at
// the same time for families of different nodes.
type ParameterSources func(random *rand.Rand) ParameterSource

// Mixture is a list of families (nodes with sets of parents) with their posterior probabilities.
// For every node the probabilities of its families add up to one.
type Mixture struct {
	// Families holds nodes with sets of parents, and Shares the posterior probability of each of
	// them.
	Families []dgraph.Family
	Shares   []float64
	// SE holds the standard errors of the log evidences behind the probabilities; nil for none.
	SE []float64
}

// OfNodes returns, for each node, the indices in m.Families of its families with a probability
// above 0.
func (m Mixture) OfNodes(nodes int) [][]int {
	places := make([][]int, nodes)
	for f, family := range m.Families {
		if m.Shares[f] > 0 {
			places[family.Node] = append(places[family.Node], f)
		}
	}
	return places
}

// With returns, out of the given families, the families that have the given parent. Families are
// indices of m.Families.
func (m Mixture) With(parent int, families []int) []int {
	return apply.Keep(families, func(f int) bool { return m.Families[f].Parents.Has(parent) })
}

// Draws returns a function that draws one of the given families in proportion to their
// probabilities. Families are indices of m.Families; at least one must be given.
func (m Mixture) Draws(random *rand.Rand, families []int) func() int {
	table := pick.NewTable(distinct.At(m.Shares, families))
	return func() int { return families[table.Index(random.Float64())] }
}

// Edges returns the probabilities of all edges, by cause and effect [N][N].
func (m Mixture) Edges(nodes int) [][]float64 {
	probabilities := dgraph.Zeros(nodes)
	for f, family := range m.Families {
		for i := range family.Parents.Nodes() {
			// the sum may exceed one by rounding
			probabilities[i][family.Node] = math.Min(probabilities[i][family.Node]+m.Shares[f], 1)
		}
	}
	return probabilities
}

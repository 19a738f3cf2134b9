package flows

import (
	"math/rand/v2"
	"slices"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/internal/apply"
)

// WarmCode returns the code of a graph from which a learned distribution of graphs starts, along a
// random topological order of the given graph. The code consists of rows of [GraphModels], or if
// undivided is set it is the code of a [GraphTarget]. Each edge along the order is added or removed
// with probability flip, if the structure allows it, so that no edge becomes impossible.
func WarmCode(s dgraph.Structure, parents []dgraph.Set, flip float64, undivided bool, random *rand.Rand) []int32 {
	order := randomOrder(parents, random)
	varied := make([]dgraph.Set, len(parents))
	var before dgraph.Set
	for _, j := range order {
		varied[j] = parents[j]
		for i := range before.Nodes() {
			if random.Float64() >= flip {
				continue
			}
			if other := varied[j].Toggle(i); s.Allows(j, other) {
				varied[j] = other
			}
		}
		before = before.With(j)
	}
	if undivided {
		return dgraph.NewOrdered(s.Nodes).Code(dgraph.FromParents(varied), order)
	}
	return slices.Concat(apply.To(order, func(j int) []int32 { return codeOf(s.Nodes, dgraph.Family{Node: j, Parents: varied[j]}) })...)
}

// randomOrder returns a topological order of an acyclic graph. It picks each node at random among
// the nodes whose parents all have earlier positions.
func randomOrder(parents []dgraph.Set, random *rand.Rand) (order []int) {
	var placed dgraph.Set
	for range parents {
		free := apply.Where(len(parents), func(j int) bool { return !placed.Has(j) && parents[j].Within(placed) })
		node := free[random.IntN(len(free))]
		order, placed = append(order, node), placed.With(node)
	}
	return order
}

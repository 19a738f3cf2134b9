package flows

import (
	"math/rand/v2"

	dgraph "github.com/transdim/vti/dag/graph"
)

// WarmCode returns the code of a graph from which q(m) starts, along a random topological order of
// the graph. The code consists of rows of [GraphModels], or if undivided is set it is the code of a
// [GraphTarget]. Each edge along the order is flipped, on or off, with probability flip, as far as
// the structure allows, because edges that the given graph lacks must not become impossible.
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
	var code []int32
	for _, j := range order {
		code = append(code, codeOf(s.Nodes, dgraph.Family{Node: j, Parents: varied[j]})...)
	}
	return code
}

// randomOrder returns a topological order of an acyclic graph, picking at random among the nodes
// whose parents all came before.
func randomOrder(parents []dgraph.Set, random *rand.Rand) (order []int) {
	var placed dgraph.Set
	for range parents {
		var free []int
		for j, nodeParents := range parents {
			if !placed.Has(j) && nodeParents.Within(placed) {
				free = append(free, j)
			}
		}
		node := free[random.IntN(len(free))]
		order, placed = append(order, node), placed.With(node)
	}
	return order
}

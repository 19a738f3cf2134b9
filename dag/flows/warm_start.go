package flows

import (
	"math"
	"math/rand/v2"

	dgraph "github.com/transdim/vti/dag/graph"
)

// WarmCode is the code of a graph to start from, along a random one of its orders: for q(m) to
// learn, rows of [GraphModels], or with undivided one of a [GraphTarget]. Each pair of nodes along
// the order has its edge turned on or off with probability flip, as far as the structure allows:
// what the graphs that are learned do not have must not become impossible.
func WarmCode(s dgraph.Structure, parents []dgraph.Set, flip float64, undivided bool, random *rand.Rand) []int32 {
	order, _ := sortNodes(parents, func(_ int, free []int) int { return free[random.IntN(len(free))] })
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

// sortNodes sorts the nodes of an acyclic graph: at each place next picks one of those whose
// parents all stand before. It returns the log of the probability that a random sort picks the
// same, as dgraph.LogSorted does.
func sortNodes(parents []dgraph.Set, next func(place int, free []int) int) (order []int, logProbability float64) {
	var placed dgraph.Set
	for place := range parents {
		var free []int
		for j, own := range parents {
			if !placed.Has(j) && own.Within(placed) {
				free = append(free, j)
			}
		}
		logProbability -= math.Log(float64(len(free)))
		node := next(place, free)
		order, placed = append(order, node), placed.With(node)
	}
	return order, logProbability
}

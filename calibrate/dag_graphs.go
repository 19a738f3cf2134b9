package calibrate

import (
	"slices"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/distinct"
)

// Acyclic returns all acyclic graphs over the given number of nodes. A graph is the list of the
// parent sets of its nodes; a set is a bit mask.
func Acyclic(nodes int) (graphs [][]int) {
	parents := make([]int, nodes)
	var choose func(j int)
	choose = func(j int) {
		if j == nodes {
			if Topological(parents) != nil {
				graphs = append(graphs, slices.Clone(parents))
			}
			return
		}
		for set := range 1 << nodes {
			if set>>j&1 == 0 {
				parents[j] = set
				choose(j + 1)
			}
		}
	}
	choose(0)
	return graphs
}

// Topological returns the nodes of a graph in an order in which every node comes after its parents.
// It returns nil if there is a cycle.
func Topological(parents []int) []int {
	var order []int
	placed := 0
	for len(order) < len(parents) {
		before := len(order)
		for j, set := range parents {
			if placed>>j&1 == 0 && set&^placed == 0 {
				order = append(order, j)
				placed |= 1 << j
			}
		}
		if len(order) == before {
			return nil
		}
	}
	return order
}

// Members returns the elements of a list whose indices are in a set, a bit mask.
func Members[T any](list []T, set int) []T {
	return distinct.At(list, apply.Where(len(list), func(i int) bool { return set>>i&1 == 1 }))
}

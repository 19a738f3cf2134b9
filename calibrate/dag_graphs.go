package calibrate

import "slices"

// Acyclic lists the acyclic graphs over some nodes, each as the set of parents of every node.
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

// Topological orders nodes after their parents; nil if there is a cycle.
func Topological(parents []int) []int {
	var order []int
	placed := 0
	for range parents {
		before := len(order)
		for j, set := range parents {
			if placed>>j&1 == 0 && set&^placed == 0 {
				order = append(order, j)
				placed |= 1 << j
			}
		}
		if len(order) == before {
			break
		}
	}
	if len(order) < len(parents) {
		return nil
	}
	return order
}

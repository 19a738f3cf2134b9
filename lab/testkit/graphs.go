package testkit

import (
	"iter"
	"slices"
)

// parentSet is a set of parents of a node, such as the sets of package dag/graph.
type parentSet interface{ Nodes() iter.Seq[int] }

// EachGraph calls visit with the parent sets of every acyclic graph in which each node j has one of
// the parent sets families[j], until visit returns false. The slice is overwritten between calls.
// Nodes get their parents in turn, and partial graphs with a cycle are not continued.
func EachGraph[S parentSet](families [][]S, visit func(parents []S) bool) {
	var none S
	parents := make([]S, len(families))
	var choose func(j int) bool
	choose = func(j int) bool {
		if j == len(families) {
			return visit(parents)
		}
		for _, set := range families[j] {
			parents[j] = set
			if acyclic(parents) && !choose(j+1) {
				return false
			}
		}
		parents[j] = none
		return true
	}
	choose(0)
}

// acyclic reports whether sets of parents make an acyclic graph. It repeatedly places the nodes
// whose parents are all placed.
func acyclic[S parentSet](parents []S) bool {
	placed := make([]bool, len(parents))
	for range parents {
		for j, set := range parents {
			ready := true
			for i := range set.Nodes() {
				ready = ready && placed[i]
			}
			placed[j] = ready
		}
	}
	return !slices.Contains(placed, false)
}

package walk

import (
	"math"

	dgraph "github.com/transdim/vti/dag/graph"
)

// jump holds two versions of a part of a graph, in which the graphs of two chains differed: the
// parents of some nodes, by node.
type jump struct {
	nodes    []int
	versions [2][]dgraph.Set
}

// mostJumped is the largest number of nodes of a jump. A chain rarely has exactly one of the two
// versions of a larger part.
const mostJumped = 8

// findJumps gives all walks, at the start of a round, the versions of parts in which their graphs
// differ. In a graph of 1,000 nodes some chains almost always have a few nodes in another mode than
// the other chains, such as the other direction of an edge with several parents that make up for
// it. They do not get from one mode to the other by steps that change few edges. Jumps do not
// change during a round, so that a jump and its reverse are proposed with the same probability.
// findJumps does nothing for up to [dgraph.ManyNodes] nodes, and for the prior over orders, where
// the order is part of the state.
func findJumps(walks []*walk) {
	if len(walks[0].parents) <= dgraph.ManyNodes || walks[0].tables.problem.Structure.Orders {
		return
	}
	var jumps []jump
	for a, w := range walks {
		for _, other := range walks[:a] {
			for _, nodes := range differingParts(w.parents, other.parents) {
				if len(nodes) < 2 || len(nodes) > mostJumped { // other steps draw all parents of single nodes
					continue
				}
				found := jump{nodes: nodes}
				for _, j := range nodes {
					found.versions[0], found.versions[1] = append(found.versions[0], w.parents[j]), append(found.versions[1], other.parents[j])
				}
				jumps = append(jumps, found)
			}
		}
	}
	for _, w := range walks {
		w.jumps = jumps
	}
}

// differingParts returns the parts in which two graphs with the given parents differ: sets of nodes
// with different parents in the two graphs, connected by edges that the two graphs do not share.
func differingParts(a, b []dgraph.Set) (parts [][]int) {
	links, left := make([]dgraph.Set, len(a)), dgraph.Set{}
	for j := range a {
		if a[j] == b[j] {
			continue
		}
		left = left.With(j)
		for i := range a[j].Minus(b[j]).Or(b[j].Minus(a[j])).Nodes() {
			if a[i] != b[i] {
				links[i], links[j] = links[i].With(j), links[j].With(i)
			}
		}
	}
	for j := range left.Nodes() {
		if left.Has(j) {
			part := dgraph.Reach(dgraph.SetOf(j), links)
			parts, left = append(parts, part.List()), left.Minus(part)
		}
	}
	return parts
}

// jump proposes to replace one version of a part, picked at random, by the other version. It does
// nothing if the graph has neither of the two versions. The tables must have the inverse
// temperature β = 1.
func (w *walk) jump() {
	part := w.jumps[w.random.IntN(len(w.jumps))]
	has := func(version []dgraph.Set) bool {
		for k, j := range part.nodes {
			if w.parents[j] != version[k] {
				return false
			}
		}
		return true
	}
	next := part.versions[1]
	if !has(part.versions[0]) {
		if next = part.versions[0]; !has(part.versions[1]) {
			return
		}
	}
	difference := 0.0
	for k, j := range part.nodes {
		difference += w.scoreOf(j, next[k]) - w.present(j)
	}
	if difference < math.Log(w.random.Float64()) {
		return
	}
	w.old = w.old[:0]
	for k, j := range part.nodes {
		w.old = append(w.old, change{node: j, parents: w.parents[j], local: w.local[j]})
		w.setFamily(j, next[k])
	}
	for _, j := range part.nodes { // a cycle leads through a node of the part
		if dgraph.Reach(w.parents[j], w.parents).Has(j) {
			w.undo(w.old)
			return
		}
	}
	w.score += difference
}

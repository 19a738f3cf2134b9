package walk

import (
	"slices"

	dgraph "github.com/transdim/vti/dag/graph"
)

// hopeless is the difference in nats of the log posterior weights of two versions of a part of a
// graph from which on the worse version is given up at the start of a round. Parts consist of few
// nodes. The number of graphs with about the same parts cannot make up for such a difference.
const hopeless = 20

// leaveHopelessModes replaces parts of the graphs of walks by other walks' versions of these parts
// whose weight is larger by more than hopeless nats. In a large graph, some of the chains almost
// always start with a few nodes in a mode of negligible probability, such as one wrong edge
// direction with several parents that make up for it, and rarely leave it by themselves. The chains
// still start from different graphs wherever the difference of weights is smaller. Draws from
// before must not be used. leaveHopelessModes does nothing for graphs of few nodes, and for the
// prior over orders.
func leaveHopelessModes(walks []*walk) {
	for _, w := range walks {
		if len(w.parents) <= dgraph.ManyNodes || w.tables.problem.Structure.Orders {
			return
		}
		for _, other := range walks {
			for _, part := range w.differingParts(other.parents) {
				w.adopt(part, other.parents)
			}
		}
		w.rescore()
	}
}

// differingParts returns the parts in which the graph of the walk differs from the graph with the
// given parents: sets of nodes with different parents in the two graphs, connected by edges that
// the two graphs do not share.
func (w *walk) differingParts(parents []dgraph.Set) (parts [][]int) {
	links, left := make([]dgraph.Set, len(parents)), dgraph.Set{}
	differs := func(j int) bool { return w.parents[j] != parents[j] }
	for j := range parents {
		if !differs(j) {
			continue
		}
		left = left.With(j)
		for i := range w.parents[j].Minus(parents[j]).Or(parents[j].Minus(w.parents[j])).Nodes() {
			if differs(i) {
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

// adopt gives the nodes of a part their parents in another graph, if this raises the score by more
// than hopeless nats and leaves the graph of the walk acyclic.
func (w *walk) adopt(part []int, parents []dgraph.Set) {
	gain, changed := 0.0, slices.Clone(w.parents)
	for _, j := range part {
		gain += w.scoreOf(j, parents[j]) - w.present(j)
		changed[j] = parents[j]
	}
	if !(gain > hopeless) || !dgraph.Acyclic(changed) {
		return
	}
	for _, j := range part {
		w.setFamily(j, parents[j])
	}
}

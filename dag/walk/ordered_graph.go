package walk

import (
	"math"
	"math/rand/v2"

	dgraph "github.com/transdim/vti/dag/graph"
)

// orderedGraph is an acyclic graph with one of its topological orders.
type orderedGraph struct {
	random   *rand.Rand
	parents  []dgraph.Set
	children []dgraph.Set
	edges    int
	// largest number of parents that a node has had so far
	mostParents int
	order       []int
	position    []int // place of each node in the order
	// place of each node's last parent in the order plus one, or 0 without parents: the first place
	// at which the node can stand; kept by sort and resort
	readyFrom []int
	counts    []int // number of nodes by readyFrom
	waiting   []int // scratch memory of sort
	ready     []int // scratch memory of sort
}

func newOrderedGraph(parents []dgraph.Set, random *rand.Rand) orderedGraph {
	nodes := len(parents)
	w := orderedGraph{
		random: random, parents: make([]dgraph.Set, nodes), children: make([]dgraph.Set, nodes), order: make([]int, nodes), position: make([]int, nodes),
		readyFrom: make([]int, nodes), counts: make([]int, nodes+1), waiting: make([]int, nodes), ready: make([]int, 0, nodes),
	}
	for j, set := range parents {
		w.setParents(j, set)
	}
	w.sort()
	return w
}

// move draws a position in the order and a second position at most reach positions away. inside
// reports whether the second position is within the order.
func (w *orderedGraph) move(reach int) (from, to int, inside bool) {
	from, to = w.random.IntN(len(w.order)), 1+w.random.IntN(reach)
	if w.random.IntN(2) == 0 {
		to = -to
	}
	to += from
	return from, to, to >= 0 && to < len(w.order)
}

// sort draws an order of the graph A. For each place it picks one of the nodes whose parents are
// all placed, with equal probabilities. It returns log u(≺ | A), the log probability of the drawn
// order ≺.
func (w *orderedGraph) sort() (logProbability float64) {
	ready := w.ready[:0]
	clear(w.readyFrom)
	clear(w.counts)
	for j, set := range w.parents {
		if w.waiting[j] = set.Len(); w.waiting[j] == 0 {
			ready = append(ready, j)
		}
	}
	product := 1.0
	w.counts[0] = len(ready)
	for t := range w.parents {
		product *= float64(len(ready))
		if product > 1e250 {
			logProbability -= math.Log(product)
			product = 1
		}
		k := w.random.IntN(len(ready))
		j := ready[k]
		ready[k] = ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		w.order[t], w.position[j] = j, t
		for i := range w.children[j].Nodes() {
			if w.waiting[i]--; w.waiting[i] == 0 {
				ready = append(ready, i)
				w.readyFrom[i] = t + 1
				w.counts[t+1]++
			}
		}
	}
	return logProbability - math.Log(product)
}

// logSort returns log u(≺ | A) of the present order and graph, see sort. It reads counts: after a
// change of the order or the graph, resort comes first.
func (w *orderedGraph) logSort() (logProbability float64) {
	ready, product := 0, 1.0
	for t := range w.parents {
		ready += w.counts[t]
		product *= float64(ready - t)
		if product > 1e250 {
			logProbability -= math.Log(product)
			product = 1
		}
	}
	return logProbability - math.Log(product)
}

// resort updates readyFrom and counts after a change of the order, or of the parents of nodes,
// between two places of the order.
func (w *orderedGraph) resort(first, last int) {
	for _, j := range w.order[first : last+1] {
		w.findReady(j)
		for i := range w.children[j].Nodes() {
			w.findReady(i)
		}
	}
}

// findReady updates readyFrom of node j, and counts.
func (w *orderedGraph) findReady(j int) {
	from := 0
	for i := range w.parents[j].Nodes() {
		from = max(from, w.position[i]+1)
	}
	w.counts[w.readyFrom[j]]--
	w.readyFrom[j] = from
	w.counts[from]++
}

func (w *orderedGraph) setParents(j int, parents dgraph.Set) {
	w.edges += parents.Len() - w.parents[j].Len()
	for i := range w.parents[j].Minus(parents).Nodes() {
		w.children[i] = w.children[i].Without(j)
	}
	for i := range parents.Minus(w.parents[j]).Nodes() {
		w.children[i] = w.children[i].With(j)
	}
	w.parents[j] = parents
	w.mostParents = max(w.mostParents, parents.Len())
}

// shift moves the node at one place of the order to another place.
func (w *orderedGraph) shift(from, to int) {
	j := w.order[from]
	if from < to {
		copy(w.order[from:to], w.order[from+1:to+1])
	} else {
		copy(w.order[to+1:from+1], w.order[to:from])
	}
	w.order[to] = j
	for t := min(from, to); t <= max(from, to); t++ {
		w.position[w.order[t]] = t
	}
}

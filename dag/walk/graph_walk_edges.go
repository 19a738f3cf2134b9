package walk

import (
	"math"

	dgraph "github.com/transdim/vti/dag/graph"
)

// edge picks one of the edges of the graph with equal probabilities. The graph must have an edge.
func (w *walk) edge() dgraph.Edge {
	if len(w.parents) > dgraph.ManyNodes {
		return w.sparseEdge()
	}
	k := w.random.IntN(w.edges)
	for to, set := range w.parents {
		if count := set.Len(); k >= count {
			k -= count
			continue
		}
		return dgraph.Edge{From: set.At(k), To: to}
	}
	panic("dag.walk.edge: the number of edges is wrong")
}

// sparseEdge is the method edge for many nodes. It draws a node and an index among parents, again
// and again until the node has a parent with this index.
func (w *walk) sparseEdge() dgraph.Edge {
	for {
		to, k := w.random.IntN(len(w.parents)), w.random.IntN(w.mostParents)
		if k < w.parents[to].Len() {
			return dgraph.Edge{From: w.parents[to].At(k), To: to}
		}
	}
}

// turn is a small step that turns an edge picked at random. The number of edges does not change, so
// that the reverse step is proposed with the same probability. Between graphs of an equivalence
// class with equal weights every turn is accepted. The tables must have β = 1.
func (w *walk) turn() {
	s := w.tables.problem.Structure
	if s.Orders || w.edges == 0 { // along a fixed order no edge can turn
		return
	}
	e := w.edge()
	without, turned := w.parents[e.To].Without(e.From), w.parents[e.From].With(e.To)
	if !s.Allows(e.To, without) || !s.Allows(e.From, turned) {
		return
	}
	difference := w.scoreOf(e.To, without) - w.present(e.To) + w.scoreOf(e.From, turned) - w.present(e.From)
	if difference < math.Log(w.random.Float64()) || w.reaches(e.From, e.To, true) {
		return
	}
	w.setFamily(e.To, without)
	w.setFamily(e.From, turned)
	w.score += difference
}

// reverse turns an edge i → j and draws the other parents of i and j (Grzegorczyk and Husmeier
// 2008). Let G0 be the graph in which i and j have no parents. First the parents of i are drawn
// from the sets that contain j and close no cycle in G0; Z*_i is the sum of the weights of these
// sets. Then the parents of j are drawn from all sets that close no cycle in G0 with the new
// parents of i; Z_j is the sum of the weights of these sets. With E edges before and E′ edges after
// the step, the step is accepted with probability E Z*_i Z_j / (E′ Z*_j Z_i), where Z*_j and Z_i
// are the sums of the reverse step.
func (w *walk) reverse() {
	if w.tables.problem.Structure.Orders || w.edges == 0 {
		return
	}
	e, edges := w.edge(), w.edges
	i, j := e.From, e.To
	toI, toJ := int(w.tables.bits[i][j]), int(w.tables.bits[j][i])
	if toI == 0 || toJ == 0 || w.local[i] == outside || w.local[j] == outside {
		return
	}
	w.old = append(w.old[:0], change{node: i, parents: w.parents[i], local: w.local[i]}, change{node: j, parents: w.parents[j], local: w.local[j]})
	before := w.listed(i) + w.listed(j)
	w.setParents(i, dgraph.Set{})
	mask, _ := w.acyclicMask(i)
	back := w.tables.within[i][mask]
	w.setParents(j, dgraph.Set{})
	mask, _ = w.acyclicMask(j)
	back += w.tables.containing(j, mask, toJ)
	if mask, possible := w.acyclicMask(i); possible && mask&toI != 0 {
		if forth := w.tables.containing(i, mask, toI); !math.IsInf(forth, -1) && !math.IsInf(back, -1) {
			w.setLocal(i, w.tables.pick(i, mask, toI, forth, w.random.Float64()))
			if mask, possible = w.acyclicMask(j); possible {
				forth += w.tables.within[j][mask]
				w.draw(j, mask)
				if math.Log(w.random.Float64()) < forth-back+math.Log(float64(edges)/float64(w.edges)) {
					w.score += w.listed(i) + w.listed(j) - before
					return
				}
			}
		}
	}
	w.undo(w.old)
}

// acyclicMask returns the candidates of node j, which must have no parents, that are not its
// descendants. possible is false if a descendant is a required parent.
func (w *walk) acyclicMask(j int) (mask int, possible bool) {
	w.reached.Reach(dgraph.SetOf(j), w.children)
	for k, i := range w.tables.parents[j] {
		if !w.reached.Has(i) {
			mask |= 1 << k
		}
	}
	return mask, !w.reached.HasAny(w.tables.problem.Structure.Required[j])
}

// addOrRemove is a small step that adds or removes an edge, each with probability ½. An edge that
// is added is picked among all N(N−1) ordered pairs of nodes with equal probabilities, an edge that
// is removed among the E edges of the graph. The acceptance ratio of an addition therefore has the
// factor N(N−1)/(E+1), and of a removal the factor E/(N(N−1)). Of the many improbable edges of a
// large graph some are always present. This step removes each of them within a few sweeps. The
// tables must have the inverse temperature β = 1.
func (w *walk) addOrRemove() {
	nodes := len(w.parents)
	pairs := float64(nodes * (nodes - 1))
	if w.random.IntN(2) == 0 {
		from, to := w.random.IntN(nodes), w.random.IntN(nodes-1)
		if to >= from {
			to++
		}
		if !w.parents[to].Has(from) && !w.parents[from].Has(to) {
			w.togglePair(from, to, math.Log(pairs/float64(w.edges+1)))
		}
	} else if w.edges > 0 {
		e := w.edge()
		w.togglePair(e.From, e.To, math.Log(float64(w.edges)/pairs))
	}
}

// toggleDoubtful is a small step that changes the edge between two nodes (togglePair), a pair that
// is picked in proportion to its doubt (doubtfulPairs). The tables must have β = 1.
func (w *walk) toggleDoubtful() {
	if w.pairs != nil {
		pair, turn := w.pairs.pairs[w.pairs.table.Index(w.random.Float64())], w.random.IntN(2)
		w.togglePair(pair[1-turn], pair[turn], 0)
	}
}

// togglePair proposes to change the edge between two nodes. An edge in the given direction is
// removed, and an edge in the other direction is turned. If there is no edge, one is added in the
// given direction. logRatio is the logarithm of the probability that the reverse step is proposed,
// divided by the probability of this step.
func (w *walk) togglePair(from, to int, logRatio float64) {
	s := w.tables.problem.Structure
	changed := w.parents[to].Toggle(from)
	if !s.Allowed[to].Has(from) || s.Required[to].Has(from) || s.MaxParents >= 0 && changed.Len() > s.MaxParents {
		return
	}
	turn := w.parents[from].Has(to)
	var turned dgraph.Set
	difference := w.scoreOf(to, changed) - w.present(to)
	if turn {
		turned = w.parents[from].Without(to)
		if s.Orders || !s.Allows(from, turned) { // along a fixed order no edge can turn
			return
		}
		difference += w.scoreOf(from, turned) - w.present(from)
	}
	if difference+logRatio < math.Log(w.random.Float64()) {
		return
	}
	if changed.Has(from) {
		switch {
		case s.Orders:
			if w.position[from] > w.position[to] {
				return
			}
		case w.reaches(to, from, turn):
			return
		}
	}
	w.setFamily(to, changed)
	if turn {
		w.setFamily(from, turned)
	}
	w.score += difference
}

func (w *walk) setFamily(j int, parents dgraph.Set) {
	w.setParents(j, parents)
	w.local[j] = w.tables.localMask(j, parents)
}

// reaches reports whether there is a path between two nodes in the given direction. If direct is
// set, the edge between the two nodes does not count as a path.
func (w *walk) reaches(from, to int, direct bool) bool {
	last := w.parents[to]
	if direct {
		last = last.Without(from)
	}
	w.reached.Reach(last, w.parents)
	return w.reached.Has(from)
}

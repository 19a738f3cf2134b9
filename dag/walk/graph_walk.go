package walk

import (
	"math"
	"math/rand/v2"

	dgraph "github.com/transdim/vti/dag/graph"
)

// outside, in place of a mask of candidates, marks a node with parents that are neither among its
// candidates (its likely parents) nor required.
const outside = -1

// walk is a Markov chain over acyclic graphs A. Its distribution converges to π(A) ∝ Π_j p(pa_j)
// exp(β ℓ_j(pa_j)), or for the prior over orders to the corresponding distribution over pairs of an
// order and a graph along it.
//
// ℓ_j(pa_j) is the log evidence of node j with its parents pa_j (its family), p(pa_j) the prior
// weight, and β an inverse temperature. A large step moves a node in an order of the nodes, and
// draws anew the parents of all nodes between its old and its new position. Given an order ≺ the
// families are independent, p(A | ≺) = Π_j w(pa_j) / α_j(≺). Here w(pa_j) = p(pa_j) exp(β
// ℓ_j(pa_j)), and α_j(≺) is the sum of these weights over all sets of candidates, likely parents of
// j, that come before j. For the prior over orders, a new order ≺' is therefore accepted with
// probability Π_j α_j(≺') / α_j(≺). For the prior over graphs the order is drawn before large
// steps, by a random sort of A with a known probability u(≺ | A), so that the distribution of pairs
// is π(A) u(≺ | A). The acceptance probability of a step is then Π_j α_j(≺') u(≺' | A') / Π_j
// α_j(≺) u(≺ | A). A node with parents outside the candidates keeps its parents in a large step. A
// wide walk also draws the order of several neighbours in the order at once, see orderWindow.
//
// Steps that change single edges are in graph_walk_edges.go.
type walk struct {
	orderedGraph
	tables *orderTables
	local  []int   // parents of each node as a mask of candidates, or outside
	score  float64 // Σ_j log p(pa_j) + ℓ_j(pa_j)
	// log u(≺ | A) of the present order and graph; used and kept by large steps, for the prior over
	// graphs
	logOrder float64
	known    dgraph.Known[float64]
	changed  []change // scratch memory of step
	old      []change // scratch memory of reverse
	wide     bool     // whether a sweep has additional steps of many nodes
	pairs    *doubtfulPairs
	blocks   *doubtfulBlocks
	reached  *dgraph.Marks // scratch memory of searches for paths
	window   window
}

// change is the change of the parents of a node in a large step.
type change struct {
	node, mask int        // mask has a bit for each candidate before the node in the order
	parents    dgraph.Set // parents before the change
	local      int        // parents before the change, as a mask
}

// newWalk returns a walk with a random order that the required edges allow, and with parents of all
// nodes drawn given this order.
func newWalk(tables *orderTables, random *rand.Rand) *walk {
	nodes := len(tables.parents)
	w := &walk{orderedGraph: newOrderedGraph(tables.problem.Structure.Required, random), tables: tables, local: make([]int, nodes), known: dgraph.Known[float64]{}, reached: dgraph.NewMarks(nodes)}
	for j := range nodes {
		w.draw(j, w.maskBefore(j))
	}
	w.rescore()
	return w
}

// use replaces the tables. The new tables may have other candidates.
func (w *walk) use(tables *orderTables) {
	if w.tables.candidates != tables.candidates {
		for j, set := range w.parents {
			w.local[j] = tables.localMask(j, set)
		}
	}
	w.tables = tables
}

// rescore computes w.score anew. Steps update the score by differences, whose rounding errors add
// up.
func (w *walk) rescore() {
	w.score = 0
	for j := range w.parents {
		w.score += w.present(j)
	}
}

// rememberedScores is the largest number of scores that a walk keeps.
const rememberedScores = 1 << 17

func (w *walk) scoreOf(j int, parents dgraph.Set) float64 {
	if mask := w.tables.localMask(j, parents); mask != outside {
		return w.tables.scores[j][mask] + w.tables.priors[j][mask]
	}
	return w.known.Of(dgraph.Family{Node: j, Parents: parents}, rememberedScores, func(dgraph.Family) float64 {
		return w.tables.score(j, parents) + w.tables.problem.Structure.Prior.LogWeight(j, parents)
	})
}

// present returns log p(pa_j) + ℓ_j(pa_j) of the parents that node j has.
func (w *walk) present(j int) float64 {
	if w.local[j] == outside {
		return w.scoreOf(j, w.parents[j])
	}
	return w.listed(j)
}

func (w *walk) maskBefore(j int) (mask int) {
	place := w.position[j]
	for k, i := range w.tables.parents[j] {
		if w.position[i] < place {
			mask |= 1 << k
		}
	}
	return mask
}

// draw draws the parents of a node from the sets of candidates within a mask.
func (w *walk) draw(j, mask int) {
	w.setLocal(j, w.tables.pick(j, mask, 0, w.tables.within[j][mask], w.random.Float64()))
}

// setLocal makes the candidates in mask and the required parents the parents of a node.
func (w *walk) setLocal(j, mask int) {
	w.local[j] = mask
	w.setParents(j, w.tables.parentsOf(j, mask))
}

// step is a large step that moves a node by up to reach positions in the order.
func (w *walk) step(reach int) {
	orders := w.tables.problem.Structure.Orders
	logRatio := 0.0
	if !orders {
		logRatio -= w.logOrder
	}
	from, to, inside := w.move(reach)
	if !inside {
		return
	}
	first, last := min(from, to), max(from, to)
	w.changed = w.changed[:0]
	for t := first; t <= last; t++ {
		j := w.order[t]
		w.changed = append(w.changed, change{node: j, mask: w.maskBefore(j)})
	}
	w.shift(from, to)
	kept := 0
	valid := true
	for _, c := range w.changed {
		j := c.node
		for i := range w.fixed(j).Nodes() {
			valid = valid && w.position[i] < w.position[j]
		}
		if w.local[j] == outside {
			continue
		}
		if mask := w.maskBefore(j); mask != c.mask {
			logRatio += w.tables.within[j][mask] - w.tables.within[j][c.mask]
			w.changed[kept] = change{j, mask, w.parents[j], w.local[j]}
			kept++
		}
	}
	w.changed = w.changed[:kept]
	limit := math.Log(w.random.Float64())
	if !valid || orders && logRatio < limit {
		w.shift(to, from)
		return
	}
	difference := 0.0
	for _, c := range w.changed {
		j := c.node
		difference -= w.listed(j)
		w.draw(j, c.mask)
		difference += w.listed(j)
	}
	if !orders {
		w.resort(first, last)
		logOrder := w.logSort()
		if logRatio+logOrder < limit {
			w.undo(w.changed)
			w.shift(to, from)
			w.resort(first, last)
			return
		}
		w.logOrder = logOrder
	}
	w.score += difference
}

func (w *walk) undo(changes []change) {
	for _, c := range changes {
		w.setParents(c.node, c.parents)
		w.local[c.node] = c.local
	}
}

// fixed returns the parents of a node that a large step does not draw: the required parents, or all
// parents if some are outside the candidates.
func (w *walk) fixed(j int) dgraph.Set {
	if w.local[j] == outside {
		return w.parents[j]
	}
	return w.tables.problem.Structure.Required[j]
}

// listed returns log p(pa_j) + ℓ_j(pa_j) of a node whose parents are all candidates or required.
func (w *walk) listed(j int) float64 {
	return w.tables.scores[j][w.local[j]] + w.tables.priors[j][w.local[j]]
}

package walk

import (
	"math"

	dgraph "github.com/transdim/vti/dag/graph"
)

// blockWidth is the largest number of nodes in a block of a walk that is not wide. A block of this
// size takes twice the time of a step of a single node.
const blockWidth = 6

// block is a large step that draws the parents (the families) and the order of some nodes, wherever
// they are in the graph A. The set B of these nodes is drawn independently of the graph
// (blockNodes). Let P be the nodes outside B that have no ancestors in B, and W the nodes of B
// whose ancestors are all in P and W. An order that puts P first, then W, and then the rest can be
// an order of A, and also of every graph that differs from A only in families of W within P and W.
// P and W are the same for these graphs. The order of W is therefore drawn like the order of a
// window (orderWindow). The acceptance ratio is u(≺′ | A′) / u(≺ | A), where u is the probability
// of the order ≺ within W in a random sort, and primes mark the state after the step.
func (w *walk) block(width int) {
	if w.tables.problem.Structure.Orders { // the order is part of the state
		return
	}
	w.drawBlock(width)
	if len(w.window.nodes) < 2 {
		return
	}
	logRatio := -w.sortBlock(func(ready []int, _ int) int { return ready[w.random.IntN(len(ready))] })
	w.drawWindow(func(i int) bool { return !w.reached.Has(i) })
	difference := w.drawFamilies()
	old := w.window.old
	logRatio += w.sortBlock(func(_ []int, place int) int { return old[len(old)-1-place].node })
	if logRatio < math.Log(w.random.Float64()) {
		w.undo(old)
		return
	}
	w.score += difference
}

// blockNodes draws the set B of a block: a node and some of its candidates. If doubtful edges are
// known, half of the blocks are nodes along such edges instead.
func (w *walk) blockNodes(width int) (block dgraph.Set) {
	if w.blocks != nil && w.random.IntN(2) == 0 {
		return w.blocks.draw(width, w.random)
	}
	seed := w.random.IntN(len(w.parents))
	block = dgraph.SetOf(seed)
	neighbours := append(w.window.picks[:0], w.tables.parents[seed]...)
	for k := range min(width-1, len(neighbours)) {
		other := k + w.random.IntN(len(neighbours)-k)
		neighbours[k], neighbours[other] = neighbours[other], neighbours[k]
		block = block.With(neighbours[k])
	}
	w.window.picks = neighbours
	return block
}

// drawBlock sets the window to W, drawn as in block from at most width nodes. It marks the nodes
// that are not in P, the set B with all descendants, in w.reached.
func (w *walk) drawBlock(width int) {
	block := w.blockNodes(width)
	w.reached.Reach(block, w.children)
	w.window.nodes = w.window.nodes[:0]
	for found := true; found; {
		found = false
		for j := range block.Nodes() {
			if w.isReady(j) {
				w.window.nodes, found = append(w.window.nodes, j), true
				w.reached.Remove(j)
			}
		}
	}
	w.markWindow()
}

// isReady reports whether a node is marked in w.reached and none of its parents is.
func (w *walk) isReady(j int) bool { return w.reached.Has(j) && !w.reached.HasAny(w.parents[j]) }

func (w *walk) markWindow() {
	for _, j := range w.window.nodes {
		w.reached.Add(j)
	}
}

// sortBlock builds an order of the nodes of the window, one by one. next picks the node for each
// position among the nodes that are ready: the nodes whose parents all come before. sortBlock
// returns the log probability of this order in a random sort, which picks with equal probabilities.
// w.reached marks the nodes that are not before the window.
func (w *walk) sortBlock(next func(ready []int, place int) int) float64 {
	product := 1.0
	for place := range w.window.nodes {
		ready := w.ready[:0]
		for _, j := range w.window.nodes {
			if w.isReady(j) {
				ready = append(ready, j)
			}
		}
		product *= float64(len(ready))
		w.reached.Remove(next(ready, place))
	}
	w.markWindow()
	return -math.Log(product)
}

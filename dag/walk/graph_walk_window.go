package walk

import (
	"math"
	"math/bits"
	"slices"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/internal/logsum"
)

// windowWidth is the largest number of neighbours in an order that are reordered at once.
const windowWidth = 10

// window is the scratch memory of a step that draws the order of several nodes, the window. Arrays
// with rows of length 2^width hold values of each node by the subset of the window that comes
// before the node.
type window struct {
	nodes []int
	masks []int // candidates that come before the node [width][2^width]
	// sums holds the sum of weights over the possible sets of parents of a node (its families),
	// divided by this sum with the whole window before the node [width][2^width]. It is 0 if a
	// required parent does not come before the node. logs holds the logarithms, for very small
	// sums.
	sums, logs []float64
	total      []float64 // sum over the orders of each subset of the window [2^width], or its logarithm
	old        []change  // families before the step, in the order drawn, from the last place to the first
	picks      []int     // scratch memory of block
}

// orderWindow is a large step for the prior over orders, where the order is part of the state. It
// draws the order of several neighbours in the order from all their orders at once. Given an order,
// the parents of different nodes (their families) are independent. With the nodes before the window
// fixed, the sum of weights over all orders of a subset S of the window is therefore Z(S) = Σ_{j∈S}
// Z(S − j) α_j(S − j). Here α_j(S) is the sum of the weights w(pa_j) over the families of j with
// parents before the window or in S. An order is drawn backwards from these sums, and families are
// drawn along it. The result has the probability Π_j w(pa_j) / Z, with Z the sum for the whole
// window. The reverse step has the same Z, so that every step is accepted.
func (w *walk) orderWindow(width int) {
	start := w.random.IntN(len(w.parents) - width + 1)
	w.window.nodes = append(w.window.nodes[:0], w.order[start:start+width]...)
	w.drawWindow(func(i int) bool { return w.position[i] < start })
	for k, c := range w.window.old {
		at := start + width - 1 - k
		w.order[at], w.position[c.node] = c.node, at
	}
	w.score += w.drawFamilies()
}

// drawFamilies draws the families of the nodes of the window along the window's order, and returns
// the change of the score.
func (w *walk) drawFamilies() (difference float64) {
	for _, c := range w.window.old {
		if c.local != outside {
			difference -= w.listed(c.node)
			w.draw(c.node, c.mask)
			difference += w.listed(c.node)
		}
	}
	return difference
}

// drawWindow draws the order of the nodes of the window, from the last place to the first, given
// whether a node is before the window. It stores the families before the step.
func (w *walk) drawWindow(before func(i int) bool) {
	win := &w.window
	size := 1 << len(win.nodes)
	w.sumFamilies(before)
	logs := !win.addOrders()
	if logs {
		win.addLogs()
	}
	win.old = win.old[:0]
	for set := size - 1; set != 0; {
		u, chosen := w.random.Float64(), -1
		for k := range dgraph.Members(uint64(set)) {
			rest := set &^ (1 << k)
			p := win.total[rest] * win.sums[k*size+rest] / win.total[set]
			if logs {
				p = math.Exp(win.total[rest] + win.logs[k*size+rest] - win.total[set])
			}
			if p > 0 {
				chosen = k
				if u -= p; u <= 0 {
					break
				}
			}
		}
		set &^= 1 << chosen
		j := win.nodes[chosen]
		win.old = append(win.old, change{j, win.masks[chosen*size+set], w.parents[j], w.local[j]})
	}
}

// sumFamilies fills masks, sums and logs of the window, given whether a node is before the window.
func (w *walk) sumFamilies(before func(i int) bool) {
	win := &w.window
	width := len(win.nodes)
	size := 1 << width
	if len(win.total) < size {
		win.masks, win.total = make([]int, width*size), make([]float64, size)
		win.sums, win.logs = make([]float64, width*size), make([]float64, width*size)
	}
	for k, j := range win.nodes {
		masks, sums, logs := win.masks[k*size:(k+1)*size], win.sums[k*size:(k+1)*size], win.logs[k*size:(k+1)*size]
		var candidates [windowWidth]int // bit of each node of the window in a mask of candidates
		masks[0] = 0
		matters, needed := 0, 0 // nodes of the window, as bits
		for c, i := range w.tables.parents[j] {
			if before(i) {
				masks[0] |= 1 << c
			} else if at := slices.Index(win.nodes, i); at >= 0 {
				candidates[at] = 1 << c
				matters |= 1 << at
			}
		}
		for at, i := range win.nodes {
			if w.fixed(j).Has(i) {
				needed |= 1 << at
			}
		}
		matters |= needed
		all := masks[0]
		for _, bit := range candidates[:width] {
			all |= bit
		}
		for set := range sums {
			if set > 0 {
				masks[set] = masks[set&(set-1)] | candidates[bits.TrailingZeros64(uint64(set))]
			}
			switch {
			case set&matters != set:
				sums[set], logs[set] = sums[set&matters], logs[set&matters]
			case needed&^set != 0:
				sums[set], logs[set] = 0, math.Inf(-1)
			case w.local[j] == outside: // the node keeps its family
				sums[set], logs[set] = 1, 0
			default:
				within := w.tables.within[j]
				logs[set] = within[masks[set]] - within[all]
				sums[set] = math.Exp(logs[set])
			}
		}
	}
}

// leastTotal is the smallest sum over orders that has full precision. In a sum of at least this
// size, terms that underflow to 0 are negligible.
const leastTotal = 1e-200

// addOrders fills total with sums over orders, and reports whether these have full precision.
func (win *window) addOrders() bool {
	size := 1 << len(win.nodes)
	win.total[0] = 1
	for set := 1; set < size; set++ {
		sum := 0.0
		for k := range win.nodes {
			if rest := set &^ (1 << k); rest != set {
				sum += win.total[rest] * win.sums[k*size+rest]
			}
		}
		win.total[set] = sum
	}
	return win.total[size-1] > leastTotal
}

// addLogs fills total with the logarithms of the sums over orders. Most terms of these sums are
// negligible.
func (win *window) addLogs() {
	size := 1 << len(win.nodes)
	win.total[0] = 0
	var terms [windowWidth]float64
	for set := 1; set < size; set++ {
		largest, at := math.Inf(-1), 0
		for k := range win.nodes {
			terms[k] = math.Inf(-1)
			if rest := set &^ (1 << k); rest != set {
				terms[k] = win.total[rest] + win.logs[k*size+rest]
			}
			if terms[k] > largest {
				largest, at = terms[k], k
			}
		}
		others := 0.0
		for k, term := range terms[:len(win.nodes)] {
			if k != at && term > largest-logsum.Negligible {
				others += math.Exp(term - largest)
			}
		}
		win.total[set] = largest
		if others > 0 {
			win.total[set] += math.Log1p(others)
		}
	}
}

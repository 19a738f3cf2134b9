package graph

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/transdim/vti/internal/logsum"
)

// Sum is a sum over graphs. The weight of a graph is the product of the weights of its families,
// that is, of its nodes with their sets of parents.
type Sum interface {
	// LogTotal returns the logarithm of the sum.
	LogTotal() float64
	// Draw draws a graph in proportion to its weight. It sets families[j] to the index of node j
	// with its parents in the list of families.
	Draw(random *rand.Rand, families []int)
	// Marginals returns, for each family (a node with a set of parents), the share of the sum in
	// graphs that have it. The argument families is the number of families. The function on is
	// called with the progress, and returns whether to continue.
	Marginals(families int, on func(done, total int) bool) []float64
}

// orderSum is the sum over pairs of an order and a graph along it, in which a graph counts once for
// each topological order. It is computed from sums over sets of nodes that come first in an order
// (Koivisto and Sood 2004).
type orderSum struct {
	nodes  int
	sets   [][]weightedSet
	within [][]float64 // log of the total weight of the sets of parents of node j in the set S [N][2^N]
	first  []float64   // log of the sum over orders and parents of the nodes of a set that comes first [2^N]
}

func newOrderSum(sets [][]weightedSet, on func(done, total int) bool) *orderSum {
	o := &orderSum{nodes: len(sets), sets: sets, first: make([]float64, 1<<len(sets))}
	for j, nodeSets := range sets {
		if !on(j, len(sets)) { // the rest of this loop is most of the work
			return o
		}
		o.within = append(o.within, sumWithin(nodeSets, o.nodes, 0))
	}
	for set := 1; set < len(o.first); set++ {
		o.first[set] = math.Inf(-1)
		for j := range Members(uint64(set)) {
			before := set &^ (1 << j)
			o.first[set] = logsum.Add(o.first[set], o.first[before]+o.within[j][before])
		}
	}
	return o
}

// sumWithin returns, for every set S of nodes, the log of the total weight of the sets of parents
// that are subsets of S and contain all nodes of the argument must.
func sumWithin(sets []weightedSet, nodes int, must uint64) []float64 {
	sums := slices.Repeat([]float64{math.Inf(-1)}, 1<<nodes)
	for _, s := range sets {
		if s.parents&must == must {
			sums[s.parents] = logsum.Add(sums[s.parents], s.logWeight)
		}
	}
	for i := range nodes {
		for set := range sums {
			if set>>i&1 != 0 {
				sums[set] = logsum.Add(sums[set], sums[set&^(1<<i)])
			}
		}
	}
	return sums
}

func (o *orderSum) LogTotal() float64 { return o.first[len(o.first)-1] }

func (o *orderSum) Draw(random *rand.Rand, families []int) {
	for set := len(o.first) - 1; set != 0; {
		u := math.Log(random.Float64()) + o.first[set]
		last, total := -1, math.Inf(-1)
		for j := range Members(uint64(set)) {
			before := set &^ (1 << j)
			if term := o.first[before] + o.within[j][before]; !math.IsInf(term, -1) {
				last = j
				if total = logsum.Add(total, term); total >= u {
					break
				}
			}
		}
		set &^= 1 << last
		families[last] = drawSet(random, o.sets[last], uint64(set), 0, o.within[last][set])
	}
}

// drawSet draws a set of parents in proportion to its weight, among the subsets of the argument
// named within. Unless the argument touch is empty, the drawn set must have a node in touch.
// logTotal is the log of the total weight of these sets.
func drawSet(random *rand.Rand, sets []weightedSet, within, touch uint64, logTotal float64) (family int) {
	u := random.Float64()
	family = -1
	for _, s := range sets {
		if s.parents&^within != 0 || touch != 0 && s.parents&touch == 0 || math.IsInf(s.logWeight, -1) {
			continue
		}
		family = s.family
		if u -= math.Exp(s.logWeight - logTotal); u <= 0 {
			break
		}
	}
	return family
}

func (o *orderSum) Marginals(families int, on func(done, total int) bool) []float64 {
	shares := make([]float64, families)
	if !on(0, o.nodes) {
		return shares
	}
	all := len(o.first) - 1
	rest := make([]float64, len(o.first)) // log of the sum over orders and parents of the nodes after a set that comes first
	for set := all - 1; set >= 0; set-- {
		rest[set] = math.Inf(-1)
		for j := range Members(uint64(all &^ set)) {
			rest[set] = logsum.Add(rest[set], o.within[j][set]+rest[set|1<<j])
		}
	}
	around := make([]float64, len(o.first))
	for j, sets := range o.sets {
		if !on(j, o.nodes) {
			return shares
		}
		// around[S] is the log of the sum over orders and over the parents of all nodes but j,
		// divided by the total, when node j comes right after a set of nodes that contains S.
		for set := range around {
			around[set] = math.Inf(-1)
			if set>>j&1 == 0 {
				around[set] = o.first[set] + rest[set|1<<j] - o.LogTotal()
			}
		}
		sumOverSupersets(around, o.nodes)
		for _, s := range sets {
			shares[s.family] = math.Exp(s.logWeight + around[s.parents])
		}
	}
	return shares
}

// sumOverSupersets replaces each set's log value by the log of the sum over all sets that contain
// it.
func sumOverSupersets(values []float64, nodes int) {
	for i := range nodes {
		for set := range values {
			if set>>i&1 == 0 {
				values[set] = logsum.Add(values[set], values[set|1<<i])
			}
		}
	}
}

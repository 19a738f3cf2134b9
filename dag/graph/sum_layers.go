package graph

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/logsum"
)

// maxLayerNodes is the largest number of nodes for layerSum, whose time grows as 4^N and whose
// memory grows as 3^N.
const maxLayerNodes = 14

// layerSum is the sum of the weights of all acyclic graphs. A graph has exactly one division into
// layers: the first layer has the nodes without parents, and every other node is in the layer after
// the last layer with one of its parents (Kuipers and Moffa 2017). So a node has all its parents in
// earlier layers, and at least one parent in the layer just before its own. All terms are positive,
// so that nothing cancels, unlike in sums by inclusion and exclusion.
type layerSum struct {
	nodes int
	sets  [][]weightedSet
	// touching[j][t][S] is the log of the sum of the weights of the sets of parents of node j that
	// are subsets of S and include node t [N][N][2^N].
	touching [][][]float64
	// place[S] is Σ 3^i over the members i of S [2^N]. A pair of sets S ⊆ U has the index place[U]
	// + place[S], whose ternary digits are 0 outside U, 1 in U without S, and 2 in S.
	place []int
	upTo  []float64 // log of the sum over graphs on the nodes U with last layer S, by the index of the pair S ⊆ U [3^N]
}

func newLayerSum(sets [][]weightedSet, on func(done, total int) bool) *layerSum {
	l := &layerSum{nodes: len(sets), sets: sets, place: make([]int, 1<<len(sets))}
	power := 1
	for i := range l.nodes {
		for set := range 1 << i {
			l.place[set|1<<i] = l.place[set] + power
		}
		power *= 3
	}
	l.upTo = slices.Repeat([]float64{math.Inf(-1)}, power)
	for _, nodeSets := range sets {
		if !on(0, 1) {
			return l
		}
		l.touching = append(l.touching, apply.UpTo(l.nodes, func(t int) []float64 { return sumWithin(nodeSets, l.nodes, 1<<t) }))
	}
	below, sums := l.scratch()
	for set := range subsets(uint64(1)<<l.nodes - 1) {
		if set != 0 {
			l.upTo[l.indexOf(set, set)] = l.roots(set)
		}
	}
	all := uint64(1)<<l.nodes - 1
	// sets in numerical order, so that a set comes after its subsets
	for above := uint64(1); above < all && on(int(above), int(all)); above++ {
		for layer := range subsets(above) {
			so := l.upTo[l.indexOf(above, layer)]
			if layer == 0 || math.IsInf(so, -1) {
				continue
			}
			outside := l.nextLayer(above, layer, below)
			l.sumSubsets(outside, below, sums)
			for next := range subsets(outside) {
				if next != 0 {
					at := l.indexOf(above|next, next)
					l.upTo[at] = logsum.Add(l.upTo[at], so+sums[next])
				}
			}
		}
	}
	return l
}

func (l *layerSum) scratch() (below, sums []float64) {
	return make([]float64, l.nodes), make([]float64, 1<<l.nodes)
}

// indexOf returns the index of the sum over graphs on a set of nodes with a given last layer.
func (l *layerSum) indexOf(nodes, layer uint64) int { return l.place[nodes] + l.place[layer] }

// roots returns the log weight of the graph in which the nodes of set have no parents.
func (l *layerSum) roots(set uint64) (sum float64) {
	for j := range Members(set) {
		sum += l.rootWeight(j)
	}
	return sum
}

func (l *layerSum) rootWeight(j int) float64 {
	for _, s := range l.sets[j] {
		if s.parents == 0 {
			return s.logWeight
		}
	}
	return math.Inf(-1)
}

// nextLayer returns the set of nodes that are not in above, the set of nodes placed in layers so
// far. For each of these nodes it sets below to the log of the total weight of the sets of parents
// that put the node into the next layer. The argument layer is the last layer of above.
func (l *layerSum) nextLayer(above, layer uint64, below []float64) (outside uint64) {
	outside = (uint64(1)<<l.nodes - 1) &^ above
	for j := range Members(outside) {
		below[j] = l.below(j, above, layer)
	}
	return outside
}

// below returns the log of the total weight of the sets of parents that put a node into the next
// layer: they are subsets of above, the nodes placed so far, and have a member in its last layer.
func (l *layerSum) below(node int, above, layer uint64) float64 {
	sum, within := math.Inf(-1), above
	for t := range Members(layer) { // divide the sets of parents by their first member in layer
		sum = logsum.Add(sum, l.touching[node][t][within])
		within &^= 1 << t
	}
	return sum
}

// sumSubsets fills sums with Σ_{j in S} below[j] for every subset S of set.
func (l *layerSum) sumSubsets(set uint64, below, sums []float64) {
	sums[0] = 0
	// Each non-empty subset is an earlier subset together with its largest member.
	done := uint64(0)
	for j := range Members(set) {
		for sub := range subsets(done) {
			sums[sub|1<<j] = sums[sub] + below[j]
		}
		done |= 1 << j
	}
}

func (l *layerSum) LogTotal() float64 {
	all := uint64(1)<<l.nodes - 1
	total := math.Inf(-1)
	for last := range subsets(all) {
		if last != 0 {
			total = logsum.Add(total, l.upTo[l.indexOf(all, last)])
		}
	}
	return total
}

func (l *layerSum) Draw(random *rand.Rand, families []int) {
	all := uint64(1)<<l.nodes - 1
	layer := pick(random, l.LogTotal(), all, func(s uint64) float64 { return l.upTo[l.indexOf(all, s)] })
	for nodes := all; ; {
		above := nodes &^ layer
		if above == 0 {
			for j := range Members(layer) {
				families[j] = drawSet(random, l.sets[j], 0, 0, l.rootWeight(j))
			}
			return
		}
		upper := pick(random, l.upTo[l.indexOf(nodes, layer)], above, func(s uint64) float64 {
			term := l.upTo[l.indexOf(above, s)]
			for j := range Members(layer) {
				if math.IsInf(term, -1) {
					break
				}
				term += l.below(j, above, s)
			}
			return term
		})
		for j := range Members(layer) {
			families[j] = drawSet(random, l.sets[j], above, upper, l.below(j, above, upper))
		}
		nodes, layer = above, upper
	}
}

// pick draws a non-empty subset of set with a probability proportional to exp(term(subset)). The
// argument logTotal is the log of the sum of these exponentials.
func pick(random *rand.Rand, logTotal float64, set uint64, term func(uint64) float64) (chosen uint64) {
	u := random.Float64()
	for sub := range subsets(set) {
		if sub == 0 {
			break
		}
		value := term(sub)
		if math.IsInf(value, -1) {
			continue
		}
		chosen = sub
		if u -= math.Exp(value - logTotal); u <= 0 {
			break
		}
	}
	return chosen
}

func (l *layerSum) Marginals(families int, on func(done, total int) bool) []float64 {
	shares := make([]float64, families)
	if on(0, 1) {
		if after, around, finished := l.surroundings(on); finished {
			l.shares(after, around, shares)
		}
	}
	return shares
}

// surroundings sums over the parts of graphs other than the parents of one node. after[indexOf(U,
// S)] is the log of the sum over all ways to place the remaining nodes after the nodes U with last
// layer S. around[j][t][W] is the log of the sum over the parents of all nodes but j, divided by
// the total, if node j comes after the nodes in W and t is its first parent in the layer just
// before. The result finished is false if the function on ended the sum.
func (l *layerSum) surroundings(on func(done, total int) bool) (after []float64, around [][][]float64, finished bool) {
	total, all := l.LogTotal(), uint64(1)<<l.nodes-1
	after = make([]float64, len(l.upTo))
	around = apply.UpTo(l.nodes, func(int) [][]float64 {
		return apply.UpTo(l.nodes, func(int) []float64 { return slices.Repeat([]float64{math.Inf(-1)}, 1<<l.nodes) })
	})
	below, sums := l.scratch()
	continuations := make([]float64, l.nodes)
	for above := all - 1; above >= 1; above-- {
		if !on(int(all-above), int(all)) {
			return nil, nil, false
		}
		for layer := range subsets(above) {
			at := l.indexOf(above, layer)
			if layer == 0 || math.IsInf(l.upTo[at], -1) {
				continue
			}
			outside := l.nextLayer(above, layer, below)
			l.sumSubsets(outside, below, sums)
			after[at] = math.Inf(-1)
			for j := range Members(outside) {
				continuations[j] = math.Inf(-1)
			}
			for next := range subsets(outside) {
				if next == 0 {
					break
				}
				term := sums[next] + after[l.indexOf(above|next, next)]
				after[at] = logsum.Add(after[at], term)
				if term+l.upTo[at]-total < -2*logsum.Negligible {
					continue
				}
				for j := range Members(next) {
					continuations[j] = logsum.Add(continuations[j], term)
				}
			}
			for j := range Members(outside) {
				if math.IsInf(continuations[j], -1) {
					continue
				}
				share, within := continuations[j]+l.upTo[at]-below[j]-total, above
				for t := range Members(layer) {
					around[j][t][within] = logsum.Add(around[j][t][within], share)
					within &^= 1 << t
				}
			}
		}
	}
	return after, around, true
}

// shares sets the argument shares to the probabilities of the families (nodes with sets of
// parents), given the output of surroundings. It overwrites around.
func (l *layerSum) shares(after []float64, around [][][]float64, shares []float64) {
	total, all := l.LogTotal(), uint64(1)<<l.nodes-1
	for j, sets := range l.sets {
		for t := range l.nodes {
			sumOverSupersets(around[j][t], l.nodes)
		}
		root := math.Inf(-1)
		for layer := range subsets(all) {
			if layer>>j&1 != 0 {
				at := l.indexOf(layer, layer)
				root = logsum.Add(root, l.roots(layer)+after[at]-total)
			}
		}
		for _, s := range sets {
			if s.parents == 0 {
				shares[s.family] = math.Exp(root)
				continue
			}
			sum := math.Inf(-1)
			for t := range Members(s.parents) {
				sum = logsum.Add(sum, around[j][t][s.parents])
			}
			shares[s.family] = math.Exp(s.logWeight + sum)
		}
	}
}

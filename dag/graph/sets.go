package graph

import (
	"iter"
	"math/bits"
)

// MaxNodes is the largest number of nodes that a [Set] holds.
const MaxNodes = 128

// Set is a set of nodes 0 … 127. The zero value is empty, and sets can be compared with ==.
type Set [2]uint64

// SetOf returns the set of the given nodes. It panics on a node outside 0 … 127.
func SetOf(nodes ...int) (s Set) {
	for _, i := range nodes {
		s = s.With(i)
	}
	return s
}

// Below returns the set of nodes 0 … n−1. It panics above 128.
func Below(n int) (s Set) {
	for i := range n {
		s = s.With(i)
	}
	return s
}

// lowSet returns the set of the nodes below 64 whose bits are set.
func lowSet(bits uint64) Set { return Set{bits, 0} }

// Has reports whether node i is in the set.
func (s Set) Has(i int) bool { return s[i>>6]>>(i&63)&1 != 0 }

// With returns the set with node i.
func (s Set) With(i int) Set {
	s[i>>6] |= 1 << (i & 63)
	return s
}

// Without returns the set without node i.
func (s Set) Without(i int) Set {
	s[i>>6] &^= 1 << (i & 63)
	return s
}

// Toggle returns the set with node i if s lacks it, and without node i if s has it.
func (s Set) Toggle(i int) Set {
	s[i>>6] ^= 1 << (i & 63)
	return s
}

// Minus returns the nodes of s that are not in t.
func (s Set) Minus(t Set) Set { return Set{s[0] &^ t[0], s[1] &^ t[1]} }

// Or returns the nodes that are in s or in t.
func (s Set) Or(t Set) Set { return Set{s[0] | t[0], s[1] | t[1]} }

// And returns the nodes that are in s and in t.
func (s Set) And(t Set) Set { return Set{s[0] & t[0], s[1] & t[1]} }

// Within reports whether all nodes of s are in t.
func (s Set) Within(t Set) bool { return s.Minus(t).Empty() }

// Empty reports whether the set has no nodes.
func (s Set) Empty() bool { return s == Set{} }

// Len returns the number of nodes.
func (s Set) Len() int { return bits.OnesCount64(s[0]) + bits.OnesCount64(s[1]) }

// Nodes yields the nodes, ascending.
func (s Set) Nodes() iter.Seq[int] {
	return func(yield func(int) bool) {
		for word, set := range s {
			for ; set != 0; set &= set - 1 {
				if !yield(word<<6 + bits.TrailingZeros64(set)) {
					return
				}
			}
		}
	}
}

// List returns the nodes, ascending.
func (s Set) List() (list []int) {
	for i := range s.Nodes() {
		list = append(list, i)
	}
	return list
}

// Reach returns the nodes at the ends of paths that start at one of the nodes from, which are
// included. links holds the next nodes of each node: with the children of each node Reach returns
// descendants, and with the parents of each node ancestors.
func Reach(from Set, links []Set) Set {
	for waiting := from; !waiting.Empty(); {
		next := Set{}
		for i := range waiting.Nodes() {
			next = next.Or(links[i])
		}
		waiting = next.Minus(from)
		from = from.Or(next)
	}
	return from
}

// Compare compares sets by size, and sets of equal size as numbers. It returns a negative number if
// s comes first.
func (s Set) Compare(t Set) int {
	switch d := s.Len() - t.Len(); {
	case d != 0:
		return d
	case s == t:
		return 0
	case s[1] < t[1] || s[1] == t[1] && s[0] < t[0]:
		return -1
	}
	return 1
}

// EdgeTable returns a table [N,N] of edges by cause and effect. sets holds the causes of each node.
func EdgeTable(sets []Set) [][]bool {
	table := make([][]bool, len(sets))
	for i := range table {
		table[i] = make([]bool, len(sets))
		for j := range table[i] {
			table[i][j] = sets[j].Has(i)
		}
	}
	return table
}

// Graphs over which sums are possible have few nodes, so that a set of nodes is the bits of one
// word in these functions.

// Members yields the elements of a bit set, ascending.
func Members(set uint64) iter.Seq[int] {
	return func(yield func(int) bool) {
		for ; set != 0; set &= set - 1 {
			if !yield(bits.TrailingZeros64(set)) {
				return
			}
		}
	}
}

// subsets yields the subsets of a bit set, itself first and the empty one last.
func subsets(set uint64) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for sub := set; ; sub = (sub - 1) & set {
			if !yield(sub) || sub == 0 {
				return
			}
		}
	}
}

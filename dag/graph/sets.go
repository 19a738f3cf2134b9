package graph

import (
	"encoding/binary"
	"errors"
	"iter"
	"math/bits"
	"slices"

	"github.com/transdim/vti/internal/apply"
)

// MaxNodes is the largest number of nodes of a graph. Tables with an entry for each pair of nodes
// then take 128 MiB each.
const MaxNodes = 4096

// ManyNodes is the number of nodes above which methods and answers leave out work and entries for
// all pairs of nodes.
const ManyNodes = 128

// bitNodes is the number of nodes, from node 0 on, that a [Set] holds as bits.
const bitNodes = 128

// Set is a set of nodes 0 … [MaxNodes] − 1. The zero value is empty, and sets can be compared with
// ==. Nodes below 128 are bits. Each further node takes two bytes, so that the memory of a small
// set does not depend on the number of nodes of the graph.
type Set struct {
	low  [2]uint64
	high string // the nodes from 128 on, ascending, in two bytes each with the higher byte first
}

// highBytes is the number of bytes of a node in Set.high.
const highBytes = 2

// SetOf returns the set of the given nodes. It panics on a node outside 0 … MaxNodes − 1.
func SetOf(nodes ...int) (s Set) {
	for _, i := range nodes {
		s = s.With(i)
	}
	return s
}

// Below returns the set of nodes 0 … n−1. It panics if n is above MaxNodes.
func Below(n int) (s Set) {
	for word := range s.low {
		s.low[word] = uint64(1)<<max(0, min(n-64*word, 64)) - 1
	}
	var high []byte
	for i := bitNodes; i < n; i++ {
		high = appendNode(high, i)
	}
	s.high = string(high)
	return s
}

// lowSet returns the set of the nodes below 64 whose bits are set.
func lowSet(bits uint64) Set { return Set{low: [2]uint64{bits, 0}} }

func appendNode(high []byte, i int) []byte {
	if i >= MaxNodes {
		panic("graph.Set: node outside the largest set")
	}
	return binary.BigEndian.AppendUint16(high, uint16(i))
}

// highNode returns the node at an index of s.high.
func (s Set) highNode(at int) int { return int(s.high[at])<<8 | int(s.high[at+1]) }

// place returns the index in s.high of node i, or of the next higher node if the set lacks i. found
// reports whether the set has i.
func (s Set) place(i int) (at int, found bool) {
	if s.high == "" {
		return 0, false
	}
	// Nodes are different, so that at most i − 128 of them are below i, and at most last − i above.
	count, last := len(s.high)/highBytes, s.highNode(len(s.high)-highBytes)
	low, high := max(0, count-1-max(0, last-i)), min(count, i-bitNodes+1)
	for low < high {
		if middle := (low + high) / 2; s.highNode(middle*highBytes) < i {
			low = middle + 1
		} else {
			high = middle
		}
	}
	at = low * highBytes
	return at, at < len(s.high) && s.highNode(at) == i
}

// Has reports whether node i is in the set.
func (s Set) Has(i int) bool {
	if i < bitNodes {
		return s.low[i>>6]>>(i&63)&1 != 0
	}
	return s.hasHigh(i)
}

// scanned is the length of Set.high, in bytes, up to which a scan is faster than a search by
// bisection.
const scanned = 16 * highBytes

//go:noinline
func (s Set) hasHigh(i int) bool {
	if len(s.high) > scanned {
		_, found := s.place(i)
		return found
	}
	for at := 0; at < len(s.high); at += highBytes {
		if s.highNode(at) == i {
			return true
		}
	}
	return false
}

// With returns the set with node i.
func (s Set) With(i int) Set {
	if i < bitNodes {
		s.low[i>>6] |= 1 << (i & 63)
		return s
	}
	return s.withHigh(i)
}

func (s Set) withHigh(i int) Set {
	if at, found := s.place(i); !found {
		high := appendNode(append(make([]byte, 0, 64), s.high[:at]...), i)
		s.high = string(append(high, s.high[at:]...))
	}
	return s
}

// Without returns the set without node i.
func (s Set) Without(i int) Set {
	if i < bitNodes {
		s.low[i>>6] &^= 1 << (i & 63)
		return s
	}
	return s.withoutHigh(i)
}

func (s Set) withoutHigh(i int) Set {
	if at, found := s.place(i); found {
		s.high = s.high[:at] + s.high[at+highBytes:]
	}
	return s
}

// Toggle returns the set with node i if s lacks it, and without node i if s has it.
func (s Set) Toggle(i int) Set {
	if s.Has(i) {
		return s.Without(i)
	}
	return s.With(i)
}

// filterHigh returns the nodes from 128 on for which keep is true, as in Set.high.
func (s Set) filterHigh(keep func(i int) bool) string {
	var kept []byte
	for at := 0; at < len(s.high); at += highBytes {
		if keep(s.highNode(at)) {
			kept = append(kept, s.high[at:at+highBytes]...)
		}
	}
	return string(kept)
}

// Minus returns the nodes of s that are not in t.
func (s Set) Minus(t Set) Set {
	s.low[0] &^= t.low[0]
	s.low[1] &^= t.low[1]
	if s.high != "" {
		s.high = s.minusHigh(t)
	}
	return s
}

//go:noinline
func (s Set) minusHigh(t Set) string { return s.filterHigh(func(i int) bool { return !t.Has(i) }) }

// Or returns the nodes that are in s or in t.
func (s Set) Or(t Set) Set {
	s.low[0] |= t.low[0]
	s.low[1] |= t.low[1]
	if t.high != "" {
		s.high = s.mergeHigh(t)
	}
	return s
}

// mergeHigh returns the nodes from 128 on that are in s or in t, as in Set.high.
func (s Set) mergeHigh(t Set) string {
	merged := make([]byte, 0, len(s.high)+len(t.high))
	for s.high != "" && t.high != "" {
		a, b := s.highNode(0), t.highNode(0)
		merged = appendNode(merged, min(a, b))
		if a <= b {
			s.high = s.high[highBytes:]
		}
		if b <= a {
			t.high = t.high[highBytes:]
		}
	}
	return string(append(append(merged, s.high...), t.high...))
}

// And returns the nodes that are in s and in t.
func (s Set) And(t Set) Set {
	s.low[0] &= t.low[0]
	s.low[1] &= t.low[1]
	if s.high != "" {
		s.high = s.andHigh(t)
	}
	return s
}

//go:noinline
func (s Set) andHigh(t Set) string { return s.filterHigh(t.Has) }

// Within reports whether all nodes of s are in t.
func (s Set) Within(t Set) bool {
	return s.low[0]&^t.low[0] == 0 && s.low[1]&^t.low[1] == 0 && (s.high == "" || s.withinHigh(t))
}

func (s Set) withinHigh(t Set) bool {
	for at := 0; at < len(s.high); at += highBytes {
		if !t.Has(s.highNode(at)) {
			return false
		}
	}
	return true
}

// Empty reports whether the set has no nodes.
func (s Set) Empty() bool { return s.low[0]|s.low[1] == 0 && s.high == "" }

// Len returns the number of nodes.
func (s Set) Len() int {
	return bits.OnesCount64(s.low[0]) + bits.OnesCount64(s.low[1]) + len(s.high)/highBytes
}

// Nodes yields the nodes, ascending.
func (s Set) Nodes() iter.Seq[int] {
	return func(yield func(int) bool) {
		for word, set := range s.low {
			for ; set != 0; set &= set - 1 {
				if !yield(word<<6 + bits.TrailingZeros64(set)) {
					return
				}
			}
		}
		for at := 0; at < len(s.high); at += highBytes {
			if !yield(s.highNode(at)) {
				return
			}
		}
	}
}

// At returns the k-th node in ascending order, counted from 0, or −1 if there is no such node.
func (s Set) At(k int) int {
	for i := range s.Nodes() {
		if k--; k < 0 {
			return i
		}
	}
	return -1
}

// List returns the nodes, ascending.
func (s Set) List() []int { return slices.Collect(s.Nodes()) }

// MarshalBinary implements [encoding.BinaryMarshaler].
func (s Set) MarshalBinary() (data []byte, err error) {
	for _, set := range s.low {
		data = binary.BigEndian.AppendUint64(data, set)
	}
	return append(data, s.high...), nil
}

// UnmarshalBinary implements [encoding.BinaryUnmarshaler].
func (s *Set) UnmarshalBinary(data []byte) error {
	const lowBytes = bitNodes / 8
	if len(data) < lowBytes || (len(data)-lowBytes)%highBytes != 0 {
		return errors.New("a set of nodes has the wrong number of bytes")
	}
	for word := range s.low {
		s.low[word] = binary.BigEndian.Uint64(data[8*word:])
	}
	s.high = string(data[lowBytes:])
	return nil
}

// Reach returns the nodes at the ends of paths that start at one of the nodes from, which are
// included. links holds the next nodes of each node: with the children of each node Reach returns
// descendants, and with the parents of each node ancestors.
func Reach(from Set, links []Set) Set {
	if len(links) > bitNodes {
		m := NewMarks(len(links))
		m.Reach(from, links)
		return m.set()
	}
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

// Marks marks nodes of a graph by a bit each. Unlike a [Set] it is changed in place.
type Marks struct {
	bits    []uint64
	reached []int // scratch memory of Reach
}

// NewMarks returns marks for a number of nodes, none of which is marked.
func NewMarks(nodes int) *Marks {
	return &Marks{bits: make([]uint64, max(bitNodes, nodes+63)/64)}
}

// Has reports whether node i is marked.
func (m *Marks) Has(i int) bool { return m.bits[i>>6]>>(i&63)&1 != 0 }

// Add marks node i.
func (m *Marks) Add(i int) { m.bits[i>>6] |= 1 << (i & 63) }

// Remove unmarks node i.
func (m *Marks) Remove(i int) { m.bits[i>>6] &^= 1 << (i & 63) }

// HasAny reports whether a node of the set is marked.
func (m *Marks) HasAny(s Set) bool {
	if m.bits[0]&s.low[0]|m.bits[1]&s.low[1] != 0 {
		return true
	}
	for at := 0; at < len(s.high); at += highBytes {
		if m.Has(s.highNode(at)) {
			return true
		}
	}
	return false
}

// Reach marks the nodes that the function [Reach] returns, and no others. Its time is in proportion
// to the number of links on the paths.
func (m *Marks) Reach(from Set, links []Set) {
	clear(m.bits)
	if len(links) <= bitNodes {
		reached := Reach(from, links)
		copy(m.bits, reached.low[:])
		return
	}
	reached := m.reached[:0]
	for i := range from.Nodes() {
		m.Add(i)
		reached = append(reached, i)
	}
	for at := 0; at < len(reached); at++ {
		for next := range links[reached[at]].Nodes() {
			if !m.Has(next) {
				m.Add(next)
				reached = append(reached, next)
			}
		}
	}
	m.reached = reached
}

// set returns the marked nodes.
func (m *Marks) set() Set {
	var high []byte
	for word := bitNodes / 64; word < len(m.bits); word++ {
		for i := range Members(m.bits[word]) {
			high = appendNode(high, word<<6+i)
		}
	}
	return Set{low: [2]uint64{m.bits[0], m.bits[1]}, high: string(high)}
}

// Compare compares sets by size, and sets of equal size by the highest node that only one of them
// has. It returns a negative number if s comes first.
func (s Set) Compare(t Set) int {
	if d := s.Len() - t.Len(); d != 0 {
		return d
	}
	for {
		a, b := s.highest(), t.highest()
		if a != b || a < 0 {
			return a - b
		}
		s, t = s.Without(a), t.Without(b)
	}
}

// highest returns the highest node, or −1 for the empty set.
func (s Set) highest() int {
	if s.high != "" {
		return s.highNode(len(s.high) - highBytes)
	}
	for word := len(s.low) - 1; word >= 0; word-- {
		if s.low[word] != 0 {
			return word<<6 + bits.Len64(s.low[word]) - 1
		}
	}
	return -1
}

// EdgeTable returns a table [N,N] of edges by cause and effect. sets holds the causes of each node.
func EdgeTable(sets []Set) [][]bool {
	return apply.UpTo(len(sets), func(i int) []bool { return apply.To(sets, func(causes Set) bool { return causes.Has(i) }) })
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

// subsets yields the subsets of a bit set, from the set itself to the empty set.
func subsets(set uint64) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for sub := set; ; sub = (sub - 1) & set {
			if !yield(sub) || sub == 0 {
				return
			}
		}
	}
}

package space

import (
	"fmt"
	"iter"
	"math"

	"github.com/gomlx/gomlx/pkg/core/graph"

	"github.com/transdim/vti/internal/apply"
)

const (
	maxCard  = math.MaxInt32 // an outcome is an int32
	maxCount = 1 << 62
)

// Count returns the number of codes: the product of the numbers of outcomes of all sites. ok is
// false if it exceeds 2^62.
func Count(s Space) (n int, ok bool) { return CountCodes(s.Cards()) }

// CountCodes is [Count] for a space given by the number of outcomes of each site.
func CountCodes(cards []int) (n int, ok bool) {
	n = 1
	for _, card := range cards {
		if card > maxCount/n {
			return 0, false
		}
		n *= card
	}
	return n, true
}

// CountModels returns the number of models of s. ok is false if it exceeds 2^62.
func CountModels(s Space) (n int, ok bool) {
	if some, is := s.(lister); is {
		return some.CountModels()
	}
	return Count(s)
}

// Models enumerates the codes of the models of s, in lexicographic order. Every step yields the
// same slice, overwritten: copy it to keep it.
func Models(s Space) iter.Seq[[]int32] {
	if some, is := s.(lister); is {
		return some.Models()
	}
	return func(yield func([]int32) bool) {
		for _, code := range All(s.Cards()) {
			if !yield(code) {
				return
			}
		}
	}
}

// All enumerates the codes of a space in lexicographic order, with their indices. Every step yields
// the same slice, overwritten: copy it to keep it. It panics when CheckCards(cards) fails.
func All(cards []int) iter.Seq2[int, []int32] {
	must("space.All", CheckCards(cards))
	return func(yield func(int, []int32) bool) {
		code := make([]int32, len(cards))
		for index := 0; ; index++ {
			if !yield(index, code) {
				return
			}
			site := len(cards) - 1
			for ; site >= 0; site-- { // count up, and carry into the site on the left
				code[site]++
				if int(code[site]) < cards[site] {
					break
				}
				code[site] = 0
			}
			if site < 0 {
				return
			}
		}
	}
}

// Encode returns the index of a code, its number in lexicographic order. It panics when the lengths
// differ, an outcome does not exist, or the space has more than 2^62 codes.
func Encode(cards []int, code []int32) int {
	mustCount("space.Encode", cards)
	must("space.Encode", checkCode(cards, code))
	index := 0
	for site, card := range cards {
		index = index*card + int(code[site])
	}
	return index
}

// Decode writes the code with the given index into dst (length S) and returns it; a nil dst is
// allocated. It panics when dst has another length or when no code has the index.
func Decode(cards []int, index int, dst []int32) []int32 {
	count := mustCount("space.Decode", cards)
	if index < 0 || index >= count {
		panic(fmt.Sprintf("space.Decode: index %d of a space of %d codes", index, count))
	}
	dst = buffer("space.Decode", dst, len(cards))
	for site := len(cards) - 1; site >= 0; site-- {
		dst[site] = int32(index % cards[site])
		index /= cards[site]
	}
	return dst
}

// Index returns the index of each code in lexicographic order: codes [B, S] int32 -> [B] int32. The
// space must have fewer than 2^31 codes. Outcomes that do not exist give meaningless indices.
func Index(cards []int, codes *graph.Node) *graph.Node {
	strides := mustStrides("space.Index", cards)
	AssertCodes("space.Index", codes, len(cards))
	return graph.ReduceSum(graph.Mul(codes, graph.Const(codes.Graph(), [][]int32{strides})), 1)
}

// Codes is the inverse of [Index]: index [B] int32 -> [B, S] int32.
func Codes(cards []int, index *graph.Node) *graph.Node {
	strides := mustStrides("space.Codes", cards)
	outcomes := apply.To(cards, func(card int) int32 { return int32(card) })
	g := index.Graph()
	quotient := graph.Div(graph.InsertAxes(index, -1), graph.Const(g, [][]int32{strides})) // [B, S]
	return graph.Rem(quotient, graph.Const(g, [][]int32{outcomes}))
}

// mustStrides returns, for each site (digit) of a code, the change of the code's index when the
// outcome of the site grows by one. It panics if indices are too large. The message begins with the
// argument named where.
func mustStrides(where string, cards []int) []int32 {
	if count := mustCount(where, cards); count > math.MaxInt32 {
		panic(fmt.Errorf("%s: the space has %d codes, more than an int32 can number", where, count))
	}
	strides := make([]int32, len(cards))
	stride := 1
	for site := len(cards) - 1; site >= 0; site-- {
		strides[site] = int32(stride)
		stride *= cards[site]
	}
	return strides
}

// must panics with an error that begins with the argument named where, unless err is nil.
func must(where string, err error) {
	if err != nil {
		panic(fmt.Errorf("%s: %w", where, err))
	}
}

func mustCount(where string, cards []int) int {
	must(where, CheckCards(cards))
	count, ok := CountCodes(cards)
	if !ok {
		panic(fmt.Errorf("%s: the space has more than 2^62 codes", where))
	}
	return count
}

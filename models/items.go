package models

import (
	"github.com/transdim/vti/space"
)

// items is a space whose models are sets of items.
type items struct {
	count, slots int
	weights      []float64 // evidence for each item from screening; nil: unknown
	code         func(set []int32) []int32
}

// itemsOf returns the space as sets of items: a space of lists, or sites with two outcomes each.
func itemsOf(sp space.Space) (items, bool) {
	type weightedLists interface {
		Items() int
		Slots() int
		Weights() []float64
		Code(set []int32, dst []int32) []int32
	}
	if lists, ok := sp.(weightedLists); ok {
		return items{lists.Items(), lists.Slots(), lists.Weights(), func(set []int32) []int32 { return lists.Code(set, nil) }}, true
	}
	cards := sp.Cards()
	for _, card := range cards {
		if card != 2 {
			return items{}, false
		}
	}
	return items{len(cards), len(cards), nil, func(set []int32) []int32 {
		code := make([]int32, len(cards))
		for _, item := range set {
			code[item] = 1
		}
		return code
	}}, true
}

func codesOfSets(asItems items, sets [][]int32) [][]int32 {
	codes := make([][]int32, len(sets))
	for i, set := range sets {
		codes[i] = asItems.code(set)
	}
	return codes
}

// members lists the members of a code, ascending.
func (x *Visited) members() func(code []int32) []int32 {
	_, members := space.Outcomes(x.Space)
	return func(code []int32) (set []int32) {
		for _, member := range members(code) {
			set = append(set, int32(member))
		}
		return set
	}
}

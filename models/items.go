package models

import (
	"github.com/transdim/vti/space"
)

// items describes a space whose models are sets of at most slots items, such as predictors, out of
// count items.
type items struct {
	count, slots int
	weights      []float64 // how promising each item is, from a screening of all items; nil if unknown
	code         func(set []int32) []int32
}

// itemsOf describes a space as sets of items. It returns false unless the space is a space of
// lists, or all its sites have two outcomes.
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

// members returns a function that lists the members of a code in ascending order. Members are the
// items that a model contains. For spaces that are not sets of items, they are outcomes of the
// sites of a code, numbered as by space.Outcomes.
func (x *Visited) members() func(code []int32) []int32 {
	_, members := space.Outcomes(x.Space)
	return func(code []int32) (set []int32) {
		for _, member := range members(code) {
			set = append(set, int32(member))
		}
		return set
	}
}

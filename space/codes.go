package space

import (
	"encoding/binary"
	"fmt"
	"iter"
	"slices"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/english"
)

// ListModels returns the codes of all models of a space, in lexicographic order.
func ListModels(sp Space) (codes [][]int32) {
	for code := range Models(sp) {
		codes = append(codes, slices.Clone(code))
	}
	return codes
}

// Key converts a code to a key for maps.
func Key(code []int32) string {
	var room [256]byte // no allocation for codes of up to 64 sites
	key := room[:0]
	for _, outcome := range code {
		key = binary.LittleEndian.AppendUint32(key, uint32(outcome))
	}
	return string(key)
}

// CheckCode returns an error unless code is the code of a model of the space.
func CheckCode(sp Space, code []int32) error { return checkCode(sp.Cards(), code) }

func checkCode(cards []int, code []int32) error {
	if len(code) != len(cards) {
		return fmt.Errorf("got a code of %s, want %d", english.Count(len(code), "site"), len(cards))
	}
	for site, outcome := range code {
		if outcome < 0 || int(outcome) >= cards[site] {
			return fmt.Errorf("site %d: got outcome %d, want 0 to %d", site, outcome, cards[site]-1)
		}
	}
	return nil
}

// lister is a space whose models are lists of items, such as [Lists]. Not every code is the code of
// a model.
type lister interface {
	Items() int
	Set(code []int32) []int32
	CountModels() (n int, ok bool)
	Models() iter.Seq[[]int32]
}

// Outcomes numbers the features by which reports describe models, from 0 to n−1. In a space of
// lists a feature is an item, and a model has the features of its members. In other spaces a
// feature is an outcome, other than 0, of one of the sites (the digits of a code). The function
// members returns the numbers of the features that a code has.
func Outcomes(sp Space) (n int, members func(code []int32) []int) {
	if lists, ok := sp.(lister); ok {
		return lists.Items(), func(code []int32) []int {
			return apply.To(lists.Set(code), func(item int32) int { return int(item) })
		}
	}
	cards := sp.Cards()
	first := make([]int, len(cards))
	for site, card := range cards {
		first[site] = n
		n += card - 1
	}
	return n, func(code []int32) (members []int) {
		for site, outcome := range code {
			if outcome > 0 {
				members = append(members, first[site]+int(outcome)-1)
			}
		}
		return members
	}
}

// AreLists reports whether the models of a space are lists of items.
func AreLists(sp Space) bool {
	_, lists := sp.(lister)
	return lists
}

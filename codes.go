package vti

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/space"
)

// allCodes lists every model of a countable space in the order of its index: all codes, but for
// those that name no model where only some do (space.Lists).
func allCodes(sp space.Space) (codes [][]int32) {
	for code := range space.Models(sp) {
		codes = append(codes, slices.Clone(code))
	}
	return codes
}

// rowsOf splits flat codes [N*S] into one code a row, without copying.
func rowsOf(flat []int32, sites int) [][]int32 {
	rows := make([][]int32, 0, len(flat)/sites)
	for ; len(flat) > 0; flat = flat[sites:] {
		rows = append(rows, flat[:sites:sites])
	}
	return rows
}

// codesOf are the codes of models.
func codesOf(models []ModelEstimate) [][]int32 {
	codes := make([][]int32, len(models))
	for i, model := range models {
		codes[i] = model.Code
	}
	return codes
}

// codeKey is a code as the key of a map.
func codeKey(code []int32) string {
	key := make([]byte, 0, 4*len(code))
	for _, outcome := range code {
		key = binary.LittleEndian.AppendUint32(key, uint32(outcome))
	}
	return string(key)
}

// checkCode fails unless code names a model of the space.
func checkCode(sp space.Space, code []int32) error {
	cards := sp.Cards()
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

// lister is a space of lists of items (space.Lists).
type lister interface {
	Items() int
	Set(code []int32) []int32
}

// outcomesOf numbers what a model can have in common with others: the members of a list, or the
// outcomes of sites other than the first. members lists those of a code.
func outcomesOf(sp space.Space) (n int, members func(code []int32) []int) {
	if lists, ok := sp.(lister); ok {
		return lists.Items(), func(code []int32) (members []int) {
			for _, item := range lists.Set(code) {
				members = append(members, int(item))
			}
			return members
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

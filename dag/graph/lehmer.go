package graph

import (
	"fmt"
	"slices"

	"github.com/transdim/vti/internal/rank"
)

// DecodeLehmer returns the order of N nodes with the given Lehmer code: digit t, from 0 to N−1−t,
// picks the node at position t among the nodes not yet picked, in ascending order. The code has N−1
// digits, because the other nodes determine the last node, or N digits, the last digit being 0. A
// digit outside its range is an error.
func DecodeLehmer(nodes int, code []int32) ([]int, error) {
	if len(code) != nodes-1 && len(code) != nodes {
		return nil, fmt.Errorf("a Lehmer code for %d nodes: got %d digits, want %d", nodes, len(code), nodes-1)
	}
	left := rank.UpTo(nodes)
	order := make([]int, 0, nodes)
	for t := range nodes {
		digit := 0
		if t < len(code) {
			digit = int(code[t])
		}
		if digit < 0 || digit >= len(left) {
			return nil, fmt.Errorf("digit %d of the Lehmer code: got %d, want 0 to %d", t, digit, len(left)-1)
		}
		order = append(order, left[digit])
		left = slices.Delete(left, digit, digit+1)
	}
	return order, nil
}

// EncodeLehmer returns the N−1 digits of the Lehmer code of an order. It panics when order is not a
// permutation of 0 … N−1.
func EncodeLehmer(order []int) []int32 {
	left := rank.UpTo(len(order))
	code := make([]int32, 0, len(order))
	for _, node := range order {
		digit := slices.Index(left, node)
		if digit < 0 {
			panic(fmt.Sprintf("graph.EncodeLehmer: %v is not a permutation", order))
		}
		code = append(code, int32(digit))
		left = slices.Delete(left, digit, digit+1)
	}
	return code[:max(len(code)-1, 0)]
}

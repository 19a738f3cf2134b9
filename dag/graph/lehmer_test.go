package graph

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/transdim/vti/space"
)

// The example in appendix F.6 of Davies et al. (2025), whose nodes are numbered from 1, is decoded.
func TestDecodeLehmerWorkedExample(t *testing.T) {
	for _, code := range [][]int32{{2, 1, 0, 0, 0}, {2, 1, 0, 0}} {
		order, err := DecodeLehmer(5, code)
		require.NoError(t, err)
		require.Equal(t, []int{2, 1, 0, 3, 4}, order)
	}
}

// All Lehmer codes in lexicographic order give all permutations in lexicographic order, and
// encoding a permutation returns its code.
func TestLehmerExhaustively(t *testing.T) {
	for nodes := 2; nodes <= 6; nodes++ {
		cards := NewOrdered(nodes).Cards()[:nodes-1]
		var before []int
		count := 0
		for _, code := range space.All(cards) {
			order, err := DecodeLehmer(nodes, code)
			require.NoError(t, err)
			sorted := slices.Sorted(slices.Values(order))
			for i, node := range sorted {
				require.Equal(t, i, node)
			}
			require.Negative(t, slices.Compare(before, order))
			require.Equal(t, code, EncodeLehmer(order))
			before = order
			count++
		}
		want, _ := space.CountCodes(cards)
		require.Equal(t, want, count)
	}
}

func TestLehmerErrors(t *testing.T) {
	_, err := DecodeLehmer(3, []int32{0})
	require.ErrorContains(t, err, "3 nodes: got 1 digits, want 2")
	_, err = DecodeLehmer(3, []int32{0, 2})
	require.ErrorContains(t, err, "digit 1 of the Lehmer code: got 2, want 0 to 1")
	require.Panics(t, func() { EncodeLehmer([]int{0, 0}) })
}

func TestLehmerOfLargeOrders(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		order := rapid.Permutation(slices.Collect(seq(rapid.IntRange(2, 60).Draw(t, "nodes")))).Draw(t, "order")
		decoded, err := DecodeLehmer(len(order), EncodeLehmer(order))
		require.NoError(t, err)
		require.Equal(t, order, decoded)
	})
}

// seq yields 0 … n−1.
func seq(n int) func(func(int) bool) {
	return func(yield func(int) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	}
}

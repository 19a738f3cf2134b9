package space

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCodes(t *testing.T) {
	subsets, err := NewSubsets(2, nil, [][]int{{0}, {1}})
	require.NoError(t, err)
	require.Equal(t, [][]int32{{0, 0}, {0, 1}, {1, 0}, {1, 1}}, ListModels(subsets))

	require.NoError(t, CheckCode(subsets, []int32{0, 1}))
	require.EqualError(t, CheckCode(subsets, []int32{0}), "got a code of 1 site, want 2")
	require.EqualError(t, CheckCode(subsets, []int32{0, 2}), "site 1: got outcome 2, want 0 to 1")
	require.EqualError(t, CheckCode(subsets, []int32{-1, 0}), "site 0: got outcome -1, want 0 to 1")
}

// Outcomes gives a number to each outcome, other than 0, of each digit of a code, and in spaces of
// lists to each item.
func TestOutcomes(t *testing.T) {
	subsets, err := NewSubsets(3, nil, [][]int{{0}, {1}, {2}})
	require.NoError(t, err)
	n, members := Outcomes(subsets)
	require.Equal(t, 3, n)
	require.Equal(t, []int{0, 2}, members([]int32{1, 0, 1}))
	require.Empty(t, members([]int32{0, 0, 0}))

	lists, err := NewLists([]int{1, 1, 1}, 2, 0)
	require.NoError(t, err)
	n, members = Outcomes(lists)
	require.Equal(t, 3, n)
	require.Equal(t, []int{1}, members([]int32{1, 3}))
	require.Equal(t, [][]int32{{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}, {3, 3}}, ListModels(lists), "the seven sets of at most two")
}

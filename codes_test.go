package vti

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/space"
)

func TestCodes(t *testing.T) {
	target := newNormals(t, 2)
	require.Equal(t, [][]int32{{0, 0}, {0, 1}, {1, 0}, {1, 1}}, allCodes(target))

	flat := []int32{1, 2, 3, 4}
	rows := rowsOf(flat, 2)
	require.Equal(t, [][]int32{{1, 2}, {3, 4}}, rows)
	require.Equal(t, 2, cap(rows[0]), "appending to a row must not overwrite the next")
	require.Empty(t, rowsOf(nil, 2))

	require.NoError(t, checkCode(target, []int32{0, 1}))
	require.EqualError(t, checkCode(target, []int32{0}), "got a code of 1 site, want 2")
	require.EqualError(t, checkCode(target, []int32{0, 2}), "site 1: got outcome 2, want 0 to 1")
	require.EqualError(t, checkCode(target, []int32{-1, 0}), "site 0: got outcome -1, want 0 to 1")
}

// Outcomes of a site other than the first have numbers of their own; of lists, the items do.
func TestOutcomesOf(t *testing.T) {
	n, members := outcomesOf(newNormals(t, 3))
	require.Equal(t, 3, n)
	require.Equal(t, []int{0, 2}, members([]int32{1, 0, 1}))
	require.Empty(t, members([]int32{0, 0, 0}))

	lists, err := space.NewLists([]int{1, 1, 1}, 2, 0)
	require.NoError(t, err)
	n, members = outcomesOf(lists)
	require.Equal(t, 3, n)
	require.Equal(t, []int{1}, members([]int32{1, 3}))
	require.Equal(t, [][]int32{{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}, {3, 3}}, allCodes(lists), "the seven sets of at most two")
}

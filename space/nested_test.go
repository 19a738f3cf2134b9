package space_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/space"
)

func TestNewNested(t *testing.T) {
	s, err := space.NewNested([]int{2, 0, 1})
	require.NoError(t, err)
	require.Equal(t, []int{3}, s.Cards())
	require.Equal(t, []bool{true, true, false}, s.MaskRow([]int32{0}, nil))
	require.Equal(t, []bool{true, true, false}, s.MaskRow([]int32{1}, nil))
	require.Equal(t, []bool{true, true, true}, s.MaskRow([]int32{2}, nil))
	_, err = space.NewNested(nil)
	require.ErrorContains(t, err, "want at least one coordinate, got 0 blocks")
	_, err = space.NewNested([]int{1, -1})
	require.ErrorContains(t, err, "block 1 has -1 coordinates")
}

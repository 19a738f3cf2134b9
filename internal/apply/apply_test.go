package apply_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/internal/apply"
)

func TestListsOfValues(t *testing.T) {
	require.Equal(t, []string{"3", "1"}, apply.To([]int{3, 1}, strconv.Itoa))
	require.Equal(t, []int{0, 2, 4}, apply.UpTo(3, func(i int) int { return 2 * i }))
	require.Equal(t, []string{}, apply.To(nil, strconv.Itoa), "an empty list, not nil")
	odd := func(i int) bool { return i%2 == 1 }
	require.Equal(t, []int{1, 3}, apply.Where(4, odd))
	require.Equal(t, []int{5, 3}, apply.Keep([]int{5, 8, 3}, odd))
	require.Nil(t, apply.Where(1, odd))
	require.Nil(t, apply.Keep([]int{2}, odd))
}

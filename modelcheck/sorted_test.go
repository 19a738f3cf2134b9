package modelcheck

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// Rows sorted by the response are recognised, both all rows and only rows with equal predictors.
// They are distinguished from unsorted rows and from rows that happen to be in order.
func TestSorted(t *testing.T) {
	column := func(values ...float64) Column { return Column{Name: "x", Values: values} }
	for _, c := range []struct {
		name string
		y    []float64
		x    Column
		want bool
	}{
		{"all rows", []float64{1, 2, 2, 5, 7, 8, 9, 9}, column(3, 1, 4, 1, 5, 9, 2, 6), true},
		{"counts written as rows", []float64{1, 1, 1, 0, 0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0}, column(1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3), true},
		{"pairs in order by chance", []float64{0, 1, 1, 1, 0, 0, 0, 1}, column(1, 1, 2, 2, 3, 3, 4, 4), false},
		{"a row out of order", []float64{1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0}, column(1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3), false},
		{"different predictors", []float64{1, 0, 1, 0, 1, 0, 0, 1}, column(1, 2, 3, 4, 5, 6, 7, 8), false},
	} {
		require.Equal(t, c.want, sorted(&response{y: c.y}, []Column{c.x}), c.name)
	}
	// The run has three values 0 and two values 1: 3! 2! of its 5! orders never fall.
	require.InDelta(t, math.Log(0.1), logChanceOfOrder([]float64{0, 0, 0, 1, 1}, []int{4, 4, 4, 4, 4}), 1e-12)
}

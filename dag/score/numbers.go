package score

import (
	"cmp"
	"math"
	"slices"
)

// HalfLog2Pi is ½ log 2π.
var HalfLog2Pi = math.Log(2*math.Pi) / 2

// SortBy sorts the indices in order by their keys, ascending, and returns them. Indices with equal
// keys are sorted by index.
func SortBy(order []int, key func(int) float64) []int {
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(key(a), key(b)), cmp.Compare(a, b)) })
	return order
}

// Package rank finds the ranks of values, values by their rank without sorting all of them, and
// lists of indices in an order.
package rank

import (
	"cmp"
	"slices"
)

// Place reorders values so that the one of rank k, from 0 for the smallest, is at k, none before
// it is larger and none after it smaller. It parts them around one of them until that holds (Hoare
// 1961), which takes a time proportional to their number on average. It panics if k is not the
// place of a value. Places of NaN are not defined.
func Place(values []float64, k int) {
	_ = values[k]
	for low, high := 0, len(values)-1; low < high; {
		pivot := values[low+(high-low)/2]
		i, j := low, high
		for i <= j {
			for values[i] < pivot {
				i++
			}
			for values[j] > pivot {
				j--
			}
			if i <= j {
				values[i], values[j] = values[j], values[i]
				i, j = i+1, j-1
			}
		}
		switch {
		case k <= j:
			high = j
		case k >= i:
			low = i
		default:
			return
		}
	}
}

// Mid are the ranks of values, from 1 for the smallest; equal ones share their average.
func Mid(values []float64) []float64 {
	order := Order(len(values), func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	ranks := make([]float64, len(values))
	for from := 0; from < len(order); {
		to := from + 1
		for to < len(order) && values[order[to]] == values[order[from]] {
			to++
		}
		for _, i := range order[from:to] {
			ranks[i] = float64(from+1+to) / 2
		}
		from = to
	}
	return ranks
}

// UpTo lists 0 to n−1.
func UpTo(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// Order lists 0 to n−1 in the order of compare, equal ones ascending.
func Order(n int, compare func(a, b int) int) []int {
	order := UpTo(n)
	slices.SortStableFunc(order, compare)
	return order
}

// Package rank computes the ranks of values, selects values by rank without sorting all of them,
// and lists indices in a given order or by element.
package rank

import (
	"cmp"
	"slices"

	"github.com/transdim/vti/internal/apply"
)

// Place reorders values so that the value of rank k, counted from 0 for the smallest, is at index
// k. No value before it is larger and no value after it is smaller. The method is quickselect
// (Hoare 1961), whose time is proportional to the number of values on average. Place panics if k is
// not an index of values. The result is undefined if a value is NaN.
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

// Mid returns the ranks of values, counted from 1 for the smallest. Equal values get the average of
// their ranks.
func Mid(values []float64) []float64 {
	type indexed struct {
		value float64
		index int
	}
	sorted := make([]indexed, len(values))
	for i, v := range values {
		sorted[i] = indexed{v, i}
	}
	slices.SortFunc(sorted, func(a, b indexed) int { return cmp.Or(cmp.Compare(a.value, b.value), a.index-b.index) })
	ranks := make([]float64, len(values))
	for from := 0; from < len(sorted); {
		to := from + 1
		for to < len(sorted) && sorted[to].value == sorted[from].value {
			to++
		}
		for _, equal := range sorted[from:to] {
			ranks[equal.index] = float64(from+1+to) / 2
		}
		from = to
	}
	return ranks
}

// UpTo returns the indices 0 to n−1.
func UpTo(n int) []int {
	return apply.UpTo(n, func(i int) int { return i })
}

// Order returns the indices 0 to n−1 in the order that compare defines. Indices that compare equal
// are ascending.
func Order(n int, compare func(a, b int) int) []int {
	order := UpTo(n)
	slices.SortStableFunc(order, compare)
	return order
}

// Places returns the index of each element of a list, the last for an element that repeats.
func Places[T comparable](list []T) map[T]int {
	places := make(map[T]int, len(list))
	for place, element := range list {
		places[element] = place
	}
	return places
}

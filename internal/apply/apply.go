// Package apply makes lists with a function: lists of its values, and of the elements for which the
// function is true.
package apply

// To returns f of each element of a list, in the order of the list.
func To[T, R any](list []T, f func(element T) R) []R {
	return UpTo(len(list), func(i int) R { return f(list[i]) })
}

// UpTo returns f of the numbers 0 to n−1.
func UpTo[R any](n int, f func(i int) R) []R {
	results := make([]R, n)
	for i := range results {
		results[i] = f(i)
	}
	return results
}

// Where returns the numbers i from 0 to n−1 for which is(i), and nil if there are none.
func Where(n int, is func(i int) bool) (list []int) {
	for i := range n {
		if is(i) {
			list = append(list, i)
		}
	}
	return list
}

// Keep returns the elements of a list for which is(element), and nil if there are none.
func Keep[T any](list []T, is func(element T) bool) []T {
	var kept []T
	for _, element := range list {
		if is(element) {
			kept = append(kept, element)
		}
	}
	return kept
}

// Package apply makes lists of the values of a function.
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

// Package weighted works on draws with weights. It resamples equally weighted draws, and computes
// means, standard deviations and quantiles.
package weighted

import (
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
)

// Counts divides n draws among rows in proportion to their weights, by systematic resampling, which
// adds the least noise: each count is its expectation rounded up or down. Weights need not sum to
// one. If no weight is positive, all counts are 0.
func Counts(weights []float64, n int, random *rand.Rand) []int {
	counts := make([]int, len(weights))
	total := floats.Sum(weights)
	u := random.Float64()
	if !(total > 0) {
		return counts
	}
	var cumulative float64
	drawn, last := 0, 0
	for i, weight := range weights {
		if weight > 0 {
			last = i
		}
		for cumulative += weight / total * float64(n); drawn < n && u+float64(drawn) < cumulative; drawn++ {
			counts[i]++
		}
	}
	counts[last] += n - drawn // rounding can leave the sum a little below n
	return counts
}

// Rows draws n rows as Counts does and returns them in random order, so that any part of the rows
// is also a sample. It returns no rows if no weight is positive.
func Rows(weights []float64, n int, random *rand.Rand) []int {
	var rows []int
	for i, count := range Counts(weights, n, random) {
		for range count {
			rows = append(rows, i)
		}
	}
	random.Shuffle(len(rows), func(a, b int) { rows[a], rows[b] = rows[b], rows[a] })
	return rows
}

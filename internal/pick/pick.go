// Package pick draws indices with probabilities proportional to weights. The caller supplies
// uniform numbers u in [0, 1). Use weighted.Counts and weighted.Rows to draw several rows at once
// with the least noise, and gonum's sampleuv.WithoutReplacement to draw without replacement.
package pick

import (
	"math"
	"sort"

	"gonum.org/v1/gonum/floats"
)

// Index returns i with probability weights[i] / Σ weights.
func Index(weights []float64, u float64) int {
	return Func(len(weights), u*floats.Sum(weights), func(i int) float64 { return weights[i] })
}

// Log returns i with probability exp(logs[i]) / Σ exp(logs).
func Log(logs []float64, u float64) int {
	largest, total := math.Inf(-1), 0.0
	for _, l := range logs {
		largest = math.Max(largest, l)
	}
	weight := func(i int) float64 { return math.Exp(logs[i] - largest) }
	for i := range logs {
		total += weight(i)
	}
	return Func(len(logs), u*total, weight)
}

// Func returns the first index at which the running sum of n weights exceeds the argument part, a
// number from 0 to the sum of all weights. If the weights sum to one, part may be a uniform number.
// If rounding leaves the whole sum at part or below, Func returns the last index of positive
// weight, or n − 1 if there is none.
func Func(n int, part float64, weight func(i int) float64) int {
	last := n - 1
	for i := range n {
		w := weight(i)
		if part -= w; part < 0 {
			return i
		}
		if w > 0 {
			last = i
		}
	}
	return last
}

// Table draws indices repeatedly from one list of weights. Each draw takes logarithmic time.
type Table struct{ upTo []float64 }

// NewTable returns a Table for the given weights.
func NewTable(weights []float64) Table {
	upTo, total := make([]float64, len(weights)), 0.0
	for i, weight := range weights {
		total += weight
		upTo[i] = total
	}
	return Table{upTo}
}

// Index returns i with probability weights[i] / Σ weights.
func (t Table) Index(u float64) int {
	last := len(t.upTo) - 1
	part := u * t.upTo[last]
	return sort.Search(last, func(i int) bool { return t.upTo[i] > part })
}

// Package pick chooses indices in proportion to weights. Uniform numbers u in [0, 1) come from the
// caller. weighted.Counts and weighted.Rows choose several rows at once with the least noise;
// sampleuv.WithoutReplacement chooses sets without replacement.
package pick

import (
	"math"
	"sort"
)

// Index returns i with probability weights[i] / Σ weights.
func Index(weights []float64, u float64) int {
	total := 0.0
	for _, weight := range weights {
		total += weight
	}
	return Func(len(weights), u*total, func(i int) float64 { return weights[i] })
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

// Func returns the first index at which the sum of n weights exceeds part of it, from 0 to all:
// with shares that sum to one, part is u. Where rounding leaves the sum at part or below, it is the
// last index of positive weight, and n − 1 without one.
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

// Table picks many times from the same weights, each in logarithmic time.
type Table struct{ upTo []float64 }

// NewTable adds weights up.
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

// Package logsum adds numbers that are known by their logarithms.
package logsum

import "math"

// Negligible is the difference in nats from which on the smaller of two terms does not change their
// sum in float64.
const Negligible = 40

// Add is log(exp a + exp b).
func Add(a, b float64) float64 {
	if a < b {
		a, b = b, a
	}
	if d := b - a; d > -Negligible { // false for −Inf and NaN differences
		return a + math.Log1p(math.Exp(d))
	}
	return a
}

// Of is log Σ exp(x), −Inf for nothing.
func Of(values []float64) float64 {
	largest := math.Inf(-1)
	for _, value := range values {
		largest = math.Max(largest, value)
	}
	if math.IsInf(largest, 0) {
		return largest
	}
	var sum float64
	for _, value := range values {
		sum += math.Exp(value - largest)
	}
	return largest + math.Log(sum)
}

// Shares replaces logarithms by the shares of their exponentials in the sum, and returns them.
func Shares(logs []float64) []float64 {
	total := Of(logs)
	for i, x := range logs {
		logs[i] = math.Exp(x - total)
	}
	return logs
}

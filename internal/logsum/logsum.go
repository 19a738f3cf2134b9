// Package logsum adds numbers that are given by their logarithms. It also has the logarithm of the
// gamma function.
package logsum

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// Negligible is a difference of two log terms, in nats: from this difference on, the smaller term
// does not change the sum in float64.
const Negligible = 40

// Add returns log(exp a + exp b).
func Add(a, b float64) float64 {
	if a < b {
		a, b = b, a
	}
	if d := b - a; d > -Negligible { // false for −Inf and NaN differences
		return a + math.Log1p(math.Exp(d))
	}
	return a
}

// Of returns log Σ exp(x) over values, and −Inf for no values.
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

// Shares replaces each logarithm by the share of its exponential in the sum of all exponentials,
// and returns the slice.
func Shares(logs []float64) []float64 {
	total := Of(logs)
	for i, x := range logs {
		logs[i] = math.Exp(x - total)
	}
	return logs
}

// Effective returns the effective number of draws that have the given log weights, (Σw)² / Σw². It
// is 0 if no weight is positive.
func Effective(logWeights []float64) float64 {
	shares := Shares(slices.Clone(logWeights))
	if squares := floats.Dot(shares, shares); squares > 0 {
		return 1 / squares
	}
	return 0
}

// Gamma returns log Γ(x) for x > 0.
func Gamma(x float64) float64 {
	value, _ := math.Lgamma(x)
	return value
}

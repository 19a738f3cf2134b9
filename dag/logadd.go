package dag

import "math"

// negligible is the difference in nats from which on the smaller of two terms does not change their
// sum in float64.
const negligible = 40

// logAdd is log(exp a + exp b).
func logAdd(a, b float64) float64 {
	if a < b {
		a, b = b, a
	}
	if d := b - a; d > -negligible { // false for −Inf and NaN differences
		return a + math.Log1p(math.Exp(d))
	}
	return a
}

// logSumExp is log Σ exp(x), −Inf for nothing.
func logSumExp(values []float64) float64 {
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

package papers

import (
	"cmp"
	"math"

	"gonum.org/v1/gonum/stat"
)

// estimate is a mean with its standard error.
type estimate struct{ mean, se float64 }

// meanOf returns the mean of values. The argument groups holds a number for each value. Values with
// equal numbers may depend on each other, like draws of one Markov chain; values with different
// numbers are independent. The standard error takes this into account. If groups is nil, all values
// are independent.
func meanOf(values []float64, groups []int) estimate {
	mean := stat.Mean(values, nil)
	sums := map[int]float64{}
	for i, v := range values {
		group := i
		if groups != nil {
			group = groups[i]
		}
		sums[group] += v - mean
	}
	squares, n := 0.0, float64(len(sums))
	for _, sum := range sums {
		squares += sum * sum
	}
	return estimate{mean, math.Sqrt(squares*n/(n-1)) / float64(len(values))}
}

func negated(values []float64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = -v
	}
	return out
}

// slopeOf returns the slope of the least-squares line, or NaN for fewer than three points.
func slopeOf(x, y []float64) float64 {
	if len(x) < 3 {
		return nan
	}
	_, slope := stat.LinearRegression(x, y, nil, false)
	return slope
}

func compareNumbers(a, b float64) int { return cmp.Compare(a, b) }

package formula

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/english"
)

// orthogonalPolynomials returns the polynomials of degrees 1 to degree of x, like R's poly. Over
// rows 0 to seen−1 they have mean zero, unit length, and are orthogonal to each other; over later
// rows they are the same functions. With p_0 = 1, p_−1 = 0 and n_k = Σ p_k² over rows 0 to seen−1,
//
//	p_{k+1} = (x − a_k) p_k − n_k / n_{k−1} p_{k−1},   a_k = Σ x p_k² / n_k.
func orthogonalPolynomials(x []float64, seen, degree int) ([][]float64, error) {
	if distinct := slices.Compact(slices.Sorted(slices.Values(x[:seen]))); len(distinct) <= degree {
		return nil, fmt.Errorf("%s, want more than %d for polynomials of degree %d", english.Count(len(distinct), "different value"), degree, degree)
	}
	mean, sd := stat.MeanStdDev(x[:seen], nil)
	// scaled, so that powers neither overflow nor vanish
	z := apply.To(x, func(x float64) float64 { return (x - mean) / sd })
	before, last := make([]float64, len(x)), slices.Repeat([]float64{1}, len(x))
	length := float64(seen) // n_k
	previous := 1.0         // n_{k−1}
	var columns [][]float64
	for k := range degree {
		centre := 0.0
		for i, p := range last[:seen] {
			centre += z[i] * p * p / length
		}
		next, ratio := make([]float64, len(x)), length/previous
		if k == 0 {
			ratio = 0
		}
		for i := range next {
			next[i] = (z[i]-centre)*last[i] - ratio*before[i]
		}
		before, last, previous, length = last, next, length, 0
		for _, p := range last[:seen] {
			length += p * p
		}
		columns = append(columns, apply.To(last, func(p float64) float64 { return p / math.Sqrt(length) }))
	}
	return columns, nil
}

package calibrate

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// average sums means and variances given each of some points, of log weights terms, to a mean and a
// variance: visit adds those of a point. The weights sum to one up to their own rounding, and not
// to that of large log weights: a mean of millions of its standard deviations needs every digit.
func average(terms []float64, visit func(k int, add func(to *[2]float64, mean, variance float64))) {
	top, sum := floats.Max(terms), 0.0
	for _, term := range terms {
		sum += math.Exp(term - top)
	}
	for pass := range 2 { // means, then variances about them
		for k, term := range terms {
			w := math.Exp(term-top) / sum
			const negligible = 1e-18
			if w < negligible {
				continue
			}
			visit(k, func(to *[2]float64, mean, variance float64) {
				if pass == 0 {
					to[0] += w * mean
				} else {
					to[1] += w * (variance + (mean-to[0])*(mean-to[0]))
				}
			})
		}
	}
}

// averages is average of k quantities at once.
func averages(terms []float64, k int, visit func(t int, add func(at int, mean, variance float64))) (mean, variance []float64) {
	both := make([][2]float64, k)
	average(terms, func(t int, add func(to *[2]float64, mean, variance float64)) {
		visit(t, func(at int, mean, variance float64) { add(&both[at], mean, variance) })
	})
	mean, variance = make([]float64, k), make([]float64, k)
	for i, one := range both {
		mean[i], variance[i] = one[0], one[1]
	}
	return mean, variance
}

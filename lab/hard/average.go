package hard

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/internal/line"
)

// over integrates a model over one more parameter x. The argument conditional returns the evidence
// and moments of the model given x; the evidence includes the prior density of x. If the function
// last is not nil, the mean and variance of last(x) are appended to the moments.
func over(o line.Options, conditional func(x float64) (modelMoments, error), last func(x float64) float64) (modelMoments, error) {
	found, err := line.Integrate(o, func(x float64) (float64, modelMoments, error) {
		m, err := conditional(x)
		return m.logEvidence, m, err
	})
	if err != nil {
		return modelMoments{}, err
	}
	terms := make([]float64, len(found.Nodes))
	for t, node := range found.Nodes {
		terms[t] = node.LogWeight
	}
	k := len(found.Nodes[0].Given.mean)
	size := k
	if last != nil {
		size++
	}
	out := modelMoments{logEvidence: found.Log}
	_, out.mean, out.variance = averages(terms, size, func(t int, add func(at int, mean, variance float64)) {
		node := found.Nodes[t]
		for a, mean := range node.Given.mean {
			add(a, mean, node.Given.variance[a])
		}
		if last != nil {
			add(k, last(node.X), 0)
		}
	})
	return out, nil
}

// logNormal returns the log density of N(mean, sd²) at x.
func logNormal(x, mean, sd float64) float64 {
	z := (x - mean) / sd
	return -z*z/2 - math.Log(sd) - halfLog2Pi
}

// averages returns the means and variances of k quantities over weighted points. The argument
// terms holds the unnormalised log weights of the points. The argument visit adds the moments of
// quantities given point t, where some quantities may be missing. The result mass is, for each
// quantity, the total weight of the points with this quantity. Weights are divided by their sum,
// since the exponential of a log sum has a larger rounding error: a mean that is millions of
// standard deviations from zero needs every digit.
func averages(terms []float64, k int, visit func(t int, add func(at int, mean, variance float64))) (mass, mean, variance []float64) {
	top, sum := floats.Max(terms), 0.0
	for _, term := range terms {
		sum += math.Exp(term - top)
	}
	mass, mean, variance = make([]float64, k), make([]float64, k), make([]float64, k)
	for pass := range 2 { // first means, then variances about them
		for t, term := range terms {
			w := math.Exp(term-top) / sum
			const negligible = 1e-18
			if w < negligible {
				continue
			}
			visit(t, func(at int, value, spread float64) {
				if pass == 0 {
					mass[at] += w
					mean[at] += w * value
				} else {
					variance[at] += w * (spread + (value-mean[at])*(value-mean[at]))
				}
			})
		}
		floats.Div([][]float64{mean, variance}[pass], mass)
	}
	return mass, mean, variance
}

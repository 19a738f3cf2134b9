package hard

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/internal/line"
)

// over integrates a model over one more parameter x. conditional is the model given x, with the
// density of x in its evidence. last is a quantity of x whose moments come last; nil for none.
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

// logNormal is the log density of x ~ N(mean, sd²).
func logNormal(x, mean, sd float64) float64 {
	z := (x - mean) / sd
	return -z*z/2 - math.Log(sd) - halfLog2Pi
}

// averages returns means and variances of k quantities over some points of log weights terms. visit
// adds the moments of a point, which need not have all quantities. mass is the share of the points
// that have one. Weights are normalised to their own rounding, and not to the rounding of large log
// weights: a mean of millions of its standard deviations needs every digit.
func averages(terms []float64, k int, visit func(t int, add func(at int, mean, variance float64))) (mass, mean, variance []float64) {
	top, sum := floats.Max(terms), 0.0
	for _, term := range terms {
		sum += math.Exp(term - top)
	}
	mass, mean, variance = make([]float64, k), make([]float64, k), make([]float64, k)
	for pass := range 2 { // means, then variances about them
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

package calibrate

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// The grid over log σ, about the logarithm of the noise scale that the prior expects: its range
// holds what a fit up to rounding leaves, and its step is a third of the narrowest posterior that
// 500 rows give, with which the trapezoidal rule is right to rounding.
const (
	gridBelow = -80
	gridAbove = 40
	gridStep  = 0.02
)

// gaussian is the exact posterior of a model with normal noise, by the singular values s of X T,
// where T are the prior standard deviations:
//
//	y − X μ ~ N(0, σ² I + X T² Xᵀ),
//
// and by the trapezoidal rule over log σ where σ is unknown.
func (p *regressionProblem) gaussian(coordinates []int) (modelMoments, error) {
	c, err := p.conjugate(coordinates)
	if err != nil {
		return modelMoments{}, err
	}
	points, logWeights := p.logSigmas()
	terms := make([]float64, len(points))
	for t, logSigma := range points {
		terms[t] = logWeights[t] + c.logDensity(logSigma)
	}
	out := modelMoments{logEvidence: floats.LogSumExp(terms)}
	if math.IsNaN(out.logEvidence) {
		return out, errors.New("the evidence is not a number")
	}
	k := len(coordinates)
	size := k
	if p.sigma == 0 {
		size++
	}
	out.mean, out.variance = averages(terms, size, func(t int, add func(at int, mean, variance float64)) {
		sigma := math.Exp(points[t])
		for a := range coordinates {
			mean, variance := c.given(a, sigma*sigma)
			add(a, mean, variance)
		}
		if p.sigma == 0 {
			add(k, sigma, 0)
		}
	})
	return out, nil
}

// logSigmas are the points of the integral over log σ with the logarithms of their weights, prior
// included; one point where σ is known.
func (p *regressionProblem) logSigmas() (points, logWeights []float64) {
	if p.sigma != 0 {
		return []float64{math.Log(p.sigma)}, []float64{0}
	}
	for at := float64(gridBelow); at <= gridAbove; at += gridStep {
		z := at / p.logSigmaSD
		points = append(points, p.logSigmaMean+at)
		logWeights = append(logWeights, math.Log(gridStep)-z*z/2-math.Log(p.logSigmaSD)-halfLog2Pi)
	}
	return points, logWeights
}

// conjugate is a model given σ, along the singular vectors of its columns, each times the prior
// standard deviation of its coefficient.
type conjugate struct {
	p           *regressionProblem
	coordinates []int
	singular    []float64
	v           mat.Dense // right singular vectors
	along       []float64 // of the response less its prior mean, on the left singular vectors
	rest        float64   // the square of what is left of it
	// outside is the share of the prior variance of each coefficient that no row says anything of.
	outside []float64
}

// conjugate decomposes the model of these coordinates.
func (p *regressionProblem) conjugate(coordinates []int) (*conjugate, error) {
	c := &conjugate{p: p, coordinates: coordinates, outside: make([]float64, len(coordinates))}
	n, k := len(p.y), len(coordinates)
	r := append([]float64(nil), p.y...)
	if p.offset != nil {
		floats.Sub(r, p.offset)
	}
	if k > 0 {
		scaled := mat.NewDense(n, k, nil)
		for a, j := range coordinates {
			for i := range n {
				scaled.Set(i, a, p.x.At(i, j)*p.priorSD[j])
				r[i] -= p.x.At(i, j) * p.priorMean[j]
			}
		}
		var svd mat.SVD
		if !svd.Factorize(scaled, mat.SVDThin) {
			return nil, errors.New("the singular values did not converge")
		}
		var u mat.Dense
		c.singular = svd.Values(nil)
		svd.UTo(&u)
		svd.VTo(&c.v)
		c.along = make([]float64, len(c.singular))
		for range 2 { // twice, so that what is left has no rounding of what was removed
			for s := range c.singular {
				column := mat.Col(nil, s, &u)
				part := floats.Dot(column, r)
				c.along[s] += part
				floats.AddScaled(r, -part, column)
			}
		}
	}
	c.rest = floats.Dot(r, r)
	// None is outside where there are as many singular values as coordinates, which a difference
	// would show to 1e−16 only.
	for a := range coordinates {
		if len(c.singular) == k {
			break
		}
		c.outside[a] = 1
		for s := range c.singular {
			c.outside[a] -= c.v.At(a, s) * c.v.At(a, s)
		}
		c.outside[a] = math.Max(c.outside[a], 0)
	}
	return c, nil
}

// logDensity is that of the response given log σ, coefficients integrated out.
func (c *conjugate) logDensity(logSigma float64) float64 {
	n := len(c.p.y)
	variance := math.Exp(2 * logSigma)
	sum := float64(n-len(c.singular))*2*logSigma + c.rest/variance + 2*halfLog2Pi*float64(n)
	for i, s := range c.singular {
		total := variance + s*s
		sum += math.Log(total) + c.along[i]*c.along[i]/total
	}
	return -sum / 2
}

// given is the mean of a coefficient given σ², and its variance as a sum without differences.
func (c *conjugate) given(a int, variance float64) (mean, spread float64) {
	j := c.coordinates[a]
	spread = c.outside[a]
	for i, s := range c.singular {
		total := variance + s*s
		mean += c.v.At(a, i) * s / total * c.along[i]
		spread += c.v.At(a, i) * c.v.At(a, i) * variance / total
	}
	return c.p.priorMean[j] + c.p.priorSD[j]*mean, c.p.priorSD[j] * c.p.priorSD[j] * spread
}

package hard

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/line"
)

// gaussian is the exact posterior of a model with normal noise, by the singular values s of X T,
// where T are the prior standard deviations:
//
//	y − X μ ~ N(0, σ² I + X T² Xᵀ),
//
// integrated over log σ if σ is unknown.
func (p *regressionProblem) gaussian(coordinates []int) (modelMoments, error) {
	c, err := p.conjugate(coordinates)
	if err != nil {
		return modelMoments{}, err
	}
	if p.sigma != 0 {
		out := c.moments(math.Log(p.sigma))
		if math.IsNaN(out.logEvidence) {
			return out, errors.New("the evidence is not a number")
		}
		return out, nil
	}
	return over(p.logSigmas(), func(logSigma float64) (modelMoments, error) {
		m := c.moments(logSigma)
		m.logEvidence += logNormal(logSigma, p.logSigmaMean, p.logSigmaSD)
		return m, nil
	}, math.Exp)
}

// logSigmas are the options of the integral over log σ, about the logarithm of the noise scale that
// the prior expects. The range covers the residual of a fit up to rounding. Terms of the log
// density change over distances of a half or more. Depth covers E σ², which lies further out than
// the evidence.
func (p *regressionProblem) logSigmas() line.Options {
	return line.Options{From: p.logSigmaMean - 80, To: p.logSigmaMean + 40, Step: 0.25, Depth: 60}
}

// conjugate is a model given σ, along the singular vectors of its columns, each times the prior
// standard deviation of its coefficient.
type conjugate struct {
	p           *regressionProblem
	coordinates []int
	singular    []float64
	v           mat.Dense // right singular vectors
	along       []float64 // of the response less its prior mean, on the left singular vectors
	rest        float64   // the square of its residual
	// outside is the share of the prior variance of each coefficient that is outside the span of
	// the rows.
	outside []float64
}

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
		for range 2 { // twice, so that the residual has no rounding of the removed part
			for s := range c.singular {
				column := mat.Col(nil, s, &u)
				part := floats.Dot(column, r)
				c.along[s] += part
				floats.AddScaled(r, -part, column)
			}
		}
	}
	c.rest = floats.Dot(r, r)
	// outside is zero with a singular value for each coordinate, which a difference would show only
	// to 1e−16.
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

// logDensity is the log density of the response given log σ, with coefficients integrated out.
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

// moments are the moments given log σ. Variances are sums without differences.
func (c *conjugate) moments(logSigma float64) modelMoments {
	m := modelMoments{logEvidence: c.logDensity(logSigma)}
	variance := math.Exp(2 * logSigma)
	for a, j := range c.coordinates {
		mean, spread := 0.0, c.outside[a]
		for i, s := range c.singular {
			total := variance + s*s
			mean += c.v.At(a, i) * s / total * c.along[i]
			spread += c.v.At(a, i) * c.v.At(a, i) * variance / total
		}
		m.mean = append(m.mean, c.p.priorMean[j]+c.p.priorSD[j]*mean)
		m.variance = append(m.variance, c.p.priorSD[j]*c.p.priorSD[j]*spread)
	}
	return m
}

package hard

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/line"
)

// gaussian returns the exact posterior of a model with normal noise. It uses the singular values of
// X T, where T is the diagonal matrix of prior standard deviations and μ are the prior means:
//
//	y − X μ ~ N(0, σ² I + X T² Xᵀ),
//
// If σ is unknown, gaussian integrates over log σ.
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

// logSigmas returns the options of the integral over log σ. The range reaches from the size of
// rounding errors of residuals to far above the noise scale that the prior expects. Features of the
// log density have a width of 0.5 or more in log σ. The option Depth is large enough for the mean
// of σ²: large σ contribute more to this mean than to the evidence.
func (p *regressionProblem) logSigmas() line.Options {
	return line.Options{From: p.logSigmaMean - 80, To: p.logSigmaMean + 40, Step: 0.25, Depth: 60}
}

// conjugate is a model given σ, in the coordinates of the singular vectors of its columns, after
// each column is multiplied by the prior standard deviation of its coefficient.
type conjugate struct {
	p           *regressionProblem
	coordinates []int
	singular    []float64
	v           mat.Dense // right singular vectors
	along       []float64 // components of the response minus its prior mean along the left singular vectors
	rest        float64   // squared norm of the part orthogonal to these vectors
	// outside holds, for each coefficient, the share of its prior variance in directions on which
	// the rows carry no information.
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
		for range 2 { // the second pass removes rounding errors of the first
			for s := range c.singular {
				column := mat.Col(nil, s, &u)
				part := floats.Dot(column, r)
				c.along[s] += part
				floats.AddScaled(r, -part, column)
			}
		}
	}
	c.rest = floats.Dot(r, r)
	// If there is a singular value for each coordinate, the field outside is exactly zero, and the
	// difference below would have a rounding error.
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

// logDensity returns the log density of the response given log σ, integrated over coefficients.
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

// moments returns the evidence and moments given log σ. Variances are sums of positive terms, so
// that no digits cancel.
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

package calibrate

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/line"
)

// mostAssigned is the largest number of rows whose assignments to outliers are summed over.
const mostAssigned = 16

// mostAssignedOver is that number where the noise scale is integrated over too.
const mostAssignedOver = 6

// robust returns the exact posterior of models with the noise (1−share) N(0, σ²) + share N(0,
// (ratio σ)²) and known σ, by summing over which rows are outliers: given those, the noise is
// normal.
func (p *regressionProblem) robust(share, ratio float64) func(coordinates []int) (modelMoments, error) {
	return func(coordinates []int) (modelMoments, error) {
		n, k := len(p.y), len(coordinates)
		if n > mostAssigned {
			return modelMoments{}, errors.New("too many rows to sum over outliers")
		}
		given := newOutlierGiven(p, coordinates)
		count := 1 << n
		terms := make([]float64, count)
		means, variances := make([]float64, count*k), make([]float64, count*k)
		for assigned := range count {
			for i := range n {
				sigma, logShare := p.sigma, math.Log1p(-share)
				if assigned>>i&1 == 1 {
					sigma, logShare = sigma*ratio, math.Log(share)
				}
				given.weight[i], given.logShare[i] = 1/(sigma*sigma), logShare
			}
			var err error
			if terms[assigned], err = given.solve(means[assigned*k:][:k], variances[assigned*k:][:k]); err != nil {
				return modelMoments{}, err
			}
		}
		out := modelMoments{logEvidence: floats.LogSumExp(terms)}
		_, out.mean, out.variance = averages(terms, k, func(assigned int, add func(at int, mean, variance float64)) {
			for a := range k {
				add(a, means[assigned*k+a], variances[assigned*k+a])
			}
		})
		return out, nil
	}
}

// outlierGiven is a model given which rows are outliers: a regression with normal noise of a known
// precision in each row.
type outlierGiven struct {
	problem     *regressionProblem
	coordinates []int
	weight      []float64 // precision of the noise of each row
	logShare    []float64 // log prior probability that the row is what it is
	precision   *mat.SymDense
	right       *mat.VecDense
	factor      mat.Cholesky
	covariance  mat.SymDense
	mode        mat.VecDense
}

func newOutlierGiven(p *regressionProblem, coordinates []int) *outlierGiven {
	k := max(len(coordinates), 1)
	return &outlierGiven{problem: p, coordinates: coordinates,
		weight: make([]float64, len(p.y)), logShare: make([]float64, len(p.y)),
		precision: mat.NewSymDense(k, nil), right: mat.NewVecDense(k, nil)}
}

// target is the response of a row less its offset.
func (p *regressionProblem) target(i int) float64 {
	if p.offset == nil {
		return p.y[i]
	}
	return p.y[i] - p.offset[i]
}

// solve returns log p(y, outliers), by the density of y at the posterior mean of θ times prior over
// posterior there, and writes the posterior means and variances [k].
func (g *outlierGiven) solve(mean, variance []float64) (logJoint float64, err error) {
	p := g.problem
	if len(g.coordinates) > 0 {
		g.normalEquations()
		if !g.factor.Factorize(g.precision) {
			return 0, errors.New("the posterior precision is not positive definite")
		}
		if err := g.factor.SolveVecTo(&g.mode, g.right); err != nil {
			return 0, err
		}
		if err := g.factor.InverseTo(&g.covariance); err != nil {
			return 0, err
		}
		logJoint -= g.factor.LogDet() / 2
		for a, j := range g.coordinates {
			z := (g.mode.AtVec(a) - p.priorMean[j]) / p.priorSD[j]
			logJoint -= z*z/2 + math.Log(p.priorSD[j])
			mean[a], variance[a] = g.mode.AtVec(a), g.covariance.At(a, a)
		}
	}
	for i, w := range g.weight {
		r := p.target(i)
		for a, j := range g.coordinates {
			r -= p.x.At(i, j) * g.mode.AtVec(a)
		}
		logJoint += math.Log(w)/2 - r*r*w/2 - halfLog2Pi
		logJoint += g.logShare[i]
	}
	return logJoint, nil
}

// normalEquations fills in the posterior precision of the coefficients and its product with their
// posterior mean.
func (g *outlierGiven) normalEquations() {
	p := g.problem
	g.precision.Zero()
	g.right.Zero()
	for a, j := range g.coordinates {
		g.precision.SetSym(a, a, 1/(p.priorSD[j]*p.priorSD[j]))
		g.right.SetVec(a, p.priorMean[j]/(p.priorSD[j]*p.priorSD[j]))
	}
	for i, w := range g.weight {
		target := p.target(i)
		for a, j := range g.coordinates {
			g.right.SetVec(a, g.right.AtVec(a)+w*p.x.At(i, j)*target)
			for b := range a + 1 {
				g.precision.SetSym(a, b, g.precision.At(a, b)+w*p.x.At(i, j)*p.x.At(i, g.coordinates[b]))
			}
		}
	}
}

// overSigma integrates the posterior of models given σ over log σ. Its moments have σ last. A σ so
// small that the posterior given it cannot be computed has none; it fails where there is more.
func (p *regressionProblem) overSigma(of func(given *regressionProblem) func(coordinates []int) (modelMoments, error)) func(coordinates []int) (modelMoments, error) {
	return func(coordinates []int) (modelMoments, error) {
		least, atLeast, top := math.Inf(1), math.Inf(-1), math.Inf(-1)
		k := len(coordinates)
		nothing := modelMoments{math.Inf(-1), make([]float64, k), make([]float64, k)}
		out, err := over(line.Options{From: p.logSigmaMean - 24, To: p.logSigmaMean + 16, Step: 0.25, Depth: 60}, func(logSigma float64) (modelMoments, error) {
			given := *p
			given.sigma = math.Exp(logSigma)
			m, err := of(&given)(coordinates)
			if err != nil {
				return nothing, nil
			}
			m.logEvidence += logNormal(logSigma, p.logSigmaMean, p.logSigmaSD)
			if top = math.Max(top, m.logEvidence); logSigma < least {
				least, atLeast = logSigma, m.logEvidence
			}
			return m, nil
		}, math.Exp)
		const negligible = -25
		if err == nil && !(atLeast < top+negligible) {
			return out, errors.New("the posterior cannot be computed at noise scales that matter")
		}
		return out, err
	}
}

package calibrate

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
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
		count := 1 << n
		terms := make([]float64, count)
		means, variances := make([]float64, count*k), make([]float64, count*k)
		precision, right := mat.NewSymDense(max(k, 1), nil), mat.NewVecDense(max(k, 1), nil)
		var factor mat.Cholesky
		var covariance mat.SymDense
		var mode mat.VecDense
		for assigned := range count {
			// the density of y at the mean of θ given y, times prior over posterior there
			term := 0.0
			if k > 0 {
				precision.Zero()
				right.Zero()
				for a, j := range coordinates {
					precision.SetSym(a, a, 1/(p.priorSD[j]*p.priorSD[j]))
					right.SetVec(a, p.priorMean[j]/(p.priorSD[j]*p.priorSD[j]))
				}
			}
			weight := func(i int) float64 {
				sigma := p.sigma
				if assigned>>i&1 == 1 {
					sigma *= ratio
				}
				return 1 / (sigma * sigma)
			}
			for i := range n {
				w := weight(i)
				target := p.y[i]
				if p.offset != nil {
					target -= p.offset[i]
				}
				for a, j := range coordinates {
					right.SetVec(a, right.AtVec(a)+w*p.x.At(i, j)*target)
					for b := range a + 1 {
						precision.SetSym(a, b, precision.At(a, b)+w*p.x.At(i, j)*p.x.At(i, coordinates[b]))
					}
				}
			}
			if k > 0 {
				if !factor.Factorize(precision) {
					return modelMoments{}, errors.New("the posterior precision is not positive definite")
				}
				if err := factor.SolveVecTo(&mode, right); err != nil {
					return modelMoments{}, err
				}
				if err := factor.InverseTo(&covariance); err != nil {
					return modelMoments{}, err
				}
				term -= factor.LogDet() / 2
				for a, j := range coordinates {
					z := (mode.AtVec(a) - p.priorMean[j]) / p.priorSD[j]
					term -= z*z/2 + math.Log(p.priorSD[j])
					means[assigned*k+a], variances[assigned*k+a] = mode.AtVec(a), covariance.At(a, a)
				}
			}
			for i := range n {
				r := p.y[i]
				if p.offset != nil {
					r -= p.offset[i]
				}
				for a, j := range coordinates {
					r -= p.x.At(i, j) * mode.AtVec(a)
				}
				w := weight(i)
				term += math.Log(w)/2 - r*r*w/2 - halfLog2Pi
				if assigned>>i&1 == 1 {
					term += math.Log(share)
				} else {
					term += math.Log1p(-share)
				}
			}
			terms[assigned] = term
		}
		out := modelMoments{logEvidence: floats.LogSumExp(terms)}
		out.mean, out.variance = averages(terms, k, func(assigned int, add func(at int, mean, variance float64)) {
			for a := range k {
				add(a, means[assigned*k+a], variances[assigned*k+a])
			}
		})
		return out, nil
	}
}

// The grid over log σ of likelihoods without a closed form for it, about the mean of its prior. Its
// step is a third of the narrowest posterior that the few rows give, and its ends are checked.
const (
	sigmaBelow = -24.0
	sigmaAbove = 16.0
	sigmaStep  = 0.08
)

// overSigma integrates the posterior of models given σ over log σ, by the trapezoidal rule. Its
// moments have σ last. It fails where the grid does not hold the posterior. A σ so small that the
// posterior given it cannot be computed ends the grid.
func (p *regressionProblem) overSigma(of func(given *regressionProblem) func(coordinates []int) (modelMoments, error)) func(coordinates []int) (modelMoments, error) {
	return func(coordinates []int) (modelMoments, error) {
		var terms, sigmas []float64
		var list []modelMoments
		for at := sigmaBelow; at <= sigmaAbove; at += sigmaStep {
			given := *p
			given.sigma = math.Exp(p.logSigmaMean + at)
			m, err := of(&given)(coordinates)
			if err != nil {
				terms, list, sigmas = nil, nil, nil
				continue
			}
			z := at / p.logSigmaSD
			terms = append(terms, m.logEvidence-z*z/2-math.Log(p.logSigmaSD)-halfLog2Pi+math.Log(sigmaStep))
			list, sigmas = append(list, m), append(sigmas, given.sigma)
		}
		if len(terms) == 0 {
			return modelMoments{}, errors.New("the posterior cannot be computed at the largest noise scale")
		}
		k := len(coordinates)
		out := modelMoments{logEvidence: floats.LogSumExp(terms)}
		// E σ² needs more of the upper end than the evidence does
		const negligible = -25
		if ends := math.Max(terms[0], terms[len(terms)-1]+2*sigmaAbove); !(ends-out.logEvidence < negligible) {
			return modelMoments{}, errors.New("the grid over the noise scale does not hold the posterior")
		}
		out.mean, out.variance = averages(terms, k+1, func(t int, add func(at int, mean, variance float64)) {
			for a := range k {
				add(a, list[t].mean[a], list[t].variance[a])
			}
			add(k, sigmas[t], 0)
		})
		return out, nil
	}
}

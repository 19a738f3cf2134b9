package calibrate

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// mostAssigned is the largest number of rows whose assignments to outliers are summed over.
const mostAssigned = 16

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
		out := modelMoments{logEvidence: floats.LogSumExp(terms), mean: make([]float64, k), variance: make([]float64, k)}
		for pass := range 2 {
			for assigned, term := range terms {
				w := math.Exp(term - out.logEvidence)
				for a := range k {
					mean := means[assigned*k+a]
					if pass == 0 {
						out.mean[a] += w * mean
					} else {
						out.variance[a] += w * (variances[assigned*k+a] + (mean-out.mean[a])*(mean-out.mean[a]))
					}
				}
			}
		}
		return out, nil
	}
}

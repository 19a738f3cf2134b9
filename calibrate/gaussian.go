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
	n, k := len(p.y), len(coordinates)
	r := append([]float64(nil), p.y...)
	if p.offset != nil {
		floats.Sub(r, p.offset)
	}
	var u, v mat.Dense
	var singular []float64
	along := []float64{} // of r, on the left singular vectors
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
			return modelMoments{}, errors.New("the singular values did not converge")
		}
		singular = svd.Values(nil)
		svd.UTo(&u)
		svd.VTo(&v)
		along = make([]float64, len(singular))
		for range 2 { // twice, so that what is left has no rounding of what was removed
			for c := range singular {
				column := mat.Col(nil, c, &u)
				part := floats.Dot(column, r)
				along[c] += part
				floats.AddScaled(r, -part, column)
			}
		}
	}
	rest := floats.Dot(r, r)

	// at one σ
	logDensity := func(logSigma float64) float64 {
		variance := math.Exp(2 * logSigma)
		sum := float64(n-len(singular))*2*logSigma + rest/variance + 2*halfLog2Pi*float64(n)
		for c, s := range singular {
			total := variance + s*s
			sum += math.Log(total) + along[c]*along[c]/total
		}
		return -sum / 2
	}
	points, logWeights := []float64{math.Log(p.sigma)}, []float64{0}
	if p.sigma == 0 {
		points, logWeights = nil, nil
		for at := float64(gridBelow); at <= gridAbove; at += gridStep {
			logSigma := p.logSigmaMean + at
			z := at / p.logSigmaSD
			points = append(points, logSigma)
			logWeights = append(logWeights, math.Log(gridStep)-z*z/2-math.Log(p.logSigmaSD)-halfLog2Pi)
		}
	}
	terms := make([]float64, len(points))
	for t, logSigma := range points {
		terms[t] = logWeights[t] + logDensity(logSigma)
	}
	out := modelMoments{logEvidence: floats.LogSumExp(terms)}
	if math.IsNaN(out.logEvidence) {
		return out, errors.New("the evidence is not a number")
	}
	size := k
	if p.sigma == 0 {
		size++
	}
	// The share of the prior variance that no row says anything of: none where there are as many
	// singular values as coordinates, which a difference would show to 1e−16 only.
	outside := make([]float64, k)
	for a := range coordinates {
		if len(singular) == k {
			break
		}
		outside[a] = 1
		for c := range singular {
			outside[a] -= v.At(a, c) * v.At(a, c)
		}
		outside[a] = math.Max(outside[a], 0)
	}
	// given σ: the mean of coordinate a, and its variance as a sum without differences
	given := func(a int, variance float64) (mean, spread float64) {
		j := coordinates[a]
		spread = outside[a]
		for c, s := range singular {
			total := variance + s*s
			mean += v.At(a, c) * s / total * along[c]
			spread += v.At(a, c) * v.At(a, c) * variance / total
		}
		return p.priorMean[j] + p.priorSD[j]*mean, p.priorSD[j] * p.priorSD[j] * spread
	}
	out.mean, out.variance = averages(terms, size, func(t int, add func(at int, mean, variance float64)) {
		sigma := math.Exp(points[t])
		for a := range coordinates {
			mean, variance := given(a, sigma*sigma)
			add(a, mean, variance)
		}
		if p.sigma == 0 {
			add(k, sigma, 0)
		}
	})
	return out, nil
}

package hard

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/line"
)

// mostAssigned is the largest number of rows for which the function robust sums over sets of
// outliers.
const mostAssigned = 16

// mostAssignedOver is the largest number of rows if the noise scale is unknown, so that there is
// also an integral over the noise scale.
const mostAssignedOver = 6

// robust returns the exact posterior of models with the noise (1−share) N(0, σ²) + share N(0,
// (ratio σ)²) and known σ, by a sum over the sets of rows that may be outliers. Given the set of
// outliers, the noise is normal.
func (p *regressionProblem) robust(share, ratio float64) func(coordinates []int) (modelMoments, error) {
	return func(coordinates []int) (modelMoments, error) {
		n := len(p.y)
		if n > mostAssigned {
			return modelMoments{}, fmt.Errorf("got %d rows to sum over sets of outliers, want at most %d", n, mostAssigned)
		}
		terms, moments, sigmas := make([]float64, 1<<n), make([]modelMoments, 1<<n), make([]float64, n)
		for assigned := range terms {
			logShares := 0.0
			for i := range sigmas {
				sigma, logShare := p.sigma, math.Log1p(-share)
				if assigned>>i&1 == 1 {
					sigma, logShare = sigma*ratio, math.Log(share)
				}
				sigmas[i], logShares = sigma, logShares+logShare
			}
			var err error
			if moments[assigned], err = p.gaussianOf(sigmas, coordinates); err != nil {
				return modelMoments{}, err
			}
			terms[assigned] = logShares + moments[assigned].logEvidence
		}
		out := modelMoments{logEvidence: floats.LogSumExp(terms)}
		_, out.mean, out.variance = averages(terms, len(coordinates), func(assigned int, add func(at int, mean, variance float64)) {
			for a, mean := range moments[assigned].mean {
				add(a, mean, moments[assigned].variance[a])
			}
		})
		return out, nil
	}
}

// gaussianOf returns the exact posterior of a model with normal noise of a known scale in each row.
func (p *regressionProblem) gaussianOf(sigmas []float64, coordinates []int) (modelMoments, error) {
	scaled := *p
	scaled.x, scaled.y, scaled.offset, scaled.sigma = mat.DenseCopyOf(p.x), slices.Clone(p.y), slices.Clone(p.offset), 1
	logUnits := 0.0
	for i, sigma := range sigmas {
		floats.Scale(1/sigma, scaled.x.RawRowView(i))
		scaled.y[i] /= sigma
		if scaled.offset != nil {
			scaled.offset[i] /= sigma
		}
		logUnits += math.Log(sigma)
	}
	m, err := scaled.gaussian(coordinates)
	m.logEvidence -= logUnits
	return m, err
}

// overSigma integrates over log σ the posterior that the argument conditionalOf returns for a fixed
// σ. The moments of σ come last. If the posterior given some small σ cannot be computed, its
// evidence is taken as 0; overSigma returns an error if these σ are not negligible.
func (p *regressionProblem) overSigma(conditionalOf func(fixed *regressionProblem) func(coordinates []int) (modelMoments, error)) func(coordinates []int) (modelMoments, error) {
	return func(coordinates []int) (modelMoments, error) {
		least, atLeast, top := math.Inf(1), math.Inf(-1), math.Inf(-1)
		k := len(coordinates)
		nothing := modelMoments{math.Inf(-1), make([]float64, k), make([]float64, k)}
		out, err := over(line.Options{From: p.logSigmaMean - 24, To: p.logSigmaMean + 16, Step: 0.25, Depth: 60}, func(logSigma float64) (modelMoments, error) {
			fixed := *p
			fixed.sigma = math.Exp(logSigma)
			m, err := conditionalOf(&fixed)(coordinates)
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
			return out, fmt.Errorf("the posterior cannot be computed at noise scales as small as %g", math.Exp(least))
		}
		return out, err
	}
}

package evaluate

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/internal/logsum"
)

// Reference is a mixture of densities of noise with mean zero. Each component but the last is a
// normal density with one scale for all D coordinates. In the last component coordinates are
// independent, and each has the standard deviation aloneScale with probability 1/D, and otherwise
// 1. The field alone is the share of the last component.
type Reference struct {
	scales, shares    []float64
	alone, aloneScale float64
}

// WideReference replaces the standard normal of training in certification. A flow trained by
// reverse KL is often too narrow, and weights then have a heavy right tail. The wide components
// bound the weights if the posterior is at most twice as wide as the flow, and cost a tenth of the
// draws for one coordinate, a quarter for forty. The last component is for posteriors in which a
// single coordinate, such as the logarithm of a scale, has a longer tail, which noise that is wide
// in all coordinates hardly ever reaches. Weights are exact, since the density of the mixture is.
// In 30 difficult hierarchies with the beta likelihood (seed 3716), the errors of the log evidence,
// divided by the standard errors, have a standard deviation of 1.25 without the last component, and
// of 0.82 with it.
var WideReference = Reference{[]float64{1, 1.25, 1.6, 2}, []float64{0.6, 0.15, 0.1, 0.05}, 0.1, 4}

// Draw fills z [D] with noise from the mixture.
func (r Reference) Draw(random *rand.Rand, z []float64) {
	for j := range z {
		z[j] = random.NormFloat64()
	}
	u := random.Float64()
	for k, share := range r.shares {
		if u < share {
			floats.Scale(r.scales[k], z)
			return
		}
		u -= share
	}
	for j := range z {
		if random.IntN(len(z)) == 0 {
			z[j] *= r.aloneScale
		}
	}
}

// logRatios returns the logs of the ratios of densities to the standard normal density at noise z
// [D]: of each component of the mixture, and, last, of the mixture. Only the given number of
// coordinates is active; the others are zero in z.
func (r Reference) logRatios(z []float64, active int) []float64 {
	share, precision := 1/float64(len(z)), 1/(r.aloneScale*r.aloneScale)
	logWide, logNarrow := math.Log(share/r.aloneScale), math.Log1p(-share)
	squares, alone, zeros := 0.0, 0.0, active // zeros is the number of active coordinates that are zero
	for _, x := range z {
		if x != 0 {
			squares += x * x
			alone += logsum.Add(logWide+x*x/2*(1-precision), logNarrow)
			zeros--
		}
	}
	alone += float64(zeros) * logsum.Add(logWide, logNarrow)
	ratios, terms := make([]float64, 0, len(r.scales)+2), make([]float64, 0, len(r.scales)+1)
	for k, scale := range r.scales {
		ratios = append(ratios, squares/2*(1-1/(scale*scale))-float64(active)*math.Log(scale))
		terms = append(terms, math.Log(r.shares[k])+ratios[k])
	}
	return append(ratios, alone, logsum.Of(append(terms, math.Log(r.alone)+alone)))
}

// Components returns, for each component but the last, the ratio of its density to the density of
// the mixture at noise z. The mean of each ratio under the mixture is one. The ratio of the last
// component follows from the others, since their sum, weighted by the shares, is one.
func (r Reference) Components(z []float64, active int) []float64 {
	ratios := r.logRatios(z, active)
	mixture := ratios[len(ratios)-1]
	for k := range r.scales {
		ratios[k] = math.Exp(ratios[k] - mixture)
	}
	return ratios[:len(r.scales)]
}

// LogWeights returns log p(y, θ | m) − log r(θ | m) of draws, where r is the density of the flow
// applied to noise from this mixture.
func (r Reference) LogWeights(draws Pushed) []float64 {
	logWeights := make([]float64, len(draws.LogQ))
	dim := len(draws.Noise) / len(draws.LogQ)
	for i := range logWeights {
		ratios := r.logRatios(draws.Noise[i*dim:(i+1)*dim], int(draws.Active[i]))
		logWeights[i] = draws.LogJoint[i] - draws.LogQ[i] - ratios[len(ratios)-1]
	}
	return logWeights
}

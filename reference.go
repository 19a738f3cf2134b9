package vti

import (
	"math"
	"math/rand/v2"
)

// Certification draws its reference not from the standard normal that the flow was trained on but from a mixture of normals of
// these scales. A flow trained by reverse KL is, if anything, too narrow, and weights then have a heavy right tail; the wide
// components bound them wherever the posterior is no more than twice as wide as the flow, at the price of a fifth of
// the draws. The density of the mixture is exact, so the weights are.
var (
	referenceScales = [...]float64{1, 1.25, 1.6, 2}
	referenceShares = [...]float64{0.7, 0.15, 0.1, 0.05}
)

// drawReference fills z with one draw from the mixture: all coordinates share the scale.
func drawReference(random *rand.Rand, z []float64) {
	u, scale := random.Float64(), referenceScales[len(referenceScales)-1]
	for k, share := range referenceShares {
		if u < share {
			scale = referenceScales[k]
			break
		}
		u -= share
	}
	for j := range z {
		z[j] = scale * random.NormFloat64()
	}
}

// referenceLogRatio is the log density of the mixture over that of the standard normal for active coordinates with the
// given sum of squares.
func referenceLogRatio(squares float64, active int) float64 {
	var terms [len(referenceScales)]float64
	for k, scale := range referenceScales {
		terms[k] = math.Log(referenceShares[k]) - float64(active)*math.Log(scale) + squares/2*(1-1/(scale*scale))
	}
	return logSumExp(terms[:])
}

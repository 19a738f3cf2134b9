package vti

import (
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
)

// LaplaceTarget is a Target that can approximate the posterior of each model on the host, such as
// by a t distribution around its mode. The weights of a few draws from it estimate the evidence of
// the model without bias, so that certification can go over models alone (Andrieu and Roberts
// 2009), each weighed once, and needs no draws of the flow.
//
// It is for posteriors with one mode, as those of log-concave likelihoods are: weights of draws
// around one mode cannot show another.
type LaplaceTarget interface {
	Target
	// ProposeParameters draws n times from the approximation of a model: theta [n,D] with inactive
	// coordinates 0, and logWeights[i] = log p(y, θ_i | m) less the log density of the
	// approximation, all constants kept, which must be bounded. It may be called from several
	// goroutines, and fails with an error where the numbers do.
	ProposeParameters(code []int32, n int, random *rand.Rand) (theta *mat.Dense, logWeights []float64, err error)
}

package vti

import (
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
)

// LaplaceTarget is a Target that can approximate the posterior of each model on the host, such as
// by a t distribution around its mode. The weights of a few draws from it estimate the evidence of
// the model without bias, so that certification can go over models alone (Andrieu and Roberts
// 2009), each weighted once, and needs no draws of the flow.
//
// It is for posteriors with one mode, as those of log-concave likelihoods are: weights of draws
// around one mode cannot show another.
type LaplaceTarget interface {
	Target
	// ProposeParameters draws n times from the approximation of a model: theta [n,D] with inactive
	// coordinates 0, logJoint[i] = log p(y, θ_i | m) with all constants kept, and logProposal[i],
	// the log density of the approximation, whose tails must be so heavy that the ratio is bounded.
	// It may be called from several goroutines, and fails with an error where the numbers do.
	ProposeParameters(code []int32, n int, random *rand.Rand) (theta *mat.Dense, logJoint, logProposal []float64, err error)
}

package vti

import (
	gocontext "context"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
)

// ExactTarget is a Target whose evidences are known in closed form or by quadrature, as they are
// for Gaussian regressions and linear Gaussian graphs. Certification then needs no importance
// weights over parameters: it weights models alone, and parameters come from the exact
// conditional.
//
// Both methods may be called from several goroutines. They fail with an error where the numbers do
// (a matrix that is not positive definite, a quadrature that does not converge), and then the
// engine falls back on importance weights.
type ExactTarget interface {
	Target
	// LogEvidences returns log p(y | m) of each code, in closed form or by quadrature, to 1e-8
	// nats relative to the largest. codes is n rows of S sites; the result has length n, in nats,
	// all constants kept: LogJoint integrates to the same number.
	LogEvidences(ctx gocontext.Context, codes [][]int32) ([]float64, error)
	// SampleParameters draws n times from p(θ | y, m) exactly: theta [n,D] with inactive
	// coordinates 0, and logDensity[i] = log p(θ_i | y, m).
	SampleParameters(code []int32, n int, random *rand.Rand) (theta *mat.Dense, logDensity []float64, err error)
}

// SubstituteTarget is an ExactTarget whose LogJoint is the density of a related problem, for one
// that has none as a graph. It may guide training and anchors, which only propose models; nothing
// is certified by it, so that a failure of the closed forms is an error.
type SubstituteTarget interface {
	ExactTarget
	// SubstituteJoint marks LogJoint as that of a related problem; it does nothing.
	SubstituteJoint()
}

// SummedTarget is an ExactTarget that can sum over all of its models at once, much faster than one
// by one, for example by sharing factors between models. Certification then sums over spaces that
// are too large to be listed.
type SummedTarget interface {
	ExactTarget
	// SumModels sums over every model. ok is false, without an error, if that would be too much
	// work, if numbers fail, or if no list of models that fits in memory holds nearly all of the
	// probability. progress, if not nil, is called from time to time, never concurrently.
	SumModels(ctx gocontext.Context, progress func(done, total int)) (sum ModelSum, ok bool, err error)
}

// ModelSum is the sum over all models of a SummedTarget.
type ModelSum struct {
	// Count is the number of models that the prior does not exclude.
	Count int
	// LogEvidence is log Σ_m p(m) p(y | m) in nats, all constants kept.
	LogEvidence float64
	// Codes are the most probable models, at least one, and LogEvidences log p(y | m) of each.
	Codes        [][]int32
	LogEvidences []float64
}

package vti

import (
	gocontext "context"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/models"
	"github.com/transdim/vti/rjmcmc"
)

// ModelSum is the sum over all models of a SummedTarget.
type ModelSum = models.Total

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
	SumModels(ctx gocontext.Context, progress func(done, total int)) (sum models.Total, ok bool, err error)
}

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

// JointTarget is a Target that finds members of models that matter only together, or that stand in
// for others. Neither q(m) nor chains over models, which change one member at a time, would find
// them: the models in between can be less probable by a hundred nats.
type JointTarget interface {
	Target
	// Together returns models that extend the model of code, or one near it, by two or three
	// members, and that promise most beyond what fewer of these members add. The engine computes
	// their evidences.
	Together(ctx gocontext.Context, code []int32) (with, without [][]int32, err error)
	// Instead returns the most promising models without some or all of the members of the model of
	// code: several members can stand in for several others although every model in between is
	// improbable.
	Instead(ctx gocontext.Context, code []int32) (others [][]int32, err error)
}

// BirthDeathTarget is an ExactTarget with a birth-death process over models that knows the odds of
// every member at each step.
type BirthDeathTarget interface {
	ExactTarget
	// BirthDeath is the posterior over models that the process keeps; nil where there is none.
	BirthDeath() rjmcmc.Collapsed
}

// CollapsedTarget is a Target whose parameters may integrate out given latent variables that are
// discrete.
type CollapsedTarget interface {
	Target
	// Collapsed is the posterior over models and latent variables; nil where there is none.
	Collapsed() rjmcmc.Collapsed
}

// knownOf is what a target says of its models.
func knownOf(target Target) (known models.Known) {
	switch target := target.(type) {
	case ExactTarget:
		known.Evidences = models.FromExact(target)
	case LaplaceTarget:
		known.Evidences = models.Proposer(target.ProposeParameters)
	}
	_, known.Alone = target.(SubstituteTarget)
	if summed, ok := target.(SummedTarget); ok {
		known.Sum = summed.SumModels
	}
	if joint, ok := target.(JointTarget); ok {
		known.Together, known.Instead = joint.Together, joint.Instead
	}
	if births, ok := target.(BirthDeathTarget); ok {
		known.BirthDeath = births.BirthDeath()
	}
	if collapsed, ok := target.(CollapsedTarget); ok {
		known.Collapsed = collapsed.Collapsed()
	}
	return known
}

package models

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/parallel"
	"github.com/transdim/vti/internal/psis"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/internal/weighted"
	"github.com/transdim/vti/rjmcmc"
	"github.com/transdim/vti/space"
)

// Known holds the functions by which an application computes parts of the answer without any
// training. Every field may be left zero.
type Known struct {
	// Evidences computes log p(y | m) of single models, in closed form or estimated.
	Evidences Evidences
	// Draws is the number of draws of parameters behind a certificate; 0 stands for 32,768.
	Draws int
	// Alone reports whether only Evidences may certify, because the flow is trained on the density
	// of a related problem instead of this one.
	Alone bool
	// Sum computes the sum over all models at once, much faster than one model after the other, for
	// example by sharing factors between models. ok is false, without an error, if the sum would be
	// too much work, if it fails numerically, or if the list of models that hold nearly all of the
	// probability does not fit in memory. progress, if not nil, is called at intervals, never
	// concurrently. Sum needs Evidences.
	Sum func(ctx context.Context, progress func(done, total int)) (total Total, ok bool, err error)
	// Together returns models with[i] that extend models without[i] by two or three members that
	// have an effect only together. Members of a model are the items that it contains, such as
	// predictors. Each without[i] is the given model or a model near it. The models with[i] are
	// those that gain most by all of these members compared with only some of them. Instead returns
	// the most promising models in which other members replace some or all of the members of the
	// given model: several members can replace several others although every model in between is
	// improbable. Distributions over models, and chains that change one member at a time, would
	// find neither kind of model, because models in between can be less probable by a hundred nats.
	Together func(ctx context.Context, code []int32) (with, without [][]int32, err error)
	Instead  func(ctx context.Context, code []int32) (others [][]int32, err error)
	// Enters returns, for each of codes, approximate posterior log odds of adding each item to the
	// model, and NaN for items in it. Items are the members of spaces whose models are sets. From
	// the odds in some models follow the probabilities of thousands of improbable items, which
	// chains hardly ever visit.
	Enters func(ctx context.Context, codes [][]int32) (logOdds [][]float64, err error)
	// BirthDeath is the posterior over models for a birth-death process that computes, at each
	// step, the odds of adding or removing every item. It is for models of few items (such as
	// predictors) among thousands that can replace each other. For such models, chains that propose
	// one item at a time hardly move, and no known distribution to draw and weight models from is
	// near the posterior. It needs Evidences. The argument found holds the codes of models that
	// other methods found, the most probable first. These models decide how fast chains mix, and
	// not the distribution to which the chains converge.
	BirthDeath func(found [][]int32) rjmcmc.Collapsed
	// Collapsed is the posterior over models and latent variables, with the parameters integrated
	// out, or with moves between models that integrate the parameters out. It is for many latent
	// variables, such as whether each row of data is an outlier. Each likely set of their values is
	// a mode of the parameters, and there are more modes than a flow can learn or chains over
	// parameters can visit. It is also for models of few items among thousands whose evidences are
	// estimates. The argument is as in BirthDeath.
	Collapsed func(found [][]int32) rjmcmc.Collapsed
	// Expand returns log p(y, θ | m) at theta [D]. Unless slope is nil, it writes the first
	// derivatives along the k coordinates of the model to slope [k], and minus the second
	// derivatives to curvature [k·k]. Modes are then found without GoMLX graphs, which take a
	// hundred times longer for small tables. Expand and ModeStarts may be called from several
	// goroutines.
	Expand func(code []int32, theta, slope, curvature []float64) (logJoint float64)
	// ModeStarts returns n ≤ most points theta [n][D] near possible modes of a model, with inactive
	// coordinates 0, and log p(y, θ | m) at each.
	ModeStarts func(code []int32, most int) (theta [][]float64, logJoint []float64)
}

// Evidences computes or estimates log p(y | m) of single models, and draws parameters given a
// model. Its methods may be called from several goroutines. They return an error if they fail
// numerically, for example if a matrix is not positive definite or a quadrature does not converge.
type Evidences interface {
	// Exact reports whether evidences have errors of at most 1e-8 of the largest evidence, and
	// draws of parameters come from p(θ | y, m) itself.
	Exact() bool
	// Of returns the evidences of codes, including all constants. An estimate does not depend on
	// the order of calls: seed is the root of its random numbers.
	Of(ctx context.Context, codes [][]int32, seed uint64) ([]Evidence, error)
	// Parameters draws parameters n times from p(θ | y, m) of the given model. evidence is its
	// evidence so far, which the draws may improve.
	Parameters(code []int32, evidence Evidence, n int, random *rand.Rand) (Parameters, error)
}

// Parameters holds draws of the parameters of a model.
type Parameters struct {
	// Theta [n,D] holds the draws, with inactive coordinates 0. LogJoint is log p(y, θ | m) of each
	// draw. Weights holds the weights of the draws, whose sum is n.
	Theta             *mat.Dense
	LogJoint, Weights []float64
	// Evidence is the evidence of the model, improved by these draws. LogWeights holds the log
	// importance weights of the proposals from which the draws were taken, relative to the mean
	// weight. It is nil if draws are exact.
	Evidence   Evidence
	LogWeights []float64
}

// Total is the sum over all models.
type Total struct {
	// Count is the number of models allowed by the prior.
	Count int
	// LogEvidence is log Σ_m p(m) p(y | m) in nats, including all constants.
	LogEvidence float64
	// Codes holds the most probable models, at least one, and LogEvidences log p(y | m) of each.
	Codes        [][]int32
	LogEvidences []float64
}

// Exact computes evidences in closed form or by quadrature, for example of Gaussian regressions and
// linear Gaussian graphs.
type Exact interface {
	// LogEvidences returns log p(y | m) of each code.
	LogEvidences(ctx context.Context, codes [][]int32) ([]float64, error)
	// SampleParameters draws n times from p(θ | y, m) exactly: theta [n,D] with inactive
	// coordinates 0, and logDensity[i] = log p(θ_i | y, m).
	SampleParameters(code []int32, n int, random *rand.Rand) (theta *mat.Dense, logDensity []float64, err error)
}

// FromExact returns an Evidences that calls forms.
func FromExact(forms Exact) Evidences { return exact{forms} }

type exact struct{ forms Exact }

func (exact) Exact() bool { return true }

func (x exact) Of(ctx context.Context, codes [][]int32, _ uint64) ([]Evidence, error) {
	values, err := x.forms.LogEvidences(ctx, codes)
	if err != nil {
		return nil, err
	}
	known := apply.To(values, Closed)
	return known, nil
}

func (x exact) Parameters(code []int32, evidence Evidence, n int, random *rand.Rand) (Parameters, error) {
	theta, logDensity, err := x.forms.SampleParameters(code, n, random)
	if err != nil {
		return Parameters{}, err
	}
	floats.AddConst(evidence.Log, logDensity)
	return Parameters{Theta: theta, LogJoint: logDensity, Weights: slices.Repeat([]float64{1}, n), Evidence: evidence}, nil
}

// Proposer draws n times from an approximation of the posterior of a model, such as a t
// distribution around its mode: theta [n,D] with inactive coordinates 0, logJoint[i] = log p(y, θ_i
// | m) including all constants, and logProposal[i], the log density of the approximation. The tails
// of the approximation must be so heavy that the ratio of the densities is bounded. The mean weight
// of a few draws estimates the evidence of the model without bias, so that draws of models alone
// can be weighted, with one estimate for each model (Andrieu and Roberts 2009).
//
// It is for posteriors with one mode, for example from log-concave likelihoods. Weights of draws
// around one mode cannot show another mode.
type Proposer struct {
	// Propose makes the n draws theta and returns their two log densities.
	Propose func(code []int32, n int, random *rand.Rand) (theta *mat.Dense, logJoint, logProposal []float64, err error)
	// First is the number of draws behind the first estimate of an evidence; 0 stands for 8. A
	// model that this estimate finds improbable gets hardly any more draws.
	First int
}

// Exact reports false: evidences are estimates.
func (Proposer) Exact() bool { return false }

// firstDraws is the number of draws behind the first estimate of an evidence, and the least number
// of weighted draws among which draws of parameters are chosen. If nine tenths of the draws of the
// proposal are effective, the error of the estimate is a tenth of a nat, which is small compared
// with the error of the probability of a model that is drawn a few times.
const firstDraws = 8

// Of returns estimates from few draws, each from a separate random stream.
func (p Proposer) Of(ctx context.Context, codes [][]int32, seed uint64) ([]Evidence, error) {
	estimates := make([]Evidence, len(codes))
	return estimates, parallel.Do(len(codes), func(i int) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		random := stream.Rand(seed, "certify/evidence/"+space.Key(codes[i]))
		_, logJoint, logProposal, err := p.Propose(codes[i], max(p.First, firstDraws), random)
		if err != nil {
			return fmt.Errorf("evidence of model %v: %w", codes[i], err)
		}
		floats.Sub(logJoint, logProposal)
		estimates[i] = estimateOf(logJoint)
		return nil
	})
}

func estimateOf(logWeights []float64) Evidence {
	mean, se := psis.LogMeanExp(logWeights)
	return Estimated(mean, se, len(logWeights))
}

// Parameters draws from the approximation and weights the draws, which also improve the estimate of
// the evidence.
func (p Proposer) Parameters(code []int32, evidence Evidence, n int, random *rand.Rand) (Parameters, error) {
	proposals := max(n, firstDraws)
	theta, logJoint, logWeights, err := p.Propose(code, proposals, random)
	if err != nil {
		return Parameters{}, err
	}
	floats.SubTo(logWeights, logJoint, logWeights)
	fresh := estimateOf(logWeights)
	if !finite(fresh.Log) {
		return Parameters{}, fmt.Errorf("no draw of %d around the mode has weight", proposals)
	}
	floats.AddConst(-fresh.Log, logWeights)
	weights := make([]float64, proposals)
	for i, logWeight := range logWeights {
		weights[i] = math.Exp(logWeight)
	}
	d := Parameters{Evidence: evidence.With(fresh), LogWeights: logWeights}
	if n == proposals {
		d.Theta, d.LogJoint, d.Weights = theta, logJoint, weights
		return d, nil
	}
	_, dim := theta.Dims() // few draws whose weights are normalised by their own sum would hardly correct the proposal
	d.Theta, d.Weights = mat.NewDense(n, dim, nil), slices.Repeat([]float64{1}, n)
	for k, i := range weighted.Rows(weights, n, random) {
		d.Theta.SetRow(k, theta.RawRowView(i))
		d.LogJoint = append(d.LogJoint, logJoint[i])
	}
	return d, nil
}

package models

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/parallel"
	"github.com/transdim/vti/internal/psis"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/internal/weighted"
	"github.com/transdim/vti/rjmcmc"
	"github.com/transdim/vti/space"
)

// Known holds the functions of an application before any training. Every field may be nil.
type Known struct {
	// Evidences computes log p(y | m) of single models, in closed form or estimated.
	Evidences Evidences
	// Draws is the number of draws of parameters behind a certificate; 0 stands for 32,768.
	Draws int
	// Alone reports whether only Evidences may certify, because the graph is of a related problem.
	Alone bool
	// Sum sums over all models at once, much faster than one by one, for example by sharing factors
	// between models. ok is false, without an error, if the sum would be too much work, if numbers
	// fail, or if no list of models that fits in memory holds nearly all of the probability.
	// progress, if not nil, is called at intervals, never concurrently. Sum needs Evidences.
	Sum func(ctx context.Context, progress func(done, total int)) (total Total, ok bool, err error)
	// Together returns models that extend the model of code, or one near it, by two or three
	// members which have an effect only together, the most promising beyond fewer of these members.
	// Instead returns the most promising models without some or all of the members of the model:
	// several members can replace several others although every model in between is improbable.
	// Distributions over models, and chains that change one member at a time, would find neither,
	// because models in between can be less probable by a hundred nats.
	Together func(ctx context.Context, code []int32) (with, without [][]int32, err error)
	Instead  func(ctx context.Context, code []int32) (others [][]int32, err error)
	// BirthDeath is the posterior over models for a birth-death process that computes the odds of
	// every member at each step. It is for models of few items among thousands that can replace
	// each other, where no distribution for weights is near the posterior, and chains that propose
	// one item at a time hardly move. It needs Evidences.
	BirthDeath rjmcmc.Collapsed
	// Collapsed is the posterior over models and discrete latent variables, with the parameters
	// integrated out. With many latent variables, such as rows that may be outliers, each likely
	// set of their values is a mode of the parameters: more modes than a flow can learn or chains
	// over parameters can visit.
	Collapsed rjmcmc.Collapsed
	// Expand returns log p(y, θ | m) at θ [D] and, unless slope is nil, writes its slope [k] and
	// minus its second derivatives [k·k] along the k coordinates that the model uses, in order.
	// Modes are then found without graphs, which take a hundred times as long for small tables. It
	// may be called from several goroutines, as ModeStarts may.
	Expand func(code []int32, theta, slope, curvature []float64) (logJoint float64)
	// ModeStarts returns at most most points θ [n][D] of a model near possible modes, inactive
	// coordinates 0, and log p(y, θ | m) at each.
	ModeStarts func(code []int32, most int) (theta [][]float64, logJoint []float64)
}

// Evidences computes or estimates log p(y | m) of single models, and draws parameters given a
// model. Its methods may be called from several goroutines. They return an error where numbers
// fail: a matrix that is not positive definite, a quadrature that does not converge.
type Evidences interface {
	// Exact reports whether evidences are known to 1e-8 nats relative to the largest, and draws are
	// from p(θ | y, m).
	Exact() bool
	// Of returns the evidences of codes, all constants kept. An estimate does not depend on the
	// order of calls: seed is the root of its random numbers.
	Of(ctx context.Context, codes [][]int32, seed uint64) ([]Evidence, error)
	// Parameters draws n times from p(θ | y, m) of a model with the given evidence.
	Parameters(code []int32, evidence Evidence, n int, random *rand.Rand) (Parameters, error)
}

// Parameters are draws of the parameters of a model.
type Parameters struct {
	// Theta [n,D] has inactive coordinates 0, LogJoint is log p(y, θ | m), and Weights sum to n.
	Theta             *mat.Dense
	LogJoint, Weights []float64
	// Evidence is the evidence after these draws. LogWeights are the log weights of the proposals
	// behind the draws, over their mean; nil where draws are exact.
	Evidence   Evidence
	LogWeights []float64
}

// Total is the sum over all models.
type Total struct {
	// Count is the number of models allowed by the prior.
	Count int
	// LogEvidence is log Σ_m p(m) p(y | m) in nats, all constants kept.
	LogEvidence float64
	// Codes are the most probable models, at least one, and LogEvidences log p(y | m) of each.
	Codes        [][]int32
	LogEvidences []float64
}

// Exact computes evidences in closed form or by quadrature, as of Gaussian regressions and linear
// Gaussian graphs.
type Exact interface {
	// LogEvidences returns log p(y | m) of each code.
	LogEvidences(ctx context.Context, codes [][]int32) ([]float64, error)
	// SampleParameters draws n times from p(θ | y, m) exactly: theta [n,D] with inactive
	// coordinates 0, and logDensity[i] = log p(θ_i | y, m).
	SampleParameters(code []int32, n int, random *rand.Rand) (theta *mat.Dense, logDensity []float64, err error)
}

// FromExact returns the Evidences of closed forms.
func FromExact(forms Exact) Evidences { return exact{forms} }

type exact struct{ forms Exact }

func (exact) Exact() bool { return true }

func (x exact) Of(ctx context.Context, codes [][]int32, _ uint64) ([]Evidence, error) {
	values, err := x.forms.LogEvidences(ctx, codes)
	if err != nil {
		return nil, err
	}
	known := make([]Evidence, len(values))
	for i, value := range values {
		known[i] = Closed(value)
	}
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
// | m) with all constants kept, and logProposal[i], the log density of the approximation, whose
// tails must be so heavy that the ratio is bounded. The weights of a few draws estimate the
// evidence of the model without bias, so that answers can use models alone (Andrieu and Roberts
// 2009), each weighted once.
//
// It is for posteriors with one mode, as of log-concave likelihoods: weights of draws around one
// mode cannot show another.
type Proposer struct {
	Propose func(code []int32, n int, random *rand.Rand) (theta *mat.Dense, logJoint, logProposal []float64, err error)
	// First is the number of draws behind the first estimate of an evidence; 0: 8. A model
	// improbable after these gets hardly any more.
	First int
}

// Exact reports false: evidences are estimates.
func (Proposer) Exact() bool { return false }

// firstDraws is the number of draws behind the first estimate of an evidence, and the least for
// draws of parameters. Where the proposal loses a tenth of the draws the error of the estimate is a
// tenth of a nat: small compared with the error of a model drawn a few times.
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

// Parameters draws around the mode, which improves the estimate of the evidence.
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
	_, dim := theta.Dims() // normalised weights of few draws would equal the proposal
	d.Theta, d.Weights = mat.NewDense(n, dim, nil), slices.Repeat([]float64{1}, n)
	for k, i := range weighted.Rows(weights, n, random) {
		d.Theta.SetRow(k, theta.RawRowView(i))
		d.LogJoint = append(d.LogJoint, logJoint[i])
	}
	return d, nil
}

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

// Known is what an application knows of its models before anything is trained. Every field may be
// nil.
type Known struct {
	// Evidences are log p(y | m) of single models, in closed form or estimated.
	Evidences Evidences
	// Draws is the number of draws of parameters behind a certificate; 0 stands for 32,768.
	Draws int
	// Alone reports whether nothing but Evidences may certify: the density that is a graph is that
	// of a related problem, which only proposes models.
	Alone bool
	// Sum sums over all models at once, much faster than one by one, for example by sharing factors
	// between models. ok is false, without an error, if that would be too much work, if numbers
	// fail, or if no list of models that fits in memory holds nearly all of the probability.
	// progress, if not nil, is called from time to time, never concurrently. It needs Evidences.
	Sum func(ctx context.Context, progress func(done, total int)) (total Total, ok bool, err error)
	// Together returns models that extend the model of code, or one near it, by two or three
	// members which matter only together, and that promise most beyond what fewer of these members
	// add. Instead returns the most promising models without some or all of the members of the
	// model: several members can stand in for several others although every model in between is
	// improbable. Distributions over models, and chains that change one member at a time, would
	// find neither: the models in between can be less probable by a hundred nats.
	Together func(ctx context.Context, code []int32) (with, without [][]int32, err error)
	Instead  func(ctx context.Context, code []int32) (others [][]int32, err error)
	// BirthDeath is the posterior over models that a birth-death process keeps which knows the odds
	// of every member at each step: for models of few items among thousands that can stand in for
	// each other, where no distribution that weights could come from is near the posterior, and
	// chains that propose one item at a time hardly move. It needs Evidences.
	BirthDeath rjmcmc.Collapsed
	// Collapsed is the posterior over models and latent variables that are discrete, with the
	// parameters integrated out. Where there are many of these, as with rows that may be outliers,
	// each likely set of their values is a mode of the parameters: more than a flow can learn or
	// chains over parameters can visit.
	Collapsed rjmcmc.Collapsed
	// Expand returns log p(y, θ | m) at θ [D] and, unless slope is nil, writes its slope [k] and
	// minus its second derivatives [k·k] along the k coordinates that the model uses, in order.
	// Modes are then found without graphs, which take a hundred times as long for small tables. It
	// may be called from several goroutines, as ModeStarts may.
	Expand func(code []int32, theta, slope, curvature []float64) (logJoint float64)
	// ModeStarts returns at most so many points θ [n][D] of a model where modes may be, inactive
	// coordinates 0, and log p(y, θ | m) at each.
	ModeStarts func(code []int32, most int) (theta [][]float64, logJoint []float64)
}

// Evidences knows or estimates log p(y | m) of single models, and draws parameters given a model.
// Its methods may be called from several goroutines. They fail with an error where the numbers do:
// a matrix that is not positive definite, a quadrature that does not converge.
type Evidences interface {
	// Exact reports whether evidences are known to 1e-8 nats relative to the largest, and draws are
	// from p(θ | y, m).
	Exact() bool
	// Of returns those of codes, all constants kept. An estimate is the same whenever, and in
	// whatever order, models are looked at: seed is the root of its random numbers.
	Of(ctx context.Context, codes [][]int32, seed uint64) ([]Evidence, error)
	// Parameters draws n times from p(θ | y, m) of a model with the given evidence.
	Parameters(code []int32, own Evidence, n int, random *rand.Rand) (Parameters, error)
}

// Parameters are draws of the parameters of a model.
type Parameters struct {
	// Theta [n,D] has inactive coordinates 0, and LogJoint is log p(y, θ | m). Weights are those of
	// the draws, n in all.
	Theta             *mat.Dense
	LogJoint, Weights []float64
	// Evidence is what is known of the model then. LogWeights are those of the proposals behind the
	// draws, over their mean; nil where draws are exact.
	Evidence   Evidence
	LogWeights []float64
}

// Total is the sum over all models.
type Total struct {
	// Count is the number of models that the prior does not exclude.
	Count int
	// LogEvidence is log Σ_m p(m) p(y | m) in nats, all constants kept.
	LogEvidence float64
	// Codes are the most probable models, at least one, and LogEvidences log p(y | m) of each.
	Codes        [][]int32
	LogEvidences []float64
}

// Exact are evidences in closed form or by quadrature, as of Gaussian regressions and linear
// Gaussian graphs.
type Exact interface {
	// LogEvidences returns log p(y | m) of each code.
	LogEvidences(ctx context.Context, codes [][]int32) ([]float64, error)
	// SampleParameters draws n times from p(θ | y, m) exactly: theta [n,D] with inactive
	// coordinates 0, and logDensity[i] = log p(θ_i | y, m).
	SampleParameters(code []int32, n int, random *rand.Rand) (theta *mat.Dense, logDensity []float64, err error)
}

// FromExact are the evidences of closed forms.
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

func (x exact) Parameters(code []int32, own Evidence, n int, random *rand.Rand) (Parameters, error) {
	theta, logDensity, err := x.forms.SampleParameters(code, n, random)
	if err != nil {
		return Parameters{}, err
	}
	floats.AddConst(own.Log, logDensity)
	return Parameters{Theta: theta, LogJoint: logDensity, Weights: slices.Repeat([]float64{1}, n), Evidence: own}, nil
}

// Proposer draws n times from an approximation of the posterior of a model, such as a t
// distribution around its mode: theta [n,D] with inactive coordinates 0, logJoint[i] = log p(y, θ_i
// | m) with all constants kept, and logProposal[i], the log density of the approximation, whose
// tails must be so heavy that the ratio is bounded. The weights of a few draws estimate the
// evidence of the model without bias, so that answers can go over models alone (Andrieu and Roberts
// 2009), each weighted once.
//
// It is for posteriors with one mode, as of log-concave likelihoods: weights of draws around one
// mode cannot show another.
type Proposer struct {
	Propose func(code []int32, n int, random *rand.Rand) (theta *mat.Dense, logJoint, logProposal []float64, err error)
	// First is the number of draws behind the first estimate of an evidence; 0: 8. A model that
	// these make improbable gets hardly any more.
	First int
}

// Exact reports that evidences are estimates.
func (Proposer) Exact() bool { return false }

// firstDraws are behind the first estimate of an evidence, and the least that are made for draws of
// parameters. Where a tenth of the draws is lost to the proposal the error of the estimate is a
// tenth of a nat: small compared with that of a model which is drawn a few times. Chosen by hand.
const firstDraws = 8

// Of returns estimates from few draws, each from a random stream of its own.
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

// estimateOf is log of the mean of weights.
func estimateOf(logWeights []float64) Evidence {
	mean, se := psis.LogMeanExp(logWeights)
	return Estimated(mean, se, len(logWeights))
}

// Parameters draws around the mode, which adds to what is known of the evidence.
func (p Proposer) Parameters(code []int32, own Evidence, n int, random *rand.Rand) (Parameters, error) {
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
	d := Parameters{Evidence: own.With(fresh), LogWeights: logWeights}
	if n == proposals {
		d.Theta, d.LogJoint, d.Weights = theta, logJoint, weights
		return d, nil
	}
	_, dim := theta.Dims() // weights of few draws, over their sum, would be those of the proposal
	d.Theta, d.Weights = mat.NewDense(n, dim, nil), slices.Repeat([]float64{1}, n)
	for k, i := range weighted.Rows(weights, n, random) {
		d.Theta.SetRow(k, theta.RawRowView(i))
		d.LogJoint = append(d.LogJoint, logJoint[i])
	}
	return d, nil
}

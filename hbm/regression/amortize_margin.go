package regression

import (
	gocontext "context"
	"fmt"
	"math"

	"github.com/transdim/vti/hbm"
	"github.com/transdim/vti/internal/integrate"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/internal/verdict"
	"github.com/transdim/vti/run"
)

// marginEffort says how many draws of the hyperparameters are made: of an amortized family, and at
// most of a proposal refined from these, as many at first and then twice as many, until the log
// evidence has the error that is wanted and marginESS of the draws are effective.
type marginEffort struct {
	first, most int
	se          float64
}

// Numbers of draws, chosen by hand: means to 0.02 of a standard deviation. Those of a response that
// is not gaussian find modes for each, so that those of the family are no more than a proposal can
// be refined from; glancedDraws of them tell where the effects are.
const (
	marginDraws     = 1 << 12
	marginMostDraws = 1 << 16
	marginESS       = 1 << 11
	weighedDraws    = 1 << 9
	glancedDraws    = 1 << 4
)

// marginEffort is what an answer with effects integrated out takes.
func (r *Regression) marginEffort() marginEffort {
	if r.integrable() {
		return marginEffort{marginDraws, marginMostDraws, r.effort().se}
	}
	return marginEffort{weighedDraws, r.mostLaplaceDraws(), laplaceSE}
}

// marginal reports whether the effects of a table that a family was trained for are integrated out
// given hyperparameters, which the family has.
func (r *Regression) marginal() bool {
	return (r.integrable() || r.weighable()) && len(r.hyperparameters(r.space.masks[0])) > 0
}

// weighMargin weighs draws of the hyperparameters from a family by the integral over all effects
// given them: what the family has learned of the effects has no part in the answer, and what it
// misses of them none in the weights. Where the weights do not suffice, a proposal is refined from
// these draws, and its draws are weighed alone.
func (p *PlateModel) weighMargin(ctx gocontext.Context, posterior *hbm.Posterior, seed uint64) (*integral, error) {
	r := p.regression
	m := &modelIntegral{code: make([]int32, len(r.space.cards)), mask: r.space.masks[0]}
	m.free = r.hyperparameters(m.mask)
	effort := r.marginEffort()
	var err error
	if m.sample, err = p.marginSample(ctx, posterior, m, effort.first); err != nil {
		return nil, err
	}
	found := &integral{models: []*modelIntegral{m}}
	problem := r.marginProblem(found, seed)
	if err := m.evaluate(ctx, problem.LogDensity); err != nil {
		return nil, err
	}
	for {
		c := r.certificateOf(found.models, []float64{0})
		enough := c.LogEvidenceSE <= effort.se && c.ESS >= marginESS && c.Missed() <= verdict.DoubtfulMissed
		more := len(m.sample.Points)
		switch {
		case enough || m.proposal != nil && more >= effort.most:
			found.certificate, found.draws = c, drawsOf(found.models, c)
			return found, nil
		case m.proposal == nil:
			if m.proposal, err = integrate.From(ctx, problem, m.sample, stream.Rand(seed, "hbm/margin")); err != nil {
				return nil, err
			}
			if m.proposal == nil {
				return nil, fmt.Errorf("%s: no draw of the family has a density in this table", r.Frame.Path)
			}
			m.sample, m.outer, m.kept = &integrate.Sample{}, nil, nil
		}
		if err := m.extend(ctx, more, stream.Rand(seed, fmt.Sprintf("hbm/margin/%d", more))); err != nil {
			return nil, err
		}
	}
}

// marginSample are n draws of the hyperparameters of a model from a family, without their densities
// in the table.
func (p *PlateModel) marginSample(ctx gocontext.Context, posterior *hbm.Posterior, m *modelIntegral, n int) (*integrate.Sample, error) {
	r := p.regression
	var of []*hbm.Variable
	for _, j := range m.free {
		of = append(of, p.globals[j])
	}
	draws, err := posterior.Margin(ctx, of, n, "start")
	if err != nil {
		return nil, err
	}
	s := &integrate.Sample{Points: draws.Unconstrained}
	for i, h := range draws.Unconstrained {
		// by the coordinates, as the density is: the same Jacobian is in both densities of a draw
		logPrior := r.logPriorOfHyperparameters(m.mask, m.at(h, make([]float64, r.Dim())))
		s.LogProposal = append(s.LogProposal, draws.LogQ[i]-draws.LogPrior[i]+logPrior)
	}
	return s, nil
}

// marginProblem is the integral over the hyperparameters of the model in found, from a sample of
// which it may be refined. Where effects are not integrated out in closed form the model estimates
// its density, by draws of the outer effects from their Laplace approximation, with the inner ones
// integrated out (see laplaceEffects).
func (r *Regression) marginProblem(found *integral, seed uint64) integrate.Problem {
	m := found.models[0]
	at := func(h []float64) []float64 { return m.at(h, make([]float64, r.Dim())) }
	if r.integrable() {
		found.effects = r.joint()
		return r.problem(m, func(h []float64) float64 { return found.effects.logMarginal(m.mask, at(h)) })
	}
	l, best := newLaplaceEffects(r.distinct()), &highest{value: math.Inf(-1), theta: make([]float64, r.Dim())}
	for _, h := range m.sample.Points[:glancedDraws] {
		best.see(l.logMarginal(m.mask, at(h)), at(h))
	}
	effects := l.near(m, best.theta, seed).effects
	problem := r.problem(m, func(h []float64) float64 { return effects.logMarginal(m.mask, at(h)) })
	problem.PerRound = laplacePerRound * (len(m.free) + 1)
	return problem
}

// answerMargin is answer by weighMargin.
func (p *PlateModel) answerMargin(ctx gocontext.Context, posterior *hbm.Posterior, result *Result, clock *run.Clock) error {
	r := p.regression
	elbo, _, err := posterior.ELBO(ctx, elboDraws, "elbo")
	if err != nil {
		return err
	}
	found, err := p.weighMargin(ctx, posterior, *result.Seed)
	if err != nil {
		return err
	}
	result.ELBO, result.Steps, result.Weights = figure(elbo+r.logJacobian), posterior.Steps(), posterior.Weights()
	fill := r.fillExact
	if !r.integrable() {
		fill = r.fillWeighed
	}
	sample, err := fill(ctx, found, result)
	if err != nil {
		return err
	}
	r.lowerUnlike(result, sample)
	clock.Certified()
	result.Seconds = clock.Seconds()
	return r.writeResult(result, sample)
}

// fillExact is fillWeighed for a gaussian response, beside integrals that know nothing of the
// family.
func (r *Regression) fillExact(ctx gocontext.Context, found *integral, result *Result) (*posteriorSample, error) {
	c, seed := found.certificate, *result.Seed
	var err error
	if found.moments, err = r.moments(ctx, found.effects, found.draws, seed); err != nil {
		return nil, err
	}
	sample, err := r.drawExactly(ctx, found, seed)
	if err != nil {
		return nil, err
	}
	r.fill(result, c, sample)
	if err := r.compareExact(ctx, c.ESS, result); err != nil {
		return nil, err
	}
	result.ModelCheck, err = r.checkModel(ctx, sample, seed)
	return sample, err
}

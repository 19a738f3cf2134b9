package regression

import (
	gocontext "context"
	"fmt"

	"github.com/transdim/vti"
	"github.com/transdim/vti/hbm"
	"github.com/transdim/vti/internal/integrate"
	"github.com/transdim/vti/internal/psis"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/internal/verdict"
	"github.com/transdim/vti/modelcheck"
	"github.com/transdim/vti/run"
)

// Draws of the hyperparameters: of an amortized family, and at most those of a proposal refined
// from them; they double until the log evidence has the error that is wanted, and the sample so
// many effective ones.
const (
	marginDraws     = 1 << 12
	marginMostDraws = 1 << 16
	marginESS       = 1 << 11
)

// weighMargin weighs draws of the hyperparameters of a gaussian response from a family by the
// integral over all effects given them: what the family has learned of the effects has no part in
// the answer, and what it misses of them none in the weights. Where the weights do not suffice, a
// proposal is refined from these draws, and its draws are weighed alone.
func (p *PlateModel) weighMargin(ctx gocontext.Context, posterior *hbm.Posterior, seed uint64) (*integral, error) {
	r := p.regression
	m := &modelIntegral{code: make([]int32, len(r.space.cards)), mask: r.space.masks[0], sample: &integrate.Sample{}}
	m.free = r.hyperparameters(m.mask)
	var of []*hbm.Variable
	for _, j := range m.free {
		of = append(of, p.globals[j])
	}
	found := &integral{effects: r.joint(), models: []*modelIntegral{m}}
	logDensity := func(h []float64) float64 {
		return found.effects.logMarginal(m.mask, m.at(h, make([]float64, r.Dim())))
	}
	draws, err := posterior.Margin(ctx, of, marginDraws, "start")
	if err != nil {
		return nil, err
	}
	for i, h := range draws.Unconstrained {
		theta := m.at(h, make([]float64, r.Dim()))
		m.sample.Points = append(m.sample.Points, h)
		m.sample.LogDensity = append(m.sample.LogDensity, logDensity(h))
		// by the coordinates, as the density is: the same Jacobian is in both densities of a draw
		m.sample.LogProposal = append(m.sample.LogProposal, draws.LogQ[i]-draws.LogPrior[i]+r.logPriorOfHyperparameters(m.mask, theta))
	}
	m.weights = psis.Smooth(m.sample.LogWeights())
	for {
		c := r.certificateOf(found.models, []float64{0})
		enough := c.LogEvidenceSE <= r.effort().se && c.ESS >= marginESS && missed(c) <= verdict.DoubtfulMissed
		more := len(m.sample.Points)
		switch {
		case enough || m.proposal != nil && more >= marginMostDraws:
			found.certificate, found.draws = c, drawsOf(found.models, c)
			found.moments, err = r.moments(ctx, found.effects, found.draws, seed)
			return found, err
		case m.proposal == nil:
			problem := r.problem(m, logDensity)
			if m.proposal, err = integrate.From(ctx, problem, m.sample, stream.Rand(seed, "hbm/margin")); err != nil {
				return nil, err
			}
			if m.proposal == nil {
				return nil, fmt.Errorf("%s: no draw of the family has a density in this table", r.Frame.Path)
			}
			m.sample = &integrate.Sample{}
		}
		if err := m.extend(ctx, more, stream.Rand(seed, fmt.Sprintf("hbm/margin/%d", more))); err != nil {
			return nil, err
		}
	}
}

// answerMargin is answer for a gaussian response by weighMargin.
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
	c := found.certificate
	judge(c)
	result.ELBO, result.Steps, result.Weights = figure(elbo+r.logJacobian), posterior.Steps(), posterior.Weights()
	sample, err := r.drawExactly(ctx, found, *result.Seed)
	if err != nil {
		return err
	}
	r.fill(result, c, sample)
	if err := r.compareExact(ctx, c.ESS, result); err != nil {
		return err
	}
	if result.ModelCheck, err = r.checkModel(ctx, sample, *result.Seed); err != nil {
		return err
	}
	if check := result.ModelCheck; check != nil && check.Verdict == modelcheck.Poor && result.Certificate.Verdict == vti.Trusted {
		j := verdict.Judgement{Verdict: result.Certificate.Verdict, Reasons: result.Certificate.Reasons}
		j.Lower(verdict.Doubtful, "the table is unlike those that were simulated for training: the model check is poor")
		result.Certificate.Verdict, result.Certificate.Reasons = j.Verdict, j.Reasons
	}
	clock.Certified()
	result.Seconds = clock.Seconds()
	return r.writeResult(result, sample)
}

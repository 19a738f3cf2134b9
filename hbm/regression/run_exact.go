package regression

import (
	"cmp"
	gocontext "context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/integrate"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/psis"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/internal/verdict"
	"github.com/transdim/vti/models"
	"github.com/transdim/vti/run"
)

// integral is the posterior by integrals over the hyperparameters of every model.
type integral struct {
	effects     *jointEffects
	models      []*modelIntegral
	certificate *vti.Certificate // without a sample; models in the order of models
	draws       *integralDraws
	moments     *momentDraws
}

// integralDraws are all weighted draws of all models together.
type integralDraws struct {
	models       []*modelIntegral
	weight       []float64
	model, place []int // of each draw, and its place in the sample of the model
}

// drawsOf collects the draws that have weight.
func drawsOf(models []*modelIntegral, c *vti.Certificate) *integralDraws {
	d := &integralDraws{models: models}
	for k, m := range models {
		total := logsum.Of(m.weights.LogWeights)
		for i, l := range m.weights.LogWeights {
			if w := c.Models[k].Certified * math.Exp(l-total); w > 0 {
				d.weight, d.model, d.place = append(d.weight, w), append(d.model, k), append(d.place, i)
			}
		}
	}
	return d
}

// integrate finds the evidence of every model that the prior allows: effects are integrated out in
// closed form, and hyperparameters by importance sampling. Draws are added until evidences and
// moments are known well, or there are as many as may be, or the time is over.
func (r *Regression) integrate(ctx gocontext.Context, e effort, seed uint64, progress func(done, total int)) (*integral, error) {
	effects, neighbours := r.joint(), map[string]*integrate.Proposal{} // by the hyperparameters
	var models []*modelIntegral
	var logPrior []float64
	for index, code := range r.codes() {
		if math.IsInf(r.space.logPrior[index], -1) {
			continue
		}
		m := &modelIntegral{code: code, mask: r.space.masks[index], sample: &integrate.Sample{}}
		m.free = r.hyperparameters(m.mask)
		models, logPrior = append(models, m), append(logPrior, r.space.logPrior[index])
		if len(m.free) == 0 {
			logDensity := effects.logMarginal(m.mask, make([]float64, r.Dim()))
			m.sample = &integrate.Sample{Points: [][]float64{nil}, LogDensity: []float64{logDensity}, LogProposal: []float64{0}}
			m.weights = psis.Result{LogWeights: []float64{logDensity}, ESS: exactESS, LogMean: logDensity, N: 1}
			continue
		}
		if !e.sharp {
			m.keep(effects, seed)
		}
		of := fmt.Sprint(m.free)
		var err error
		if near := neighbours[of]; near != nil && r.sticks(m.mask) == 0 { // whose modes may be elsewhere
			m.pilot = true
			m.proposal = near.For(func(h []float64) float64 { return effects.logMarginal(m.mask, m.at(h, make([]float64, r.Dim()))) })
			err = m.extend(ctx, e.pilot, stream.Rand(seed, fmt.Sprintf("hbm/pilot/%v", code)))
		} else if err = r.adapt(ctx, m, e.problem(len(m.free)), effects.logMarginal, e.first, seed); e.pilot > 0 {
			neighbours[of] = m.proposal
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.FormulaOf(code), err)
		}
	}
	for k, estimate := range r.certificateOf(models, logPrior).Models {
		if m := models[k]; m.pilot && mayMatter(estimate) {
			m.begin()
			if err := r.adapt(ctx, m, e.problem(len(m.free)), effects.logMarginal, e.first, seed); err != nil {
				return nil, fmt.Errorf("%s: %w", r.FormulaOf(m.code), err)
			}
		}
	}
	for round := 0; ; round++ {
		found := &integral{effects: effects, models: models, certificate: r.certificateOf(models, logPrior)}
		c := found.certificate
		more := r.mostUncertain(models, c, e.most)
		if e.late() {
			more = nil
		}
		if len(more) == 0 || c.LogEvidenceSE <= e.se && c.ESS >= e.ess && c.KHat <= psis.Reliable && c.Missed() <= verdict.DoubtfulMissed {
			found.draws = drawsOf(models, c)
			var err error
			if found.moments, err = r.moments(ctx, effects, found.draws, seed); err != nil {
				return nil, err
			}
			if len(more) == 0 || !e.sharp || found.moments == nil || found.moments.sharp(r.effectCount()+len(r.sdNames())) {
				return found, nil
			}
		}
		for _, k := range more {
			m := models[k]
			more := len(m.sample.Points)
			if m.mend() {
				more *= 2 // all of them anew
			}
			if !e.sharp {
				more /= 2 // dear
			}
			random := stream.Rand(seed, fmt.Sprintf("hbm/integrate/%v/%d", m.code, round))
			if err := m.extend(ctx, more, random); err != nil {
				return nil, err
			}
		}
		if progress != nil {
			progress(r.certificateOf(models, logPrior).Draws, e.most)
		}
	}
}

// adapt finds the proposal of a model by its log density, as a problem without one says, and makes
// its first draws. A model without hyperparameters needs no proposal.
func (r *Regression) adapt(ctx gocontext.Context, m *modelIntegral, problem integrate.Problem, logDensity func(mask []bool, theta []float64) float64, draws int, seed uint64) error {
	random := stream.Rand(seed, fmt.Sprintf("hbm/adapt/%v", m.code))
	if len(m.free) == 0 {
		return m.extend(ctx, draws, random)
	}
	own := r.problem(m, func(h []float64) float64 { return logDensity(m.mask, m.at(h, make([]float64, r.Dim()))) })
	problem.Centre, problem.Width, problem.LogDensity, problem.LogScales = own.Centre, own.Width, own.LogDensity, own.LogScales
	var err error
	if m.proposal, err = integrate.Adapt(ctx, problem, random); err != nil {
		return err
	}
	return m.extend(ctx, draws, random)
}

// problem is the integral over the hyperparameters of a model of a log density.
func (r *Regression) problem(m *modelIntegral, logDensity func(h []float64) float64) integrate.Problem {
	p := integrate.Problem{Centre: make([]float64, len(m.free)), Width: make([]float64, len(m.free)), LogDensity: logDensity, LogScales: r.logScales(m)}
	for i, j := range m.free {
		// of the map of a standard deviation: from a hundredth of its scale to twice that
		p.Width[i] = 2
		if c := r.coordinates[j]; c.sd > 0 {
			p.Centre[i], p.Width[i] = c.mean, c.sd
		}
	}
	return p
}

// logScales are the logarithms of the standard deviations among the hyperparameters of a model:
// the posterior variances of effects and of themselves are in proportion to their squares. Those
// whose prior has no second moment are left out, as a posterior of few groups has none either.
func (r *Regression) logScales(m *modelIntegral) func(h []float64) []float64 {
	var places []int
	for i, j := range m.free {
		c := r.coordinates[j]
		if c.kind == noiseCoordinate || c.kind == sdCoordinate && c.prior != HalfCauchySD {
			places = append(places, i)
		}
	}
	if len(places) == 0 {
		return nil
	}
	return func(h []float64) []float64 {
		scales := make([]float64, len(places))
		for k, i := range places {
			if scales[k] = h[i]; r.coordinates[m.free[i]].kind == sdCoordinate {
				scales[k], _ = scaleRatio(h[i])
			}
		}
		return scales
	}
}

// mostUncertain lists the models that more draws help most: those whose part of the error of the
// log evidence, or of the inverse of the effective size, is at least half of the largest, as long
// as they may have more.
func (r *Regression) mostUncertain(models []*modelIntegral, c *vti.Certificate, most int) (list []int) {
	parts := make([]float64, len(models))
	for k, m := range models {
		estimate := &c.Models[k]
		if (m.proposal != nil || m.estimate != nil) && len(m.sample.Points) < most {
			parts[k] = estimate.Certified * math.Max(estimate.LogEvidenceSE, 1/math.Sqrt(math.Max(m.weights.ESS, 1)))
			if math.IsNaN(parts[k]) {
				parts[k] = 1
			}
		}
	}
	largest := slices.Max(parts)
	for k, part := range parts {
		if part > 0 && part >= largest/2 {
			list = append(list, k)
		}
	}
	return list
}

// A model may matter if it may have more than notableModel of the probability by its error; an
// evidence whose k̂ is unreliable may be too small by hiddenEvidence nats. Chosen by hand.
const (
	notableModel   = 1e-3
	hiddenEvidence = 4
)

// mayMatter reports whether a model may have a part in the answer, by the draws so far.
func mayMatter(m vti.ModelEstimate) bool {
	highest := math.Log(m.Certified) + 3*m.LogEvidenceSE
	if m.KHat > verdict.DoubtfulKHat {
		highest += hiddenEvidence
	}
	return highest > math.Log(notableModel) || math.IsNaN(highest)
}

// certificateOf is what is known from the draws so far, with models in their order here, and
// without a sample.
func (r *Regression) certificateOf(list []*modelIntegral, logPrior []float64) *vti.Certificate {
	codes, evidence := make([][]int32, len(list)), make([]models.Evidence, len(list))
	for k, m := range list {
		codes[k], evidence[k] = m.code, models.FromWeights(m.weights)
	}
	return vti.CertificateOf(codes, logPrior, evidence)
}

// runExact is [Regression.Run] where nothing needs to be trained.
func (r *Regression) runExact(ctx gocontext.Context, device *gpu.Device, cfg Run) (*Result, error) {
	clock, started := run.NewClock(), time.Now()
	cfg.say("effects are integrated out: draws of standard deviations around their mode")
	found, err := r.integrate(ctx, r.effort().asked(cfg, started), cfg.Fit.Seed, cfg.Certify.Progress)
	if err != nil {
		return nil, err
	}
	c := found.certificate
	clock.Certified()
	sample, err := r.drawExactly(ctx, found, cfg.Fit.Seed)
	if err != nil {
		return nil, err
	}
	if sample.rough > verdict.DoubtfulMissed {
		verdict.Lower(&c.Verdict, &c.Reasons, verdict.Doubtful, "the noise is so small compared with the effects that rounding changes the log density of %.0f%% of the draws by more than %g", 100*sample.rough, roughRounding)
	}
	sortModels(c)
	result := r.newResult(device, cfg.Fit.Seed, MarginalFamily, cfg.Dir)
	result.Integration = ClosedForm
	r.fill(result, c, sample)
	if result.ModelCheck, err = r.checkModel(ctx, sample, cfg.Fit.Seed); err != nil {
		return nil, err
	}
	result.Seconds = clock.Seconds()
	return result, r.writeResult(result, sample)
}

// sortModels puts the most probable models first.
func sortModels(c *vti.Certificate) {
	slices.SortStableFunc(c.Models, func(a, b vti.ModelEstimate) int { return cmp.Compare(b.Certified, a.Certified) })
}

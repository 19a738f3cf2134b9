package regression

import (
	"cmp"
	gocontext "context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/hbm"
	"github.com/transdim/vti/run"
)

// selectionDraws is the number of draws in a training step of a selection, relative to a step of a
// single model: each of several models gets only a part of the draws. Half and twice this value
// give the same answers (docs/benchmarks/constants.md). Of twelve models, two have 0.3 and 0.5
// percent of their draws effective with the value 1, and 0.9 and 1.0 percent with the value 7.
const selectionDraws = 4

// openedDraws is the number of draws for an answer by a family that was trained on simulated
// tables. Standard deviations then have errors of 3 percent, in about a second.
const openedDraws = 4000

// selected is a selection of terms as a vti.Target, whose flow is a family of package hbm over the
// model with plates (groupings and rows).
type selected struct {
	*PlateModel
	target *hbm.Target
	fit    vti.Config
}

// selection sets up a selection of terms by a family. No draws begin after the time until, unless
// it is zero. With cfg.Amortize the device simulates the tables of training; a nil device is for
// answers without training.
func (p *PlateModel) selection(device *gpu.Device, cfg hbm.Config, until time.Time) (*selected, error) {
	if cfg.Family == hbm.Joint {
		return nil, fmt.Errorf("family %v is of one model: to select terms use %v or %v", cfg.Family, hbm.PAVIF, hbm.Branch)
	}
	cfg.Products, cfg.Thin = true, cfg.Amortize > 0
	models := p.space()
	target, err := p.Model.Over(models, models.logProb, p.Data)
	if err != nil {
		return nil, err
	}
	target.LogConcave = true // at least nearly: no second mode that matters is known, see Target.Unimodal
	if cfg.Thin && device != nil {
		if cfg.Simulate, err = p.simulator(device, target); err != nil {
			return nil, err
		}
	}
	train, resume := cfg.Until, cfg.Resume
	cfg.Until, cfg.Resume = until, false
	flow, err := target.Family(cfg)
	if err != nil {
		return nil, err
	}
	most := 1
	for _, g := range p.groups {
		most = max(most, len(g.Levels))
	}
	return &selected{p, target, vti.Config{
		Backbone: flow, Until: train, Steps: cfg.Steps, Seed: cfg.Seed, DType: cfg.DType, Resume: resume, LogEvery: cfg.LogEvery, Progress: cfg.Progress,
		Batch: selectionDraws * cmp.Or(cfg.Draws, hbm.DefaultDraws(most)),
	}}, nil
}

// runSelection implements RunFamily for a selection of terms, as a vti.Target with a model for each
// choice of terms. With Amortize the model with plates has more rows than the table of r.
func (r *Regression) runSelection(ctx gocontext.Context, device *gpu.Device, plates *PlateModel, cfg FamilyRun, fit hbm.Config, training *run.Training, clock *run.Clock) (*Result, error) {
	s, err := plates.selection(device, fit, cfg.Certify.Until)
	if err != nil {
		return nil, errors.Join(err, training.End(nil))
	}
	if cfg.Fit.Amortize > 0 {
		trained, err := vti.Fit(ctx, device, s.target, training.Configure(s.fit, 0))
		if err = training.End(err); err != nil {
			return nil, err
		}
		clock.Trained()
		result := r.newResult(device, cfg.Fit.Seed, cfg.Fit.Family.String(), cfg.Dir)
		sample, err := r.openSelection(ctx, device, trained.Beginning(), cfg, r.nesting(), result)
		if err != nil {
			return nil, err
		}
		result.Steps = trained.Steps()
		return result, r.finishFamily(ctx, result, sample, clock)
	}
	answer, err := training.Ask(ctx, device, s.target, clock, run.Question{
		Fit: training.Configure(s.fit, r.logJacobian), Certify: vti.CertifyConfig{Draws: cfg.Certify.Draws, Until: cfg.Certify.Until, NoChains: true}, Status: cfg.Status,
	})
	if err != nil {
		return nil, err
	}
	c := answer.Certificate
	result := r.newResult(device, cfg.Fit.Seed, cfg.Fit.Family.String(), cfg.Dir)
	if !math.IsNaN(training.Loss()) {
		result.ELBO = new(Figure(-training.Loss()))
	}
	result.Steps, result.Weights, result.Work = answer.Posterior.Steps(), answer.Posterior.Weights(), answer.Work
	sample, err := s.fill(ctx, device, c, result)
	if err != nil {
		return nil, err
	}
	return result, r.finishFamily(ctx, result, sample, clock)
}

// fill writes a certificate to a result, and returns draws in the units of the table.
func (s *selected) fill(ctx gocontext.Context, device *gpu.Device, c *vti.Certificate, result *Result) (*posteriorSample, error) {
	values, err := s.target.Draws(device, &c.Sample)
	if err != nil {
		return nil, err
	}
	sample, err := s.sample(ctx, values, c.Sample.Codes, c.Sample.Weight, c.ESS, *result.Seed)
	if err != nil {
		return nil, err
	}
	return sample, s.regression.fill(ctx, result, c, sample)
}

// openSelection writes the answer of a family that was trained on simulated tables to a result, and
// returns its draws. The argument above is the nesting of groupings.
func (r *Regression) openSelection(ctx gocontext.Context, device *gpu.Device, beginning *vti.Beginning, cfg FamilyRun, above [][]int, result *Result) (*posteriorSample, error) {
	plates, err := r.amortized(above)
	if err != nil {
		return nil, err
	}
	s, err := plates.selection(nil, cfg.Fit, cfg.Certify.Until)
	if err != nil {
		return nil, err
	}
	s.fit.Begin, s.fit.Seed, s.fit.Resume = beginning, *result.Seed, false
	posterior, err := vti.Open(ctx, device, s.target, s.fit)
	if err != nil {
		return nil, err
	}
	c, err := posterior.Certify(ctx, vti.CertifyConfig{Draws: cmp.Or(cfg.Certify.Draws, openedDraws), Until: cfg.Certify.Until, NoChains: true})
	if err != nil {
		return nil, err
	}
	result.Weights = posterior.Weights()
	return s.fill(ctx, device, c, result)
}

package regression

import (
	"cmp"
	gocontext "context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/hbm"
	"github.com/transdim/vti/internal/budget"
	"github.com/transdim/vti/internal/rundir"
	"github.com/transdim/vti/run"
)

// selectionDraws is the number of draws in a step relative to a single model, as each model has a
// share of them. Chosen by hand: in two of twelve models 0.3 and 0.5 percent of the draws were
// effective with the draws of a single model, 0.9 and 1.0 with seven times their number.
const selectionDraws = 4

// selected is a selection of terms as a Target, with a family of plates as its flow.
type selected struct {
	*PlateModel
	target *hbm.Target
	fit    vti.Config
}

// selection sets up a selection of terms by a family. Draws end at until, unless zero.
func (p *PlateModel) selection(family hbm.Family, cfg hbm.Config, until time.Time) (*selected, error) {
	if family == hbm.Joint {
		return nil, fmt.Errorf("family %v is of one model: to select terms use %v or %v", family, hbm.PAVIF, hbm.Branch)
	}
	cfg.Family, cfg.Products = family, true
	models := p.space()
	target, err := p.Model.Over(models, models.logProb, p.Data)
	if err != nil {
		return nil, err
	}
	target.LogConcave = true // or nearly, as Target.Unimodal says
	train := cfg.Until
	cfg.Until = until
	flow, err := target.Family(cfg)
	if err != nil {
		return nil, err
	}
	most := 1
	for _, g := range p.groups {
		most = max(most, len(g.Levels))
	}
	return &selected{p, target, vti.Config{
		Backbone: flow, Until: train, Steps: cfg.Steps, Seed: cfg.Seed, DType: cfg.DType, Resume: cfg.Resume, LogEvery: cfg.LogEvery, Progress: cfg.Progress,
		Batch: selectionDraws * cmp.Or(cfg.Draws, hbm.DefaultDraws(most)),
	}}, nil
}

// selection returns the selection of a run.
func (r *Regression) selection(cfg FamilyRun) (*selected, error) {
	if cfg.Fit.Amortize > 0 {
		return nil, fmt.Errorf("terms are selected in one table: with --amortize leave out --select")
	}
	if err := r.CheckFamily(cfg.Fit.Family, cfg.Members); err != nil {
		return nil, err
	}
	plates, err := r.Plates()
	if err != nil {
		return nil, err
	}
	cfg.Fit.Batch = plates.batch(cfg.Members)
	return plates.selection(cfg.Fit.Family, cfg.Fit, cfg.Certify.Until)
}

// runSelection is RunFamily for a selection of terms, as a Target with a model for each selection.
func (r *Regression) runSelection(ctx gocontext.Context, device *gpu.Device, cfg FamilyRun) (*Result, error) {
	clock, limit := run.NewClock(), budget.Start(cfg.MaxTime)
	cfg.Fit.Until, cfg.Certify.Until = limit.End(budget.FamilyTraining), limit.End(budget.Whole)
	s, err := r.selection(cfg)
	if err != nil {
		return nil, err
	}
	training, err := run.StartTraining(cfg.Dir, cfg.Fit.Resume)
	if err != nil {
		return nil, err
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
		result.ELBO = figure(-training.Loss())
	}
	result.Steps, result.Weights, result.Work = answer.Posterior.Steps(), answer.Posterior.Weights(), answer.Work
	values, err := s.target.Draws(device, &c.Sample)
	if err != nil {
		return nil, err
	}
	sample, err := s.sample(ctx, plateDraws{values, c.Sample.Codes, c.Sample.Weight}, c.ESS, cfg.Fit.Seed)
	if err != nil {
		return nil, err
	}
	r.fill(result, c, sample)
	return result, r.finishFamily(ctx, result, sample, c.ESS, clock)
}

// checkSelection is CheckFamilyCheckpoint for a selection of terms.
func (r *Regression) checkSelection(device *gpu.Device, cfg FamilyRun) error {
	s, err := r.selection(cfg)
	if err != nil {
		return err
	}
	s.fit.Checkpoint = filepath.Join(cfg.Dir, rundir.PosteriorFile)
	if _, err := os.Stat(s.fit.Checkpoint); err != nil {
		return err
	}
	_, err = vti.Load(device, s.target, s.fit)
	return err
}

package regression

import (
	gocontext "context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/hbm"
	"github.com/transdim/vti/internal/budget"
	"github.com/transdim/vti/internal/memory"
	"github.com/transdim/vti/internal/rundir"
	"github.com/transdim/vti/run"
)

// FamilyRun holds the settings of [Regression.RunFamily]: training, certification and files.
type FamilyRun struct {
	// Fit holds the settings of the family, a kind of variational approximation of package hbm, and
	// of its training. RunFamily sets Checkpoint and Batch. Progress is called with the loss for
	// the response in the units of the table; with Amortize, for simulated tables.
	Fit hbm.Config
	// Members is the number of groups in a training step. They are groups of the grouping in which
	// all other groupings are nested. Without such a grouping it is the number of rows. 0 stands
	// for all. With Fit.Amortize each step uses whole simulated tables.
	Members int
	// Certify holds the settings of the check of the trained family by importance weights.
	Certify hbm.CertifyConfig
	// Dir is the run directory, which must exist; "" keeps no files.
	Dir string
	// MaxTime, if not 0, is the time after which work ends. Every model gets its first draws even
	// then.
	MaxTime time.Duration
	// Status, if not nil, is called with a description of the next step.
	Status func(text string)
}

// elboDraws is the number of draws for the ELBO of an answer.
const elboDraws = 500

// RunFamily fits a family of package hbm to the regression written with plates, sets of
// exchangeable members such as groups and rows (see [Regression.Plates]), certifies it, and writes
// the files that [Regression.Run] writes. It resumes and stops as Run does.
func (r *Regression) RunFamily(ctx gocontext.Context, device *gpu.Device, cfg FamilyRun) (*Result, error) {
	if err := memory.Check(fmt.Sprintf("hbm: Draws %d", cfg.Certify.Draws), 8*float64(cfg.Certify.Draws)*float64(r.Dim())); err != nil {
		return nil, err
	}
	clock, limit := run.NewClock(), budget.Start(cfg.MaxTime)
	cfg.Fit.Until, cfg.Certify.Until = limit.End(budget.FamilyTraining), limit.End(budget.Whole)
	plates, fit, err := r.familyFit(device, cfg)
	if err != nil {
		return nil, err
	}
	training, err := run.StartTraining(cfg.Dir, fit.Resume)
	if err != nil {
		return nil, err
	}
	fit.Resume = training.Resume
	if r.Options.Select {
		return r.runSelection(ctx, device, plates, cfg, fit, training, clock)
	}
	logJacobian := r.logJacobian
	if fit.Amortize > 0 {
		logJacobian = 0
	}
	fit.Progress = training.Reports(fit.Progress, logJacobian)
	posterior, err := hbm.Fit(ctx, device, plates.Model, plates.Data, fit)
	if err = training.End(err); err != nil {
		return nil, err
	}
	if fit.Amortize > 0 { // training was on larger tables
		if plates, err = r.amortized(r.nesting()); err != nil {
			return nil, err
		}
		if posterior, err = posterior.On(plates.Model, plates.Data); err != nil {
			return nil, err
		}
	}
	result := r.newResult(device, fit.Seed, fit.Family.String(), cfg.Dir)
	clock.Trained()
	run.Silent(cfg.Status)("draws are weighed")
	if err := r.fillTraining(ctx, result, posterior); err != nil {
		return nil, err
	}
	sample, err := plates.certify(ctx, posterior, cfg.Certify, result)
	if err != nil {
		return nil, err
	}
	return result, r.finishFamily(ctx, result, sample, clock)
}

// fillTraining writes the numbers that describe a trained family to a result.
func (r *Regression) fillTraining(ctx gocontext.Context, result *Result, posterior *hbm.Posterior) error {
	elbo, _, err := posterior.ELBO(ctx, elboDraws, "elbo")
	result.ELBO, result.Steps, result.Weights = new(Figure(elbo+r.logJacobian)), posterior.Steps(), posterior.Weights()
	return err
}

// CheckFamilyCheckpoint returns an error if the checkpoint of a run of a family cannot be
// continued, as [Regression.CheckCheckpoint] does for a run of a flow.
func (r *Regression) CheckFamilyCheckpoint(ctx gocontext.Context, device *gpu.Device, cfg FamilyRun) error {
	plates, fit, err := r.familyFit(device, cfg)
	if err != nil {
		return err
	}
	if _, err := os.Stat(fit.Checkpoint); err != nil {
		return err
	}
	if r.Options.Select {
		s, err := plates.selection(device, fit, cfg.Certify.Until)
		if err != nil {
			return err
		}
		s.fit.Checkpoint = fit.Checkpoint
		_, err = vti.Load(device, s.target, s.fit)
		return err
	}
	_, err = hbm.Load(ctx, device, plates.Model, plates.Data, fit)
	return err
}

// CheckFamily returns an error if a family cannot be fitted with this number of members (groups or
// rows, as in FamilyRun.Members) in a training step.
func (r *Regression) CheckFamily(family hbm.Family, members int) error {
	if r.Options.Select && len(r.space.masks) > mostPlateModels {
		return fmt.Errorf("the terms of the formula make %d models to select from: with family %v at most %d, leave terms out or use --family %s", len(r.space.masks), family, mostPlateModels, MarginalFamily)
	}
	plates, err := r.Plates()
	if err != nil {
		return err
	}
	if err := plates.checkMembers(family, members); err != nil {
		return err
	}
	if r.Options.Select {
		_, err := plates.selection(nil, hbm.Config{Family: family}, time.Time{})
		return err
	}
	return family.Check(plates.Model)
}

// familyFit returns the model with plates of a run, and the configuration of its training.
func (r *Regression) familyFit(device *gpu.Device, cfg FamilyRun) (*PlateModel, hbm.Config, error) {
	fit := cfg.Fit
	fit.Products = true
	if cfg.Dir != "" {
		fit.Checkpoint = filepath.Join(cfg.Dir, rundir.PosteriorFile)
	}
	if err := r.CheckFamily(fit.Family, cfg.Members); err != nil {
		return nil, fit, err
	}
	if fit.Amortize > 0 {
		large, err := New(r.Frame.Enlarged(), r.Options)
		if err != nil {
			return nil, fit, err
		}
		plates, err := large.amortized(large.nesting())
		if err != nil {
			return nil, fit, err
		}
		fit.Thin = true
		if !r.Options.Select {
			fit.Simulate, err = plates.simulator(device, nil)
		}
		return plates, fit, err
	}
	plates, err := r.Plates()
	if err != nil {
		return nil, fit, err
	}
	if fit.Batch = nil; cfg.Members > 0 {
		fit.Batch = map[*hbm.Plate]int{plates.root(): cfg.Members}
	}
	return plates, fit, nil
}

// checkMembers refuses training steps with more members than there are, with some members if the
// family needs all, and steps in which an encoder would see only some rows of a group.
func (p *PlateModel) checkMembers(family hbm.Family, members int) error {
	if members == 0 {
		return nil
	}
	encodes := family == hbm.PAVIE || family == hbm.ADAVI || family == hbm.AmortizedBranch
	switch root := p.root(); {
	case members > root.Size():
		return fmt.Errorf("members of %s in a step: got %d, want at most %d, their number", root.Name(), members, root.Size())
	case family == hbm.Joint:
		return fmt.Errorf("family %v uses the whole table in each step: leave out the number of members", family)
	case encodes && len(p.groups) > 0 && root == p.rows:
		return fmt.Errorf("groupings are crossed, so a part of the rows has parts of groups, but family %v needs whole groups: leave out the number of members, or use %v or %v", family, hbm.PAVIF, hbm.Branch)
	}
	return nil
}

// root returns the plate in which all other plates are nested, or, if there is none, the rows.
func (p *PlateModel) root() *hbm.Plate {
	for _, candidate := range p.Model.Plates() {
		if !slices.ContainsFunc(p.Model.Plates(), func(other *hbm.Plate) bool { return !other.Determines(candidate) }) {
			return candidate
		}
	}
	return p.rows
}

// certify certifies a posterior, writes the answer to result, and returns the draws behind it.
func (p *PlateModel) certify(ctx gocontext.Context, posterior *hbm.Posterior, cfg hbm.CertifyConfig, result *Result) (*posteriorSample, error) {
	c, err := posterior.Certify(ctx, cfg)
	if err != nil {
		return nil, err
	}
	sample, err := p.sample(ctx, c.Sample, nil, c.Weight, c.ESS, *result.Seed)
	if err != nil {
		return nil, err
	}
	certificate := &vti.Certificate{Verdict: c.Verdict, KHat: c.KHat, ESS: c.ESS, Draws: c.Draws, ModelsChecked: 1, Reasons: c.Reasons, LogEvidence: c.LogEvidence, LogEvidenceSE: c.LogEvidenceSE}
	return sample, p.regression.fill(ctx, result, certificate, sample)
}

// finishFamily compares an answer with the answer by integrals, if there is one, and writes the
// result.
func (r *Regression) finishFamily(ctx gocontext.Context, result *Result, sample *posteriorSample, clock *run.Clock) error {
	if err := r.compareExact(ctx, result); err != nil {
		return err
	}
	clock.Certified()
	return r.writeResult(result, sample, clock)
}

// sample draws all quantities in the units of the table, given weighted draws of all latent
// variables, whose effective number is ess. The argument codes holds the code of the model of each
// draw; nil if there is one model.
func (p *PlateModel) sample(ctx gocontext.Context, draws *hbm.Draws, codes [][]int32, weight []float64, ess float64, seed uint64) (*posteriorSample, error) {
	r := p.regression
	d := weightedDraws{weight: weight, ess: ess, known: r.quantities()}
	d.model = func(at int) ([]int32, float64, float64) {
		code := make([]int32, len(r.space.cards))
		if codes != nil {
			code = codes[at]
		}
		// A draw here combines effects of levels from several draws of the family, and its density
		// is unknown.
		return code, math.NaN(), math.NaN()
	}
	d.held = func(at int, mask []bool, theta []float64) (*conditional, []float64) {
		return p.effectsAt(func(v *hbm.Variable) []float64 { return draws.Of(v, at) }, mask, theta)
	}
	d.draw = func(at int, mask []bool, theta []float64, _ *rand.Rand) (*conditional, []float64, bool) {
		prior, effects := d.held(at, mask, theta)
		return prior, effects, true
	}
	d.moments = r.momentsOf(d, seed)
	return r.sample(ctx, d, seed)
}

// effectsAt returns the effects, less their prior mean, at the values of latent variables that
// value returns, with their prior given the hyperparameters. It writes the hyperparameters, other
// than standard deviations of effects, to θ.
func (p *PlateModel) effectsAt(value func(v *hbm.Variable) []float64, mask []bool, theta []float64) (*conditional, []float64) {
	r := p.regression
	global := func(j int) float64 { return value(p.globals[j])[0] }
	for j := range p.globals {
		switch r.coordinates[j].kind {
		case noiseCoordinate:
			theta[j] = math.Log(global(j))
		case partialCoordinate:
			theta[j] = global(j)
		}
	}
	prior := r.joint().prior(mask, theta, global)
	effects := make([]float64, prior.e.effects)
	if p.population != nil {
		for j, effect := range value(p.population) {
			if mask[j] {
				effects[j] = effect - prior.mean[j]
			}
		}
	}
	for i, g := range p.groups {
		for a := range g.Columns {
			if !mask[g.sd[a]] {
				continue
			}
			for level, effect := range value(g.effects[a]) {
				effects[prior.e.firstOf[i]+level*len(g.Columns)+a] = effect
			}
		}
	}
	return prior, effects
}

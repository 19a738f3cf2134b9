package varsel

import (
	"github.com/transdim/vti"
	"github.com/transdim/vti/run"
)

// FitConfig is the training that the record asks for, without what only concerns its progress and
// files. A record without a number of steps gets the one that suits the problem.
func (r *Record) FitConfig(problem *Problem) (vti.Config, error) {
	models, err := problem.NewModels(r.Sampler, r.Surrogate, r.Seed, r.DType)
	fit := vti.Config{Flow: r.Flow, Models: models, Steps: r.Steps, Batch: r.Batch, Seed: r.Seed, DType: r.DType}
	if r.inRounds() {
		return problem.Training(problem.rounds(fit)), err
	}
	fit = problem.Training(fit)
	r.Steps = fit.Steps
	return fit, err
}

// inRounds reports whether the run takes as many steps as it needs. A surrogate learns at a pace of
// its own and does not.
func (r *Record) inRounds() bool {
	return r.Effort == run.AutoEffort && r.Steps == 0 && r.Sampler != SurrogateSampler
}

// rounds fills in the rounds of vti.Solve.
func (p *Problem) rounds(fit vti.Config) vti.Config {
	if p.Slots != nil && fit.Steps == 0 {
		fit.Steps = mostListSteps
	}
	return fit.InRounds()
}

// Lengths of training: the anchored flow of a posterior with one mode per model starts close to it.
// Chosen by hand, not tuned.
const (
	fewSteps  = 1000
	manySteps = 3000
	// Lists start at what screening finds, and each model at its own least squares.
	listSteps = 300
	// mostListSteps are four rounds of vti.Solve.
	mostListSteps = 750
)

// heavyTails reports whether the posterior given a model can have several modes.
func (p *Problem) heavyTails() bool { return heavyTails(p.Model.Likelihood) }

// Training fills in what the problem decides where fit leaves it open: how many steps, and how much
// of them on a tempered target.
func (p *Problem) Training(fit vti.Config) vti.Config {
	if fit.Steps == 0 {
		fit.Steps = fewSteps
		switch {
		case p.heavyTails():
			fit.Steps = manySteps
		case p.Slots != nil:
			fit.Steps = listSteps
		}
	}
	if p.Slots != nil {
		p.Slots.embed(&fit.Flow)
	}
	if fit.Tempering == 0 && p.heavyTails() {
		fit.Tempering = 0.5
	}
	return fit
}

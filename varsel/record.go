package varsel

import (
	"fmt"
	"path/filepath"

	"github.com/gomlx/gomlx/pkg/core/dtypes"

	"github.com/transdim/vti"
	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/internal/draws"
	"github.com/transdim/vti/internal/rundir"
	"github.com/transdim/vti/run"
)

// Record holds all settings of a run, enough to repeat or continue it.
type Record struct {
	run.Header
	// Design holds the options of the design.
	Design DesignOptions `json:"design"`
	// Model holds the likelihood and the priors.
	Model ModelOptions `json:"model"`
	// Flow holds the settings of the flow q(θ | m).
	Flow cosmic.Config `json:"flow"`
	// Sampler is the family of q(m), the approximation over models.
	Sampler Sampler `json:"sampler"`
	// Surrogate holds the options of a surrogate sampler.
	Surrogate SurrogateOptions `json:"surrogate"`
	// Learning holds the options of learning q(m).
	Learning Learning `json:"learning"`
	// DType is the type of numbers in the flow, the target and networks. Absent means Float32.
	DType dtypes.DType `json:"dtype,omitempty"`
	run.Budget
	// Steps is the number of training steps, and Batch the number of draws in a step.
	Steps int `json:"steps,omitempty"`
	Batch int `json:"batch,omitempty"`
	// Draws is the number of draws of certification. Absent means the default of vti.CertifyConfig.
	Draws int `json:"certify_draws,omitempty"`
	run.ChainSizes
	// Start lists the models in which the chains start, in turn; see Problem.Start.
	Start []string `json:"start,omitempty"`
	// From is the file of a network that the run begins with. If FromOnly is set, the network is
	// not trained further.
	From     string `json:"from,omitempty"`
	FromOnly bool   `json:"from_only,omitempty"`
	// AllModels makes results list every evaluated model.
	AllModels bool `json:"all_models,omitempty"`
	// Credible is the level of credible sets; absent means DefaultCredible.
	Credible float64 `json:"credible,omitempty"`
	// InclusionPrior is set if each predictor has a prior inclusion probability of its own.
	InclusionPrior *InclusionFile `json:"inclusion_prior,omitempty"`
	// Summary is set if the data are summary statistics of predictors instead of rows.
	Summary *Summary `json:"summary,omitempty"`
	// Seed is the seed of the run's random numbers.
	Seed uint64 `json:"seed"`
}

// ReadDesign reads the table, or the statistics, and builds the design. It returns an error if a
// file has changed.
func (r *Record) ReadDesign() (*Design, error) {
	data, err := r.Table()
	if err != nil {
		return nil, err
	}
	if r.Summary != nil {
		return r.Summary.design(data, r.Design)
	}
	return NewDesign(data, r.Design)
}

// Problem reads the data of the run again and rebuilds its posterior.
func (r *Record) Problem() (*Problem, error) {
	design, err := r.ReadDesign()
	if err != nil {
		return nil, err
	}
	return r.ProblemOf(design)
}

// ProblemOf returns the posterior of a design with the settings of the record.
func (r *Record) ProblemOf(design *Design) (problem *Problem, err error) {
	model, file := r.Model, ""
	if r.InclusionPrior != nil {
		file = r.InclusionPrior.File
		if model.Prior, err = r.InclusionPrior.prior(design, model.Prior.MaxSize); err != nil {
			return nil, err
		}
	}
	if problem, err = NewProblem(design, model); err != nil {
		return nil, err
	}
	problem.AllModels, problem.Credible, problem.InclusionFile = r.AllModels, r.Credible, file
	return problem, nil
}

// FitConfig returns the settings of training in the record, without progress reports and files. If
// the record has no number of training steps, the likelihood of the problem determines the number.
func (r *Record) FitConfig(problem *Problem) (vti.Config, error) {
	models, err := problem.NewModels(r.Sampler, r.Surrogate, r.Seed, r.DType)
	fit := vti.Config{Flow: r.Flow, Models: models, Steps: r.Steps, Batch: r.Batch, Seed: r.Seed, DType: r.DType}
	fit.Start, fit.ControlVariate, fit.InformationGain = r.Learning.Start, r.Learning.ControlVariate, r.Learning.informationGain()
	if r.InRounds() {
		return problem.Training(problem.rounds(fit)), err
	}
	fit = problem.Training(fit)
	r.Steps = fit.Steps
	return fit, err
}

// InRounds reports whether training goes on until the answer is precise enough. With a surrogate
// sampler it does not, because the surrogate learns at another pace than the flow.
func (r *Record) InRounds() bool {
	return r.Effort == run.AutoEffort && r.Steps == 0 && r.Sampler != SurrogateSampler
}

// rounds returns fit, changed such that training goes in rounds, as by vti.Solve.
func (p *Problem) rounds(fit vti.Config) vti.Config {
	if p.Slots != nil && fit.Steps == 0 {
		fit.Steps = mostListSteps
	}
	return fit.InRounds()
}

// Numbers of training steps. fewSteps is for posteriors with one mode per model, where the flow
// starts from good normal approximations; manySteps is for likelihoods with heavy tails. Half and
// twice fewSteps, manySteps and listSteps give the same answers (docs/benchmarks/constants.md).
const (
	fewSteps  = 1000
	manySteps = 3000
	// listSteps is for models written as lists. It is smaller, since q(m) starts from a screening
	// of the predictors, and the flow from the least-squares fit of each model.
	listSteps = 300
	// mostListSteps is the number of training steps in four rounds of vti.Solve.
	mostListSteps = 750
)

// Training returns the training settings fit, with the number of steps filled in if it is 0, with
// the embedding of lists and, under heavy tails, with the share of steps on a tempered target. This
// share stays 0 if the flow starts from the identity, when q(m) starts to learn only after the
// flow.
func (p *Problem) Training(fit vti.Config) vti.Config {
	if fit.Steps == 0 {
		fit.Steps = fewSteps
		switch {
		case p.Model.Likelihood.HeavyTails():
			fit.Steps = manySteps
		case p.Slots != nil:
			fit.Steps = listSteps
		}
	}
	if p.Slots != nil {
		p.Slots.embed(&fit.Flow)
	}
	if fit.Tempering == 0 && p.Model.Likelihood.HeavyTails() && fit.Start != vti.IdentityStart {
		fit.Tempering = 0.5
	}
	return fit
}

// StoredRun is a finished run in its directory.
type StoredRun struct{ run.Stored[Record, Result] }

// OpenRun reads the record and the result of a run directory.
func OpenRun(dir string) (*StoredRun, error) {
	stored, err := run.ReadStored[Record, Result](dir)
	if err != nil {
		return nil, err
	}
	run := &StoredRun{stored}
	path := filepath.Join(dir, rundir.ResultFile)
	groups := len(run.Result.Data.Predictors)
	if groups == 0 || len(run.Result.Inclusion) != groups {
		return nil, fmt.Errorf("%s: damaged: got %d inclusion probabilities, want one for each of %d predictors", path, len(run.Result.Inclusion), groups)
	}
	for _, model := range run.Result.Models {
		if _, err := ModelMembers(model.Code, groups); err != nil {
			return nil, fmt.Errorf("%s: damaged: %w", path, err)
		}
	}
	return run, nil
}

// readDraws returns the draws of the run, or nil without an error if the run has none.
func (r *StoredRun) readDraws() (*draws.Draws, error) {
	path := filepath.Join(r.Dir, draws.ParquetFile)
	if !rundir.Exists(path) {
		return nil, nil
	}
	return draws.Read(path)
}

// DrawnModels returns the model of each posterior draw of the run, as indices of
// Result.Data.Predictors. independent is false for draws of Markov chains. It returns an error if
// the run has no draws.
func (r *StoredRun) DrawnModels() (models [][]int, independent bool, err error) {
	stored, err := r.readDraws()
	if err != nil {
		return nil, false, err
	}
	if stored == nil || stored.Len() == 0 {
		return nil, false, fmt.Errorf("%s has no posterior draws (vti %s)", r.Dir, r.Record.Command)
	}
	models = make([][]int, stored.Len())
	for i := range models {
		for site, outcome := range stored.Code(i) {
			switch {
			case outcome == 0:
			case stored.Items != nil: // models are lists of predictors, numbered from 1
				models[i] = append(models[i], int(outcome)-1)
			default:
				models[i] = append(models[i], site)
			}
		}
	}
	return models, stored.Kind == draws.IID, nil
}

// InclusionFile is a table of prior inclusion probabilities of predictors, as
// [Design.PriorInclusion] takes it.
type InclusionFile struct {
	File string `json:"file"`
	// Fingerprint is the SHA-256 of the file.
	Fingerprint string `json:"fingerprint"`
}

// prior returns the prior over models of a design, with at most maxSize predictors unless it is 0.
// It returns an error if the file has changed.
func (f *InclusionFile) prior(d *Design, maxSize int) (Prior, error) {
	t, err := run.ReadTable(f.File, &f.Fingerprint)
	if err != nil {
		return Prior{}, err
	}
	prior := Prior{Kind: InclusionPrior, MaxSize: maxSize}
	prior.Inclusion, err = d.PriorInclusion(t)
	return prior, err
}

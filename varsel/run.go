package varsel

import (
	gocontext "context"
	"math"
	"time"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/draws"
	"github.com/transdim/vti/run"
	"github.com/transdim/vti/varsel/exact"
	"github.com/transdim/vti/varsel/regression"
)

// RunConfig holds the settings of [Run]: of training, of certification and of files.
type RunConfig struct {
	// Fit holds the settings of training. Run sets Checkpoint, and the fields that Problem.Training
	// sets. The loss passed to Progress refers to the response in the units of the table. If Steps
	// is set and FirstRound is not, training takes Steps steps; otherwise it goes on until the
	// answer is precise enough (see vti.Solve).
	Fit vti.Config
	// Certify holds the settings of the certificate, such as its number of draws.
	Certify vti.CertifyConfig
	// From is the file of an amortized network that the run begins with, "" if there is none. If
	// FromOnly is set, the network is not trained further.
	From     string
	FromOnly bool
	// Dir is the run directory, which must exist. If it is "", no files are written.
	Dir string
	// Precision, MaxTime and Status are as in vti.SolveConfig.
	Precision float64
	MaxTime   time.Duration
	Status    func(text string)
	// Again certifies the trained flow of an earlier run in Dir, and trains nothing.
	Again bool
}

// Run trains the posterior of the problem, certifies the answer, and writes checkpoint, trace,
// tables and draws to the run directory.
//
// If ctx is cancelled during training, Run writes the checkpoint and returns an error that wraps
// ctx.Err(). Run with Fit.Resume set continues from the checkpoint.
func Run(ctx gocontext.Context, device *gpu.Device, problem *Problem, cfg RunConfig) (*Result, error) {
	if err := cfg.Certify.CheckSize(problem.Posterior()); err != nil {
		return nil, err
	}
	clock := run.NewClock()
	training, err := run.StartTraining(cfg.Dir, cfg.Fit.Resume || cfg.Again)
	if err != nil {
		return nil, err
	}
	if cfg.Fit.Steps == 0 {
		cfg.Fit = problem.rounds(cfg.Fit)
	}
	fit := training.Configure(problem.Training(cfg.Fit), problem.Design.LogJacobian())
	if cfg.From != "" {
		if fit.Begin, err = problem.BeginFrom(device, cfg.From); err != nil {
			return nil, err
		}
		fit.Tempering = 0 // the network has learned posteriors with several modes
		cfg.Certify.Short = true
	}
	cfg.Certify.Confirm = cfg.Certify.Confirm || problem.Model.Likelihood.HeavyTails()
	answer, err := training.Ask(ctx, device, problem.Posterior(), clock, run.Question{
		Fit: fit, Certify: cfg.Certify, Precision: cfg.Precision, MaxTime: cfg.MaxTime, Status: cfg.Status, Again: cfg.Again,
		Untrained: cfg.FromOnly,
	})
	if err != nil {
		return nil, err
	}
	certificate := answer.Certificate

	result := problem.newResult("varsel")
	result.Seed, result.Backend, result.Steps, result.RunDir = &fit.Seed, device.String(), answer.Posterior.Steps(), cfg.Dir
	result.Work = answer.Work
	if !math.IsNaN(training.Loss()) {
		result.Loss = new(Number(training.Loss()))
	}
	if result.Summary, err = problem.reconcile(certificate); err != nil {
		return nil, err
	}
	if err := problem.fillCertified(ctx, result, certificate); err != nil {
		return nil, err
	}
	sample := certificate.Resample(resampled, fit.Seed)
	posteriorDraws := problem.toOriginal(sample.Codes, sample.Theta)
	posteriorDraws.LogP, posteriorDraws.LogQ = sample.LogP, sample.LogQ
	if certificate.Verdict != vti.Failed {
		if result.ModelCheck, err = problem.checkModel(ctx, posteriorDraws, fit.Seed); err != nil {
			return nil, err
		}
	}
	if err := problem.writeDraws(cfg.Dir, draws.Header{Kind: draws.IID, Seed: fit.Seed}, posteriorDraws); err != nil {
		return nil, err
	}
	result.Seconds = clock.Seconds()
	return result, problem.finish(result, cfg.Dir)
}

// newResult returns a result with the fields that do not depend on the method.
func (p *Problem) newResult(command string) *Result {
	return &Result{
		Origin: run.Origin{Schema: "vti/selection/1", Command: command, Version: vti.Version},
		Data:   DataSummary{Rows: p.Design.Rows(), Predictors: p.Design.PredictorNames()},
	}
}

func (p *Problem) fillCertified(ctx gocontext.Context, result *Result, c *vti.Certificate) error {
	jacobian := p.Design.LogJacobian()
	result.Certificate = &CertificateReport{
		Verdict: c.Verdict, Basis: c.Basis, Confirmed: c.Confirmed, KHat: known(c.KHat), ESS: Number(c.ESS), Draws: c.Draws,
		ModelsChecked: c.ModelsChecked, Complete: c.Complete || c.Basis == vti.ExactSum, Reasons: c.Reasons,
	}
	if c.RHat > 0 {
		result.Certificate.RHat = new(Number(c.RHat))
	}
	result.LogEvidence, result.LogEvidSE = new(Number(c.LogEvidence+jacobian)), new(Number(c.LogEvidenceSE))
	certified, se := c.Frequencies(len(p.Design.Predictors), p.members)
	var answer *exact.Answer
	if c.Basis == vti.ExactSum && p.summed() {
		var err error
		if answer, err = p.sumAll(ctx, nil); err != nil {
			return err
		}
	}
	if answer != nil { // sums include the models that are not listed
		certified, se = answer.Inclusion, make([]float64, len(certified))
	}
	result.CredibleSets = p.credibleSets(len(c.Models), func(k int) ([]int, float64) {
		return p.members(c.Models[k].Code), c.Models[k].Certified
	})
	q := frequenciesUnderQ(c, len(p.Design.Predictors), p.members)
	for s, predictor := range p.Design.Predictors {
		result.Inclusion = append(result.Inclusion, Inclusion{Name: predictor.Name, Q: known(q[s]), Certified: Number(certified[s]), SE: Number(se[s])})
	}
	for _, model := range c.Models[:p.shownModels(len(c.Models))] {
		members := p.members(model.Code)
		result.Models = append(result.Models, ModelReport{
			Code: modelText(members, len(p.Design.Predictors)), Size: len(members), Q: known(model.Q), Certified: Number(model.Certified), SE: Number(model.SE),
			KHat: known(model.KHat),
		})
		if model.Resolved() {
			report := &result.Models[len(result.Models)-1]
			report.LogEvidence, report.LogEvidenceSE = new(Number(model.LogEvidence+jacobian)), new(Number(model.LogEvidenceSE))
		}
	}
	if c.Basis == vti.ExactSum {
		// Moments of parameters with heavy tails, such as σ given a few rows, would need too many
		// draws. If evidences have closed forms, moments have closed forms too.
		if answer != nil {
			result.Coefficients = p.coefficients(answer.Coefficients)
			return nil
		}
		if c.Complete {
			if result.Coefficients = p.knownMoments(ctx, c.Models); result.Coefficients != nil {
				return nil
			}
		}
	}
	s := c.Sample
	var orbits *regression.ScaleOrbits
	if s.Group == nil && p.Slots == nil {
		var err error
		if orbits, err = p.Target.ScaleOrbits(ctx, s.Codes, p.Target.active, s.Theta); err != nil {
			return err
		}
	}
	result.Coefficients = p.summarizeDraws(p.toOriginal(s.Codes, s.Theta), s.Weight, s.Group, s.ModelDraw, orbits)
	return nil
}

// frequenciesUnderQ returns the probabilities of n events under q(m). events lists the events that
// a model satisfies. The probabilities are sums over models if c has all models, and fractions of
// the draws from q(m) otherwise. They are NaN if c has no draws from q(m).
func frequenciesUnderQ(c *vti.Certificate, n int, events func(code []int32) []int) []float64 {
	q := make([]float64, n)
	if !c.Complete && len(c.Proposed) == 0 {
		for event := range q {
			q[event] = math.NaN()
		}
	}
	if c.Complete {
		for _, model := range c.Models {
			for _, event := range events(model.Code) {
				q[event] += model.Q
			}
		}
		return q
	}
	for _, code := range c.Proposed {
		for _, event := range events(code) {
			q[event] += 1 / float64(len(c.Proposed))
		}
	}
	return q
}

// shownModels returns the number of models that a result shows, of count models.
func (p *Problem) shownModels(count int) int {
	if count > maxListedModels && !p.AllModels {
		return topModels
	}
	return count
}

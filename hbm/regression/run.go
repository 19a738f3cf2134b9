package regression

import (
	"cmp"
	gocontext "context"
	"errors"
	"math"
	"os"
	"time"

	"github.com/transdim/vti"
	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/run"
)

// Training defaults of a regression.
const (
	defaultSteps    = 400
	defaultBatch    = 1024
	quadratureBatch = 256 // each draw costs a density of all rows for each node
	quadratureDraws = 1 << 15
	defaultLayers   = 3
	studentSteps    = 800
)

// Training sets the fields of fit that are zero to the defaults for the regression.
func (r *Regression) Training(fit vti.Config) vti.Config {
	steps, batch := defaultSteps, defaultBatch
	if !r.Frame.Response.Conjugate() {
		batch = quadratureBatch
	}
	if r.Frame.Response == likelihood.StudentKind {
		steps = studentSteps
	}
	fit.Steps, fit.Batch = cmp.Or(fit.Steps, steps), cmp.Or(fit.Batch, batch)
	fit.Flow.Layers = cmp.Or(fit.Flow.Layers, defaultLayers)
	return fit
}

// DefaultFlow returns the kind of flow for the regression: splines, which can represent the skewed
// posteriors of standard deviations, or affine flows if there are many coordinates.
func (r *Regression) DefaultFlow() cosmic.Kind {
	if r.Dim() > cosmic.MaxCoupledDim {
		return cosmic.Affine
	}
	return cosmic.Spline
}

// Run holds the settings of [Regression.Run]: training, certification and files.
type Run struct {
	// Fit holds the settings of training. Run sets Checkpoint, and the fields that
	// [Regression.Training] sets. Progress is called with the loss for the response in the units of
	// the table. If Steps is set and FirstRound is not, training takes Steps steps; otherwise it
	// takes the steps that the answer needs (vti.Solve).
	Fit vti.Config
	// Certify holds the settings of the certificate, such as its number of draws.
	Certify vti.CertifyConfig
	// Dir is the run directory, which must exist; "" keeps no files.
	Dir string
	// Precision, MaxTime and Status are the fields of vti.SolveConfig.
	Precision float64
	MaxTime   time.Duration
	Status    func(text string)
	// Again says that Run certifies the training of an earlier run in Dir, without more training.
	Again bool
}

// Trains reports whether [Regression.Run] trains. Only then can a stopped run continue.
func (r *Regression) Trains() bool { return !r.integrable() && !r.weighable() }

// Run trains a flow if [Regression.Trains], certifies the answer, draws the effects of all levels,
// and writes checkpoint, trace, tables, draws and fitted rows to the run directory.
//
// If ctx is cancelled during training, Run writes the checkpoint and its error wraps ctx.Err(); Run
// with Fit.Resume set continues from there. Without training (see Trains) there is no checkpoint.
func (r *Regression) Run(ctx gocontext.Context, device *gpu.Device, cfg Run) (*Result, error) {
	if !r.Trains() {
		return r.runIntegral(ctx, device, cfg)
	}
	if err := cfg.Certify.CheckSize(r.Target()); err != nil {
		return nil, err
	}
	clock := run.NewClock()
	training, err := run.StartTraining(cfg.Dir, cfg.Fit.Resume || cfg.Again)
	if err != nil {
		return nil, err
	}
	if cfg.Fit.Steps == 0 {
		cfg.Fit = cfg.Fit.InRounds()
	}
	fit := training.Configure(r.Training(cfg.Fit), r.logJacobian)
	if err := r.Prepare(ctx, device); err != nil {
		return nil, training.End(err)
	}
	answer, err := training.Ask(ctx, device, r.Target(), clock, run.Question{
		Fit: fit, Certify: cfg.Certify, Precision: cfg.Precision, MaxTime: cfg.MaxTime, Status: cfg.Status, Again: cfg.Again,
		Lacks: func(c *vti.Certificate) string { return r.unresolved(c.Sample, fit.Seed) },
	})
	if err != nil {
		return nil, err
	}
	certificate := answer.Certificate

	result := r.newResult(device, fit.Seed, MarginalFamily, cfg.Dir)
	if !math.IsNaN(training.Loss()) {
		result.ELBO = new(Figure(-training.Loss()))
	}
	result.Steps, result.Weights, result.Work = answer.Posterior.Steps(), answer.Posterior.Weights(), answer.Work
	sample, err := r.sample(ctx, r.drawsOf(certificate.Sample, certificate.ESS, fit.Seed), fit.Seed)
	if err != nil {
		return nil, err
	}
	if err := r.fill(ctx, result, certificate, sample); err != nil {
		return nil, err
	}
	if !r.Frame.Response.Conjugate() && r.inner != nil {
		r.noteLoss(r.quadratureLoss(certificate.Sample, fit.Seed), result)
	}
	return result, r.writeResult(result, sample, clock)
}

// MarginalFamily is the name of the family of [Regression.Run]: the effects of the largest grouping
// are integrated out, and one flow learns everything else.
const MarginalFamily = "marginal"

// newResult returns a result without an answer.
func (r *Regression) newResult(device *gpu.Device, seed uint64, family, dir string) *Result {
	result := &Result{Origin: run.Origin{Schema: "vti/regression/1", Command: "hbm", Version: vti.Version, Seed: &seed, Backend: device.String(), RunDir: dir}, Family: family, Data: r.summary(), Notes: r.Frame.Warnings}
	if r.unordered != nil {
		result.Categories = r.Frame.Labels
	}
	return result
}

// writeResult completes the result of a run that ends now. It writes draws, tables and fitted rows
// to the run directory, if there is one.
func (r *Regression) writeResult(result *Result, s *posteriorSample, clock *run.Clock) error {
	result.Seconds = clock.Seconds()
	r.describe(result, s)
	if result.RunDir == "" {
		return nil
	}
	return errors.Join(result.ModelCheck.WriteFitted(result.RunDir), r.writeDraws(result.RunDir, *result.Seed, s), result.writeTables(result.RunDir))
}

// CheckCheckpoint returns an error if the checkpoint in fit cannot be continued. The error wraps
// fs.ErrNotExist if there is no checkpoint.
func (r *Regression) CheckCheckpoint(ctx gocontext.Context, device *gpu.Device, fit vti.Config) error {
	if _, err := os.Stat(fit.Checkpoint); err != nil {
		return err
	}
	if err := r.Prepare(ctx, device); err != nil {
		return err
	}
	_, err := vti.Load(device, r.Target(), fit)
	return err
}

func (r *Regression) summary() FrameSummary {
	s := FrameSummary{Rows: r.Frame.Rows(), Formula: r.Frame.Formula.String()}
	for _, g := range r.groups {
		one := GroupSummary{Name: g.Name, Levels: len(g.Levels)}
		if g.Smooth {
			one.Line = r.Frame.Formula.Smooths[g.Columns[0].Term].Of.String()
		}
		s.Groups = append(s.Groups, one)
	}
	return s
}

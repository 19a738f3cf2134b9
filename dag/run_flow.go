package dag

import (
	gocontext "context"
	"fmt"
	"math/rand/v2"
	"path/filepath"

	"github.com/transdim/vti"
	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/memory"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/internal/verdict"
	"github.com/transdim/vti/run"
)

// RunConfig says how RunFlow and RunMade work.
type RunConfig struct {
	// Fit configures training. They set Models and Checkpoint, and what Problem.Training decides.
	Fit vti.Config
	// Draws is the number of draws for the families that matter, beyond a pilot of all; 0
	// stands for 131,072 with linear mechanisms and 16,384 with networks. RunMade with networks has
	// none.
	Draws int
	// Anneal is the number of families whose draws are annealed, for posteriors of networks that
	// the flow may have missed a part of.
	Anneal int
	// Islands bounds the fine islands of particles behind RunMade with networks; 0: as many as take
	// some minutes.
	Islands int
	// Truth, if not nil, is compared with.
	Truth *dgraph.Graph
	// Dir is the run directory, which must exist; "" keeps no files.
	Dir string
	// Status, if not nil, is called with what comes after training.
	Status func(string)
}

// RunFlow trains a flow over families, estimates their evidences by importance weights, sums over
// graphs, and writes checkpoint, trace, tables and pictures to the run directory.
//
// When ctx is cancelled during training the checkpoint is written and the error wraps ctx.Err();
// RunFlow with Fit.Resume set continues from there.
func RunFlow(ctx gocontext.Context, device *gpu.Device, problem *Problem, cfg RunConfig) (*Result, error) {
	clock := run.NewClock()
	if err := problem.checkOneRegime(); err != nil {
		return nil, err
	}
	if err := memory.Check(fmt.Sprintf("dag: Draws %d", cfg.Draws), 8*float64(cfg.Draws)); err != nil {
		return nil, err
	}
	cfg = problem.withDefaultDraws(cfg)
	fit := problem.Training(cfg.Fit)
	training, err := run.StartTraining(cfg.Dir, fit.Resume)
	if err != nil {
		return nil, err
	}
	fit = training.Configure(fit, 0)
	target := newFamilyTarget(problem)
	if target.anchors, err = problem.anchorsOf(ctx, device, target, fit, cfg); err != nil {
		return nil, training.End(err)
	}
	trained, err := problem.fitFamilies(ctx, device, target, fit)
	if err = training.End(err); err != nil {
		return nil, err
	}
	clock.Trained()
	found, posterior, err := problem.estimate(ctx, trained, target, NewPosterior, cfg.evidences(problem))
	if err != nil {
		return nil, err
	}
	answer := flowAnswer{evidences: found, posterior: posterior, steps: trained.Steps(), loss: training.Loss(), backend: device.String()}
	return problem.concludeFlow(ctx, answer, fit.Seed, cfg, clock)
}

// withDefaultDraws fills in what RunFlow and RunMade have in common.
func (p *Problem) withDefaultDraws(cfg RunConfig) RunConfig {
	if cfg.Draws == 0 {
		cfg.Draws = defaultDraws
		if p.Model.Mechanism == MLP {
			cfg.Draws = defaultDraws / 8
		}
	}
	if cfg.Status == nil {
		cfg.Status = func(string) {}
	}
	return cfg
}

// evidences sizes the estimation of evidences by weights.
func (cfg RunConfig) evidences(p *Problem) evidenceConfig {
	return evidenceConfig{cfg.Draws, p.parameterDraws(), cfg.Anneal, cfg.Status}
}

// flowAnswer is what a trained flow has found.
type flowAnswer struct {
	evidences familyEvidences
	posterior *Posterior
	steps     int
	loss      float64
	backend   string
	judge     func(v *verdict.Judgement) // what else the verdict rests on; nil: nothing
}

// familyEvidences are evidences of families, by weights of a flow or by particles, with draws of
// their parameters.
type familyEvidences interface {
	certify(ctx gocontext.Context, graphs *Posterior, draws []Draw, edgeErrors [][]float64) (*Certificate, error)
	parameters(random *rand.Rand) parameterSource
}

// concludeFlow draws graphs and parameters, judges, and writes the files.
func (problem *Problem) concludeFlow(ctx gocontext.Context, a flowAnswer, seed uint64, cfg RunConfig, clock *run.Clock) (*Result, error) {
	posterior := a.posterior
	cfg.Status("drawing graphs")
	graphs, err := posterior.Sample(ctx, stream.Rand(seed, "graphs"), graphDraws)
	if err != nil {
		return nil, err
	}
	edgeErrors := posterior.EdgeErrors(graphs)
	result := &Result{Schema: resultSchema, Command: "dag", Version: vti.Version, Seed: &seed, Backend: a.backend, Steps: a.steps, Loss: number(a.loss), RunDir: cfg.Dir}
	if result.Certificate, err = a.evidences.certify(ctx, posterior, graphs, edgeErrors); err != nil {
		return nil, err
	}
	if a.judge != nil {
		v := &verdict.Judgement{Verdict: result.Certificate.Verdict, Reasons: result.Certificate.Reasons}
		a.judge(v)
		result.Certificate.judged(v)
	}
	if err := problem.fill(ctx, result, posterior, graphs, edgeErrors, cfg.Truth); err != nil {
		return nil, err
	}
	result.unsettled(problem.Data.Nodes())
	random := stream.Rand(seed, "parameters")
	source := a.evidences.parameters(random)
	if err := problem.describe(ctx, result, cfg.Dir, posterior.mixture(), source, nil, drawnFrom(spread(graphs, random), problem.Families, source), random); err != nil {
		return nil, err
	}
	result.Seconds = clock.Seconds()
	return result, problem.write(result, cfg.Dir)
}

// anchorsOf returns the anchors of networks: those in the run directory of a run that is resumed,
// or new ones, which are stored there. Linear families have none.
func (p *Problem) anchorsOf(ctx gocontext.Context, device *gpu.Device, target *familyTarget, fit vti.Config, cfg RunConfig) (*anchors, error) {
	if p.Model.Mechanism == Linear {
		return nil, nil
	}
	path := filepath.Join(cfg.Dir, AnchorsFile)
	if fit.Resume {
		if a, err := readAnchors(path, len(p.Families), target.space.Dim()); a != nil || err != nil {
			return a, err
		}
	}
	a, err := target.fitAnchors(ctx, device, fit.Seed, func(done, total int) {
		cfg.Status(fmt.Sprintf("anchors of families %d/%d", done, total))
	})
	if err != nil || cfg.Dir == "" {
		return a, err
	}
	return a, a.write(path)
}

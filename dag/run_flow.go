package dag

import (
	gocontext "context"
	"fmt"

	"github.com/transdim/vti"
	"github.com/transdim/vti/dag/effects"
	"github.com/transdim/vti/dag/flows"
	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/memory"
	"github.com/transdim/vti/run"
)

// RunConfig says how RunFlow and RunGraphFlow work.
type RunConfig struct {
	// Fit configures training. They set Models and Checkpoint, and what Problem.Training decides.
	Fit vti.Config
	// Draws is the number of draws for the families that matter, beyond a pilot of all; 0 stands
	// for 131,072 with linear mechanisms and 16,384 with networks. RunGraphFlow with networks has
	// none.
	Draws int
	// Anneal is the number of families whose draws are annealed, for posteriors of networks that
	// the flow may have missed a part of.
	Anneal int
	// Islands bounds the fine islands of particles behind RunGraphFlow with networks; 0: as many as
	// take some minutes.
	Islands int
	// Undivided makes RunGraphFlow use one flow for the parameters of all nodes together.
	Undivided bool
	// Cold makes q(m) of RunGraphFlow start uniform.
	Cold bool
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
func RunFlow(ctx gocontext.Context, device *gpu.Device, problem *score.Problem, cfg RunConfig) (*Result, error) {
	if err := problem.CheckOneRegime(); err != nil {
		return nil, err
	}
	if err := memory.Check(fmt.Sprintf("dag: Draws %d", cfg.Draws), 8*float64(cfg.Draws)); err != nil {
		return nil, err
	}
	o := output{clock: run.NewClock()}
	cfg = withDefaultDraws(problem, cfg)
	fit := flows.Training(problem, cfg.Fit)
	training, err := run.StartTraining(cfg.Dir, fit.Resume)
	if err != nil {
		return nil, err
	}
	fit = training.Configure(fit, 0)
	trained, err := flows.FitFamilies(problem, ctx, device, fit)
	if err = training.End(err); err != nil {
		return nil, err
	}
	o = o.trained(device, trained, training, cfg)
	evidences, posterior, err := flows.Estimate(problem, ctx, trained, score.NewPosterior, cfg.evidences(problem))
	if err != nil {
		return nil, err
	}
	return concludeSum(problem, ctx, o, posterior, nil, evidences.Parameters, func(graphs []score.Draw, edgeErrors [][]float64) (*Certificate, error) {
		return certifyWeights(posterior, graphs, edgeErrors, evidences.Draws, evidences.Evidences.NonFinite()), nil
	})
}

// trained adds what a training tells of itself.
func (o output) trained(device *gpu.Device, fitted *vti.Posterior, training *run.Training, cfg RunConfig) output {
	o.clock.Trained()
	o.command, o.backend, o.steps, o.loss = "dag", device.String(), fitted.Steps(), number(training.Loss())
	o.seed, o.truth, o.dir, o.status = cfg.Fit.Seed, cfg.Truth, cfg.Dir, cfg.Status
	return o
}

// withDefaultDraws fills in what RunFlow and RunGraphFlow have in common.
func withDefaultDraws(p *score.Problem, cfg RunConfig) RunConfig {
	if cfg.Draws == 0 {
		cfg.Draws = flows.DefaultDraws
		if p.Model.Mechanism == sem.MLP {
			cfg.Draws = flows.DefaultDraws / 8
		}
	}
	if cfg.Status == nil {
		cfg.Status = func(string) {}
	}
	return cfg
}

// evidences sizes the estimation of evidences by weights.
func (cfg RunConfig) evidences(p *score.Problem) flows.EvidenceConfig {
	return flows.EvidenceConfig{Draws: cfg.Draws, Parameters: effects.ParameterDraws(p), Anneal: cfg.Anneal, Status: cfg.Status}
}

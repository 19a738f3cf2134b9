package dag

import (
	gocontext "context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/transdim/vti"
	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/atomicfile"
	"github.com/transdim/vti/internal/rundir"
	"github.com/transdim/vti/internal/stream"
)

// RunConfig says how Run works.
type RunConfig struct {
	// Fit configures training. Run sets Models and Checkpoint, and what Problem.Training decides.
	Fit vti.Config
	// Draws is the number of draws for the families that matter, beyond a first look at all; 0
	// stands for 131,072 with linear mechanisms and 16,384 with networks.
	Draws int
	// Anneal is the number of families whose draws are annealed, for posteriors of networks that
	// the flow may have missed a part of.
	Anneal int
	// Truth, if not nil, is compared with.
	Truth *dgraph.Graph
	// Dir is the run directory; it must exist.
	Dir string
	// Status, if not nil, hears what Run is doing after training.
	Status func(string)
}

// Run trains a flow over families, weighs their evidences, sums over graphs, and writes checkpoint,
// trace, tables and pictures to the run directory.
//
// When ctx is cancelled during training the checkpoint is written and the error wraps ctx.Err();
// Run with Fit.Resume set continues from there.
func Run(ctx gocontext.Context, device *gpu.Device, problem *Problem, cfg RunConfig) (*Result, error) {
	started := time.Now()
	if cfg.Draws == 0 {
		cfg.Draws = defaultDraws
		if problem.Model.Mechanism == MLP {
			cfg.Draws = defaultDraws / 8
		}
	}
	if cfg.Status == nil {
		cfg.Status = func(string) {}
	}
	fit := problem.Training(cfg.Fit)
	fit.Checkpoint = filepath.Join(cfg.Dir, rundir.PosteriorFile)
	target := newFamilyTarget(problem)
	rows, err := startTrace(&fit, cfg.Dir)
	if err != nil {
		return nil, err
	}
	var traceErr error
	fit.Progress = traced(rows, fit.Progress, &traceErr)
	if target.anchors, err = problem.anchorsOf(ctx, device, target, fit, cfg); err != nil {
		return nil, errors.Join(err, rows.Close())
	}
	trained, err := problem.fitFamilies(ctx, device, target, fit)
	if err = errors.Join(err, traceErr, rows.Close()); err != nil {
		return nil, err
	}
	fitted := time.Now()
	found, posterior, err := problem.weigh(ctx, trained, target, cfg.Draws, cfg.Anneal, cfg.Status)
	if err != nil {
		return nil, err
	}
	cfg.Status("drawing graphs")
	graphs, err := posterior.Sample(ctx, stream.Rand(fit.Seed, "graphs"), graphDraws)
	if err != nil {
		return nil, err
	}
	edgeErrors := posterior.EdgeErrors(graphs)
	result := &Result{Command: "dag", Version: vti.Version, Seed: &fit.Seed, Backend: device.String(), Steps: trained.Steps(), Loss: number(rows.Loss), RunDir: cfg.Dir}
	result.Certificate = posterior.certify(graphs, edgeErrors, found.draws, found.evidences.NonFinite())
	if err := problem.fill(ctx, result, posterior, graphs, edgeErrors, cfg.Truth); err != nil {
		return nil, err
	}
	random := stream.Rand(fit.Seed, "parameters")
	source := found.parameters(random)
	if err := problem.describe(ctx, result, cfg.Dir, posterior.mixture(), source, drawnFrom(spread(graphs, random), problem.Families, source), random); err != nil {
		return nil, err
	}
	result.Seconds = Seconds{Train: fitted.Sub(started).Seconds(), Certify: time.Since(fitted).Seconds(), Total: time.Since(started).Seconds()}
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
	if err != nil {
		return nil, err
	}
	return a, a.write(path)
}

// traced adds every report to a trace before report, if not nil, hears of it. Errors are joined to
// failed.
func traced(rows *rundir.Trace, report func(vti.Info), failed *error) func(vti.Info) {
	return func(info vti.Info) {
		*failed = errors.Join(*failed, rows.Add(rundir.Report{
			Step: info.Step, Loss: info.Loss, Entropy: info.Entropy, GradientNorm: info.GradientNorm,
			NonFinite: info.NonFinite, SkippedSteps: info.SkippedSteps, StepsPerSecond: info.StepsPerSecond,
		}))
		if report != nil {
			report(info)
		}
	}
}

// startTrace opens the trace of a run, and of a run that is resumed continues it. A run that was
// stopped before its first checkpoint starts again.
func startTrace(fit *vti.Config, dir string) (*rundir.Trace, error) {
	lastStep := 0
	if fit.Resume {
		info, err := vti.ReadCheckpointInfo(fit.Checkpoint)
		switch {
		case errors.Is(err, os.ErrNotExist):
			fit.Resume = false
		case err != nil:
			return nil, err
		default:
			lastStep = info.Step
		}
	}
	if err := atomicfile.Sweep(dir); err != nil {
		return nil, err
	}
	return rundir.OpenTrace(filepath.Join(dir, rundir.TraceFile), lastStep)
}

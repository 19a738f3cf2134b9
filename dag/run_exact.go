package dag

import (
	gocontext "context"

	"github.com/transdim/vti"
	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/run"
)

// ExactConfig says how RunExact works. The zero value is usable.
type ExactConfig struct {
	// Command is the name of the command in the result.
	Command string
	// Seed is the random seed: of the graphs drawn, and of the draws of parameters.
	Seed uint64
	// Truth, if not nil, is compared with.
	Truth *dgraph.Graph
	// Dir is the run directory, which must exist; "" keeps no files.
	Dir string
	// Progress, if not nil, is called with the number of families scored, and Status with what
	// comes after.
	Progress func(done, total int)
	Status   func(string)
}

// RunExact finds the posterior over graphs of mechanisms with a closed form by sums over all
// graphs, and writes tables and pictures to the run directory. Edge probabilities are exact, but
// with mixed mechanisms for the standard errors of evidences; probabilities of single graphs are
// too, and those of classes are shares of draws.
func RunExact(ctx gocontext.Context, problem *Problem, cfg ExactConfig) (*Result, error) {
	clock := run.NewClock()
	if cfg.Status == nil {
		cfg.Status = func(string) {}
	}
	if err := problem.CheckExact(); err != nil {
		return nil, err
	}
	if problem.Families == nil {
		problem.Families = problem.Structure.Families()
	}
	scores, err := problem.ExactScores(ctx, cfg.Progress)
	if err != nil {
		return nil, err
	}
	posterior, err := NewPosterior(ctx, problem.Structure, scores, cfg.Status)
	if err != nil {
		return nil, err
	}
	cfg.Status("drawing graphs")
	graphs, err := posterior.Sample(ctx, stream.Rand(cfg.Seed, "graphs"), graphDraws)
	if err != nil {
		return nil, err
	}
	result := &Result{Schema: resultSchema, Command: cfg.Command, Version: vti.Version, Seed: &cfg.Seed, RunDir: cfg.Dir}
	result.Certificate = exactCertificate(len(problem.Families))
	edgeErrors := zeros(problem.Data.Nodes())
	if scores.KHat != nil {
		edgeErrors = posterior.EdgeErrors(graphs)
		result.Certificate = posterior.certifyScores(graphs, edgeErrors)
	}
	if err := problem.fill(ctx, result, posterior, graphs, edgeErrors, cfg.Truth); err != nil {
		return nil, err
	}
	random := stream.Rand(cfg.Seed, "parameters")
	source := problem.exactParameters(problem.Families, random)
	if err := problem.describe(ctx, result, cfg.Dir, posterior.mixture(), source, problem.exactMoments(posterior.mixture()), drawnFrom(spread(graphs, random), problem.Families, source), random); err != nil {
		return nil, err
	}
	result.Seconds = clock.Seconds()
	return result, problem.write(result, cfg.Dir)
}

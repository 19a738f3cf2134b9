package dag

import (
	gocontext "context"
	"fmt"
	"math"
	"path/filepath"

	"github.com/transdim/vti"
	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/internal/atomicfile"
	"github.com/transdim/vti/internal/memory"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/run"
)

// GraphChainsConfig says how RunGraphChains works.
type GraphChainsConfig struct {
	Chains ChainConfig
	// Truth, if not nil, is compared with.
	Truth *dgraph.Graph
	// Dir is the run directory, which must exist; "" keeps no files. Chains.Checkpoint is there,
	// and Chains.Resume continues from it.
	Dir string
	// Status, if not nil, is called with what RunGraphChains is doing.
	Status func(string)
}

// RunGraphChains finds the posterior over graphs of linear mechanisms by Markov chains over graphs,
// whatever the number of nodes, and writes tables and pictures to the run directory. The parameters
// of mechanisms are drawn from closed forms given the graph.
func RunGraphChains(ctx gocontext.Context, problem *Problem, cfg GraphChainsConfig) (*Result, error) {
	clock := run.NewClock()
	numbers := float64(cfg.Chains.Chains) * keptGraphs * float64(problem.Data.Nodes())
	if err := memory.Check(fmt.Sprintf("dag: Chains %d", cfg.Chains.Chains), 16*numbers); err != nil {
		return nil, err
	}
	if cfg.Status == nil {
		cfg.Status = func(string) {}
	}
	if cfg.Dir != "" {
		cfg.Chains.Checkpoint = filepath.Join(cfg.Dir, run.ChainsFile)
		if err := atomicfile.Sweep(cfg.Dir); err != nil {
			return nil, err
		}
	}
	result := &Result{Schema: resultSchema, Command: "dag", Version: vti.Version, Seed: &cfg.Chains.Seed, RunDir: cfg.Dir}
	// chains give no evidence
	result.LogEvidence, result.LogEvidenceSE = Number(math.NaN()), Number(math.NaN())
	if problem.Data.missing != nil {
		if err := problem.runImputed(ctx, result, cfg); err != nil {
			return nil, err
		}
		result.Seconds = clock.Seconds()
		return result, problem.write(result, cfg.Dir)
	}
	sampled, err := problem.sampleGraphs(ctx, cfg.Chains, cfg.Status)
	if err != nil {
		return nil, err
	}
	edges, worst := sampled.edges()
	posterior, kept := sampled.gather()
	draws := kept.count()
	probabilities, errors := matricesOf(edges)
	var scores *Posterior
	if problem.weighs() { // what errors of the scores move
		scores = problem.scoreErrors(posterior)
		own := scores.EdgeErrors(draws)
		for i, row := range own {
			for j, se := range row {
				errors[i][j] = math.Hypot(errors[i][j], se)
			}
		}
		worst.MCSE = math.Hypot(worst.MCSE, float64(worstError(own)))
	}
	result.Certificate = certifyChains(len(sampled.graphs), keptGraphs, worst)
	if scores != nil {
		result.Certificate.weighted(scores, draws)
	}
	cfg.Status("comparing graphs")
	// As if the effective draws of the worst edge were those of every event.
	if err := problem.fillGraphs(ctx, result, graphEstimates{probabilities, errors, draws, shareOf(draws, worst.ESS)}, cfg.Truth); err != nil {
		return nil, err
	}
	random := stream.Rand(cfg.Chains.Seed, "parameters")
	source := problem.exactParameters(posterior.families, random)
	own := drawnFrom(kept.families, posterior.families, source)
	own.chain = kept.chain
	if err := problem.describe(ctx, result, cfg.Dir, posterior, source, problem.exactMoments(posterior), own, random); err != nil {
		return nil, err
	}
	result.Seconds = clock.Seconds()
	return result, problem.write(result, cfg.Dir)
}

// runImputed is [RunGraphChains] of a table with missing cells.
func (p *Problem) runImputed(ctx gocontext.Context, result *Result, cfg GraphChainsConfig) error {
	sampled, err := p.sampleGraphs(ctx, cfg.Chains, cfg.Status)
	if err != nil {
		return err
	}
	own := sampled.sample()
	edges, worst := sampled.edges()
	probabilities, errors := matricesOf(edges)
	result.Certificate = certifyChains(len(sampled.graphs), keptGraphs, worst)
	draws := own.count()
	if err := p.fillGraphs(ctx, result, graphEstimates{probabilities, errors, draws, shareOf(draws, worst.ESS)}, cfg.Truth); err != nil {
		return err
	}
	random := stream.Rand(cfg.Chains.Seed, "parameters")
	posterior, source := own.split(random)
	return p.describe(ctx, result, cfg.Dir, posterior, source, nil, own.thin(fileDraws), random)
}

package dag

import (
	gocontext "context"
	"fmt"
	"math"
	"path/filepath"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/internal/atomicfile"
	"github.com/transdim/vti/internal/memory"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/internal/verdict"
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
	o := output{command: "dag", seed: cfg.Chains.Seed, truth: cfg.Truth, dir: cfg.Dir, status: silent(cfg.Status), clock: run.NewClock()}
	numbers := float64(cfg.Chains.Chains) * keptGraphs * float64(problem.Data.Nodes())
	if err := memory.Check(fmt.Sprintf("dag: Chains %d", cfg.Chains.Chains), 16*numbers); err != nil {
		return nil, err
	}
	if cfg.Dir != "" {
		cfg.Chains.Checkpoint = filepath.Join(cfg.Dir, run.ChainsFile)
		if err := atomicfile.Sweep(cfg.Dir); err != nil {
			return nil, err
		}
	}
	sampled, err := problem.sampleGraphs(ctx, cfg.Chains, o.status)
	if err != nil {
		return nil, err
	}
	edges, worst := sampled.edges()
	probabilities, errors := matricesOf(edges)
	if problem.Data.missing != nil {
		return problem.concludeChains(ctx, o, certifyChains(len(sampled.graphs), keptGraphs, worst), probabilities, errors, sampled.sample())
	}
	families, kept := sampled.gather()
	graphs := kept.count()
	var scores *Posterior
	if problem.weighs() { // what errors of the scores move
		scores = problem.scoreErrors(families)
		own := scores.EdgeErrors(graphs)
		for i, row := range own {
			for j, se := range row {
				errors[i][j] = math.Hypot(errors[i][j], se)
			}
		}
		worst.MCSE = math.Hypot(worst.MCSE, float64(worstError(own)))
	}
	f := found{
		certificate: certifyChains(len(sampled.graphs), keptGraphs, worst), graphs: chainEstimates(probabilities, errors, graphs, worst.ESS),
		logEvidence: math.NaN(), logEvidenceSE: math.NaN(),
		families: families, moments: problem.exactMoments(families), random: stream.Rand(o.seed, "parameters"),
	}
	if scores != nil {
		f.certificate.addWeights(&verdict.Judgement{Verdict: f.certificate.Verdict, Reasons: f.certificate.Reasons}, scores, graphs)
	}
	f.source = problem.exactParameters(families.families, f.random)
	f.sample = drawnFrom(kept.families, families.families, f.source)
	f.sample.chain = kept.chain
	return problem.conclude(ctx, o, f)
}

package dag

import (
	gocontext "context"
	"fmt"
	"math"

	"github.com/transdim/vti/dag/effects"
	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/walk"
	"github.com/transdim/vti/internal/memory"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/internal/verdict"
	"github.com/transdim/vti/rjmcmc"
	"github.com/transdim/vti/run"
)

// GraphChainsConfig configures RunGraphChains.
type GraphChainsConfig struct {
	// Chains configures the Markov chains over graphs.
	Chains walk.ChainConfig
	// Truth is the true graph, which is compared with the answer; nil for none.
	Truth *dgraph.Graph
	// Dir is the run directory, which must exist; if it is empty no files are kept.
	Dir string
	// Resume continues a run in Dir that was stopped, or that Chains.MaxTime ended, from its
	// finished rounds.
	Resume bool
	// Status, if not nil, is called with descriptions of the current work.
	Status func(string)
}

// mostParameters is about the largest number of parameters of all drawn graphs together, with one
// for each pair of nodes in each graph. They take 1 GiB.
const mostParameters = 1 << 27

// RunGraphChains finds the posterior over graphs by Markov chains over graphs, for mechanisms whose
// evidences have a closed form and for any number of nodes. It writes tables and pictures to the
// run directory. The parameters of mechanisms are drawn from their posterior given the graph.
func RunGraphChains(ctx gocontext.Context, problem *score.Problem, cfg GraphChainsConfig) (result *Result, err error) {
	o := output{command: "dag", seed: cfg.Chains.Seed, truth: cfg.Truth, dir: cfg.Dir, status: run.Silent(cfg.Status), clock: run.NewClock()}
	numbers := float64(cfg.Chains.Chains) * walk.KeptGraphs * float64(problem.Data.Nodes())
	if err := memory.Check(fmt.Sprintf("dag: Chains %d", cfg.Chains.Chains), 16*numbers); err != nil {
		return nil, err
	}
	if cfg.Chains.Shard == nil && cfg.Dir != "" {
		settings := []any{cfg.Chains.Chains, cfg.Chains.Candidates, cfg.Chains.Seed}
		if cfg.Chains.Shard, err = keptPieces(cfg.Dir, cfg.Resume, problem, settings); err != nil {
			return nil, err
		}
		defer removePieces(cfg.Dir, cfg.Chains.MaxTime, &err)
	}
	sampled, err := walk.SampleGraphs(problem, ctx, cfg.Chains, o.status)
	if err != nil {
		return nil, err
	}
	edges := sampled.Last
	certify := func() *Certificate {
		c := certifyChains(len(sampled.Graphs), walk.KeptGraphs, edges, problem.Data.Names)
		c.SearchedParents = walk.SearchedParents(problem)
		return c
	}
	if problem.Data.Missing != nil {
		return concludeChains(problem, ctx, o, certify(), edges, sampled.Sample())
	}
	families, kept, chain := sampled.Some()
	graphs := score.CountDraws(families, kept)
	var scores *score.Posterior
	if problem.Weighs() { // add the effect of errors of evidences from importance weights
		scores = problem.ScoreErrors(families)
		errors := scores.EdgeErrors(graphs)
		for i, row := range errors {
			for j, se := range row {
				edges.Errors[i][j] = math.Hypot(edges.Errors[i][j], se)
			}
		}
		for _, worst := range []*rjmcmc.Summary{&edges.Worst, &edges.Settled} {
			worst.MCSE = math.Hypot(worst.MCSE, float64(worstError(errors)))
		}
	}
	f := found{
		certificate: certify(), graphs: graphEstimates{edges.Probabilities, edges.Errors, graphs, walk.ShareOf(graphs, edges.Worst.ESS)},
		logEvidence: math.NaN(), logEvidenceSE: math.NaN(),
		families: families, moments: effects.ExactMoments(problem, families), random: stream.Rand(o.seed, "parameters"),
	}
	if scores != nil {
		f.certificate.addWeights(&verdict.Judgement{Verdict: f.certificate.Verdict, Reasons: f.certificate.Reasons}, scores, graphs)
	}
	f.sources = problem.ExactParameters(families.Families)
	nodes := problem.Data.Nodes()
	every := 1 + len(kept)*nodes*nodes/mostParameters
	f.sample = score.SampleFrom(score.EachOf(kept, every), families.Families, f.sources(f.random))
	f.sample.Chain = score.EachOf(chain, every)
	return conclude(problem, ctx, o, f)
}

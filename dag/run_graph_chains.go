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

// shareError is the standard error of a share of so many independent draws. A share nearer to 0 or
// 1 than half a draw has the error of half a draw: that no draw contradicts an event does not make
// it certain.
func shareError(share, draws float64) float64 {
	draws = math.Max(draws, 1)
	half := 0.5 / (draws + 1)
	share = math.Min(math.Max(share, half), 1-half)
	return math.Sqrt(share * (1 - share) / draws)
}

// shareOf is the share of draws for which an event holds, with the standard error that so many
// independent draws have.
func shareOf(draws []Draw, independent float64) func(event func(*dgraph.Graph) bool) (probability, se float64) {
	return func(event func(*dgraph.Graph) bool) (probability, se float64) {
		for _, d := range draws {
			if event(d.Graph) {
				probability += d.Probability
			}
		}
		return probability, shareError(probability, independent)
	}
}

// comparedGraphs bounds the graphs that are described one by one, evenly spread over all draws:
// equivalence classes take long.
const comparedGraphs = 3000

// gather lists the families of all draws with their shares, and some of the draws.
func (s *sampledGraphs) gather() (posterior mixture, kept someGraphs) {
	place := map[dgraph.Family]int{}
	total := float64(len(s.graphs) * len(s.graphs[0]))
	every := max(1, int(total)/comparedGraphs)
	for c, chain := range s.graphs {
		for k, parents := range chain {
			own := make([]int, len(parents))
			for j, set := range parents {
				f := dgraph.Family{Node: j, Parents: set}
				at, seen := place[f]
				if !seen {
					at = len(posterior.families)
					place[f] = at
					posterior.families, posterior.shares = append(posterior.families, f), append(posterior.shares, 0)
				}
				posterior.shares[at] += 1 / total
				own[j] = at
			}
			if (c*len(chain)+k)%every == 0 {
				kept.graphs, kept.families, kept.chain = append(kept.graphs, dgraph.FromParents(parents)), append(kept.families, own), append(kept.chain, int32(c+1))
			}
		}
	}
	return posterior, kept
}

// someGraphs are some of the draws of chains, evenly spread over them.
type someGraphs struct {
	graphs   []*dgraph.Graph
	families [][]int // by node
	chain    []int32 // from 1
}

// count lists the different graphs, the most frequent first.
func (k someGraphs) count() []Draw { return countDraws(k.graphs, k.families) }

// countDraws lists the different ones of some graphs, the most frequent first. families may be nil.
func countDraws(graphs []*dgraph.Graph, families [][]int) []Draw {
	place := map[string]int{}
	var draws []Draw
	for k, g := range graphs {
		key := g.Key()
		at, seen := place[key]
		if !seen {
			at = len(draws)
			place[key] = at
			// the chains give errors for edges
			draws = append(draws, Draw{Graph: g, SE: math.NaN()})
			if families != nil {
				draws[at].Families = families[k]
			}
		}
		draws[at].Count++
	}
	order := make([]int, len(draws))
	for i := range order {
		order[i] = i
	}
	sortBy(order, func(i int) float64 { return -float64(draws[i].Count) })
	sorted := make([]Draw, len(draws))
	for i, from := range order {
		sorted[i] = draws[from]
		sorted[i].Probability = float64(sorted[i].Count) / float64(len(graphs))
	}
	return sorted
}

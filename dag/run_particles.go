package dag

import (
	"cmp"
	gocontext "context"
	"fmt"
	"math"
	"time"

	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/networks"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/dag/walk"
	"github.com/transdim/vti/internal/memory"
	"github.com/transdim/vti/run"
	"github.com/transdim/vti/shard"
)

// ParticlesConfig configures RunParticles.
type ParticlesConfig struct {
	// Islands is the largest number of islands: independent groups of particles, which estimate the
	// evidences that matter. 0 stands for some minutes of work. Seed is the random seed.
	Islands int
	Seed    uint64
	// Chains asks for chains over graphs instead of sums over all graphs. Evidences are then
	// estimated for a list of families (nodes with sets of parents) that grows during the run.
	Chains bool
	// Truth is the true graph, which is compared with the answer; nil for none.
	Truth *dgraph.Graph
	// MaxTime, if not 0, is the time after which no further estimate begins.
	MaxTime time.Duration
	// Dir is the run directory, which must exist; if it is empty no files are kept.
	Dir string
	// Status, if not nil, is called with descriptions of the current work.
	Status func(string)
	// Resume continues a stopped run in Dir, from its finished runs of particles.
	Resume bool
	// Shard, if not nil, says which part of the work this process does, among several processes
	// that estimate the same evidences together. Every process ends with the evidences that a
	// single process would have.
	Shard *shard.Shard

	keepAfter time.Duration // replaces the constant keepAfter in tests, if it is not 0
}

// keepAfter is the time from the start after which results of particle runs are stored, so that a
// stopped run can resume. Storing takes milliseconds, as long as a particle run for a few rows.
const keepAfter = 10 * time.Second

// RunParticles finds the posterior over graphs with network mechanisms, by a sum over all graphs or
// by chains. The evidences of nodes given their parents come from particles that are tempered from
// the prior to the posterior of the first layer, with the output layer integrated out. RunParticles
// writes tables and pictures to the run directory.
func RunParticles(ctx gocontext.Context, problem *score.Problem, cfg ParticlesConfig) (result *Result, err error) {
	o := output{command: "dag", seed: cfg.Seed, truth: cfg.Truth, dir: cfg.Dir, status: run.Silent(cfg.Status), clock: run.NewClock()}
	// memory for the normal equations of the output layer of one particle
	if err := memory.Check(fmt.Sprintf("dag: Hidden %d", problem.Model.Hidden), 8*float64(problem.Model.Hidden)*float64(problem.Model.Hidden)); err != nil {
		return nil, err
	}
	if problem.Model.Mechanism != sem.MLP {
		return nil, fmt.Errorf("particles are for mechanisms that are networks, not for %s", problem.Model.Mechanism)
	}
	if err := problem.Listable(score.MaxFamilies); err != nil && !cfg.Chains {
		return nil, err
	}
	var kept *shard.Shard
	if cfg.Shard == nil && cfg.Dir != "" {
		if kept, err = keptPieces(cfg.Dir, cfg.Resume, problem, []any{cfg.Islands, cfg.Chains, cfg.Seed}); err != nil {
			return nil, err
		}
		defer removePieces(cfg.Dir, cfg.MaxTime, &err)
	}
	if cfg.Chains {
		return concludeParticles(problem, ctx, o, newFoundFamilies(problem.Structure, nil, allNetworks), cfg, kept, math.Inf(1))
	}
	scores := cfg.scores(problem, kept, o.status)
	posterior, err := scores.Estimate(ctx)
	if err != nil {
		return nil, err
	}
	return concludeSum(problem, ctx, o, posterior, nil, scores.Parameters, func(graphs []score.Draw, edgeErrors [][]float64) *Certificate {
		return certifyParticles(scores, posterior, graphs, edgeErrors)
	})
}

func (cfg ParticlesConfig) scores(p *score.Problem, kept *shard.Shard, status func(string)) *networks.Scores {
	s := networks.NewScores(p, cfg.Seed, cfg.Islands, status)
	s.Shard, s.MaxTime = cfg.Shard, cfg.MaxTime
	s.Kept, s.KeepAfter = kept, cmp.Or(cfg.keepAfter, keepAfter)
	if cfg.Resume && cfg.Shard == nil {
		s.KeepAfter = 0
	}
	return s
}

// listRounds is the number of rounds in which a list of nodes with sets of parents grows and its
// evidences become more precise. If sets found in the last round have much probability, the answer
// is doubtful.
const listRounds = 4

// concludeParticles makes a result of graphs whose families (nodes with sets of parents) are on a
// list that grows. The evidences come from particles. Pilot runs, which are cheap, find the
// probable families; the neighbours of probable families get pilot runs too. More precise runs then
// change the probabilities, and the search goes on. mostFound is the largest accepted probability,
// for one node, of families that were not on the first list.
func concludeParticles(p *score.Problem, ctx gocontext.Context, o output, families *foundFamilies, cfg ParticlesConfig, kept *shard.Shard, mostFound float64) (*Result, error) {
	mostSummed := walk.MostSummed
	if cfg.Chains {
		mostSummed = 0
	}
	listed, sums := *p, walk.NewListedGraphs(p.Structure, o.seed, mostSummed)
	listed.Families = families.list
	scores := cfg.scores(&listed, kept, o.status)
	scores.Listed = true
	var posterior *score.Posterior
	var left float64
	var err error
	for round := range listRounds {
		left, err = families.grow(ctx, func(list []dgraph.Family) (*score.Posterior, error) {
			listed.Families = list
			if err := scores.Pilots(ctx); err != nil {
				return nil, err
			}
			return sums.Posterior(ctx, p.Structure, scores.Scores(false), o.status)
		}, scores.Over, o.status)
		if err != nil {
			return nil, err
		}
		// Each round makes a part of the precise runs, to leave some for families found later.
		scores.Part = float64(round+1) / listRounds
		if posterior, err = scores.FineStage(ctx, sums.Posterior); err != nil {
			return nil, err
		}
	}
	posterior, err = sums.Settle(ctx, posterior.Scores, o.status)
	if err != nil {
		return nil, err
	}
	return concludeSum(&listed, ctx, o, posterior, nil, scores.Parameters, func(graphs []score.Draw, edgeErrors [][]float64) *Certificate {
		c := certifyParticles(scores, posterior, graphs, edgeErrors)
		c.addFound(families, sums, posterior, left, mostFound)
		return c
	})
}

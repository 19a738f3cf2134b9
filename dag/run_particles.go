package dag

import (
	gocontext "context"
	"fmt"
	"math"

	"github.com/transdim/vti"
	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/internal/memory"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/internal/verdict"
	"github.com/transdim/vti/run"
	"github.com/transdim/vti/shard"
)

// ParticlesConfig says how RunParticles works.
type ParticlesConfig struct {
	// Islands bounds the fine islands of particles; 0: as many as take some minutes.
	Islands int
	// Seed is the random seed.
	Seed uint64
	// Truth, if not nil, is compared with.
	Truth *dgraph.Graph
	// Dir is the run directory, which must exist; "" keeps no files.
	Dir string
	// Status, if not nil, is called with what RunParticles is doing.
	Status func(string)
	// Shard, if not nil, is the part of this process among several that estimate the same families.
	// Each ends with the evidences of one process alone.
	Shard *shard.Shard
}

// RunParticles finds the posterior over graphs with network mechanisms: the evidences of families
// come from particles that are tempered from the prior to the posterior of the first layer, the
// output layer being integrated out, and graphs are summed over. It writes tables and pictures to
// the run directory.
func RunParticles(ctx gocontext.Context, problem *Problem, cfg ParticlesConfig) (*Result, error) {
	clock := run.NewClock()
	// the normal equations of the output layer of one particle
	if err := memory.Check(fmt.Sprintf("dag: Hidden %d", problem.Model.Hidden), 8*float64(problem.Model.Hidden)*float64(problem.Model.Hidden)); err != nil {
		return nil, err
	}
	if cfg.Status == nil {
		cfg.Status = func(string) {}
	}
	if problem.Model.Mechanism != MLP {
		return nil, fmt.Errorf("particles are for mechanisms that are networks, not for %s", problem.Model.Mechanism)
	}
	if err := problem.listable(maxFamilies); err != nil {
		return nil, err
	}
	scores := newParticleScores(problem, cfg.Seed, cfg.Islands, cfg.Status)
	scores.shard = cfg.Shard
	posterior, err := scores.estimate(ctx)
	if err != nil {
		return nil, err
	}
	cfg.Status("drawing graphs")
	draws, err := posterior.Sample(ctx, stream.Rand(cfg.Seed, "graphs"), graphDraws)
	if err != nil {
		return nil, err
	}
	edgeErrors := posterior.EdgeErrors(draws)
	result := &Result{Schema: resultSchema, Command: "dag", Version: vti.Version, Seed: &cfg.Seed, RunDir: cfg.Dir}
	if result.Certificate, err = scores.certify(ctx, posterior, draws, edgeErrors); err != nil {
		return nil, err
	}
	if err := problem.fill(ctx, result, posterior, draws, edgeErrors, cfg.Truth); err != nil {
		return nil, err
	}
	result.unsettled(problem.Data.Nodes())
	random := stream.Rand(cfg.Seed, "parameters")
	source := scores.parameters(random)
	if err := problem.describe(ctx, result, cfg.Dir, posterior.mixture(), source, nil, drawnFrom(spread(draws, random), problem.Families, source), random); err != nil {
		return nil, err
	}
	result.Seconds = clock.Seconds()
	return result, problem.write(result, cfg.Dir)
}

// unsettled adds to the error of the evidence what longer moves of particles would bring, of graphs
// of so many nodes.
func (r *Result) unsettled(nodes int) {
	rise := settlingSteps * float64(r.Certificate.Settling) * float64(nodes)
	r.LogEvidenceSE = Number(math.Hypot(float64(r.LogEvidenceSE), rise))
}

// certify judges evidences by how many of those that matter are fine, whether particles had
// settled, and what their errors make of the edges.
func (s *particleScores) certify(ctx gocontext.Context, graphs *Posterior, draws []Draw, edgeErrors [][]float64) (*Certificate, error) {
	c := &Certificate{
		KHat: Number(math.NaN()), Families: len(s.problem.Families), Draws: s.pilots*pilotChains*pilotSweeps + s.fine*fineChains*fineSweeps,
		WorstSE: worstError(edgeErrors), Islands: s.fine,
	}
	v := verdict.Judge(verdict.Measured{Event: "an edge", EventSE: float64(c.WorstSE)})
	rough, rise, err := s.judge(ctx, v, graphs, draws)
	c.Rough, c.Settling = Number(rough), Number(rise)
	c.judged(v)
	return c, err
}

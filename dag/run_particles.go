package dag

import (
	gocontext "context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/transdim/vti"
	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/internal/logsum"
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

// Islands by default: their work grows with the rows.
const (
	islandWork   = 1_600_000
	leastIslands = 300
	mostIslands  = 6_000
)

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

// Limits of the verdict on particles.
const (
	doubtfulRough = 0.5 // share of graphs with a family that has no fine islands
	failedRough   = 1
	// what moving twice as long may add to a log evidence, beyond which it is asked what that does
	// to edges
	settledNats = 0.5
	// settlingSteps is how much moving ever longer would add, in units of what moving twice as long
	// does: what is missing falls about as the inverse of the number of moves, so that it is one
	// such unit in the islands that move twice as long, and two in the other half.
	settlingSteps = 1.5
)

// certify judges evidences by how many of those that matter are fine, whether particles had
// settled, and what their errors make of the edges.
func (s *particleScores) certify(ctx gocontext.Context, graphs *Posterior, draws []Draw, edgeErrors [][]float64) (*Certificate, error) {
	c := &Certificate{
		KHat: Number(math.NaN()), Families: len(s.problem.Families), Draws: s.pilots*pilotChains*pilotSweeps + s.fine*fineChains*fineSweeps,
		WorstSE: worstError(edgeErrors), Islands: s.fine,
	}
	rough, total := 0.0, 0.0
	for _, d := range draws {
		total += float64(d.Count)
		for _, f := range d.Families {
			if !s.known(f) {
				rough += float64(d.Count)
				break
			}
		}
	}
	c.Rough = Number(rough / total)
	rise, se := s.settling()
	c.Settling = Number(rise)
	v := verdict.Judge(verdict.Measured{Event: anEdge, EventSE: float64(c.WorstSE)})
	v.Limit(float64(c.Rough), doubtfulRough, failedRough, "%.2g of the graphs have a family whose evidence comes from a pilot run only")
	if math.Abs(rise) > math.Max(3*se, settledNats) {
		change, err := s.unsettled(ctx, graphs)
		if err != nil {
			return nil, err
		}
		v.Limit(change, verdict.DoubtfulEventSE, verdict.FailedEventSE, "particles have not settled, and moving them longer may change an edge probability by %.2g")
	}
	c.judged(v)
	return c, nil
}

// unsettled is how far edge probabilities change when every log evidence rises by what moving ever
// longer would add, extrapolated from moving twice as long: more the more parents.
func (s *particleScores) unsettled(ctx gocontext.Context, graphs *Posterior) (worst float64, err error) {
	rise, _ := fitGaps(s.differences())
	scores := graphs.Scores
	scores.LogEvidence = slices.Clone(scores.LogEvidence)
	for i, f := range scores.Families {
		if !s.exact[i] {
			scores.LogEvidence[i] += settlingSteps * rise(f.Parents.Len())
		}
	}
	moved, err := NewPosterior(ctx, graphs.Structure, scores, nil)
	if err != nil {
		return 0, err
	}
	before, after := graphs.EdgeProbabilities(), moved.EdgeProbabilities()
	for _, e := range dgraph.OrderedPairs(graphs.Structure.Nodes) {
		worst = math.Max(worst, math.Abs(after[e.From][e.To]-before[e.From][e.To]))
	}
	return worst, nil
}

// parameters returns a source of draws from the posterior of families. Families that have no fine
// islands get one.
func (s *particleScores) parameters(random *rand.Rand) parameterSource {
	p, l := s.problem, s.problem.layout()
	linear := *p
	linear.Model.Mechanism = Linear
	rootNoise, linearLayout := linear.exactParameters(p.Families, random), linear.layout()
	cumulative := map[int][]float64{}
	return func(f int) []float64 {
		if s.exact[f] {
			theta := make([]float64, l.dim())
			if l.sigma == 0 {
				theta[l.weights()] = linearLayout.logSigma(rootNoise(f))
			}
			return theta
		}
		if len(s.islands[f]) == 0 {
			s.islands[f] = []island{newNetworkFamily(p, p.Families[f]).temper(random, l, p.Families[f], fineChains, fineSweeps)}
		}
		if cumulative[f] == nil {
			logs := make([]float64, len(s.settled(f)))
			for k, own := range s.settled(f) {
				logs[k] = own.logEvidence
			}
			norm, total := logsum.Of(logs), 0.0
			for _, x := range logs {
				total += math.Exp(x - norm)
				cumulative[f] = append(cumulative[f], total)
			}
		}
		thetas := s.settled(f)[drawIndex(random, cumulative[f])].thetas
		return thetas[random.IntN(len(thetas))]
	}
}

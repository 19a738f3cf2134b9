package dag

import (
	gocontext "context"
	"fmt"
	"math/rand/v2"

	"github.com/transdim/vti"
	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/memory"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/internal/verdict"
	"github.com/transdim/vti/run"
)

// RunMade trains one flow over the parameters of all nodes together with q(m), a distribution over
// orders and the edges along them, as the paper does. Given the graph the posterior is a product
// over nodes, and so is the flow: nodes share its networks, which are told the node and its
// parents. The loss is then a sum over nodes, which q(m) follows with little noise
// ([learnedGraphs]).
//
// Draws of q(m) are weighted by evidences of families: those that weights of the flow give, and for
// networks, where these cannot be relied on, those of particles ([RunParticles]), whose pilot runs
// q(m) starts from. Whether they show the whole posterior is checked by the sum over all graphs of
// the same evidences. Files
// are those of [RunFlow].
func RunMade(ctx gocontext.Context, device *gpu.Device, problem *Problem, cfg RunConfig) (*Result, error) {
	o := output{clock: run.NewClock()}
	if err := problem.CheckMade(); err != nil {
		return nil, err
	}
	if err := memory.Check(fmt.Sprintf("dag: Draws %d", cfg.Draws), 8*float64(cfg.Draws)); err != nil {
		return nil, err
	}
	cfg = problem.withDefaultDraws(cfg)
	target := problem.madeTarget()
	training, err := run.StartTraining(cfg.Dir, cfg.Fit.Resume)
	if err != nil {
		return nil, err
	}
	fit := training.Configure(cfg.Fit, 0)
	var particles *particleScores // of networks
	if problem.Model.Mechanism == MLP {
		particles = newParticleScores(problem, fit.Seed, cfg.Islands, cfg.Status)
	}
	pilot, err := problem.pilotScores(ctx, device, target, particles)
	if err == nil {
		err = target.anchor(ctx, device, fit, cfg.Dir, cfg.Status)
	}
	if err != nil {
		return nil, training.End(err)
	}
	models := newLearnedGraphs(problem, pilot)
	trained, err := vti.Fit(ctx, device, target.asTarget(), problem.madeTraining(fit, models))
	if err = training.End(err); err != nil {
		return nil, err
	}
	o = o.trained(device, trained, training, cfg)
	cfg.Status("drawing graphs from q(m)")
	proposals, err := models.proposals(ctx, trained, stream.Rand(fit.Seed, "orders and graphs"))
	if err != nil {
		return nil, err
	}
	sum := func(ctx gocontext.Context, structure dgraph.Structure, scores Scores, _ func(string)) (*Posterior, error) {
		return proposals.posterior(structure, scores), ctx.Err()
	}
	var posterior *Posterior
	var parameters func(*rand.Rand) parameterSource
	var certify func(graphs []Draw, edgeErrors [][]float64) (*Certificate, error)
	if particles != nil {
		posterior, err = particles.fineStage(ctx, sum)
		parameters = particles.parameters
		certify = func(graphs []Draw, edgeErrors [][]float64) (*Certificate, error) {
			return certifyParticles(ctx, particles, posterior, graphs, edgeErrors)
		}
	} else {
		var evidences *scored
		evidences, posterior, err = problem.estimate(ctx, trained, target, sum, cfg.evidences(problem))
		parameters = func(random *rand.Rand) parameterSource { return evidences.parameters(random) }
		certify = func(graphs []Draw, edgeErrors [][]float64) (*Certificate, error) {
			return certifyWeights(posterior, graphs, edgeErrors, evidences.draws, evidences.evidences.NonFinite()), nil
		}
	}
	if err != nil {
		return nil, err
	}
	cfg.Status("checking q(m) by the sum over graphs")
	exact, err := NewPosterior(ctx, problem.Structure, posterior.Scores, cfg.Status)
	if err != nil {
		return nil, err
	}
	return problem.concludeSum(ctx, o, posterior, nil, parameters, func(graphs []Draw, edgeErrors [][]float64) (*Certificate, error) {
		c, err := certify(graphs, edgeErrors)
		if err == nil {
			v := &verdict.Judgement{Verdict: c.Verdict, Reasons: c.Reasons}
			proposals.judge(v, posterior.Scores, exact.LogEvidence)
			c.judged(v)
		}
		return c, err
	})
}

// pilotScores are what q(m) starts from, score by score: of networks pilot runs of particles, and
// of linear mechanisms Laplace approximations. A run that is resumed has them in its checkpoint.
func (p *Problem) pilotScores(ctx gocontext.Context, device *gpu.Device, target *familyTarget, particles *particleScores) ([]float64, error) {
	if particles == nil {
		return target.laplaceScores(device)
	}
	if err := particles.pilotStage(ctx); err != nil {
		return nil, err
	}
	return particles.scores(false).LogEvidence, nil
}

package dag

import (
	gocontext "context"
	"fmt"
	"math/rand/v2"

	"github.com/transdim/vti"
	"github.com/transdim/vti/dag/flows"
	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/networks"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/sem"
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
func RunMade(ctx gocontext.Context, device *gpu.Device, problem *score.Problem, cfg RunConfig) (*Result, error) {
	o := output{clock: run.NewClock()}
	if err := problem.CheckMade(); err != nil {
		return nil, err
	}
	if err := memory.Check(fmt.Sprintf("dag: Draws %d", cfg.Draws), 8*float64(cfg.Draws)); err != nil {
		return nil, err
	}
	cfg = withDefaultDraws(problem, cfg)
	target := flows.MadeTarget(problem)
	training, err := run.StartTraining(cfg.Dir, cfg.Fit.Resume)
	if err != nil {
		return nil, err
	}
	fit := training.Configure(cfg.Fit, 0)
	var particles *networks.Scores // of networks
	if problem.Model.Mechanism == sem.MLP {
		particles = networks.NewScores(problem, fit.Seed, cfg.Islands, cfg.Status)
	}
	pilot, err := pilotScores(problem, ctx, particles)
	if err != nil {
		return nil, training.End(err)
	}
	models := flows.NewLearnedGraphs(problem, pilot)
	trained, err := vti.Fit(ctx, device, target.AsTarget(), flows.TrainingOfGraphs(problem, fit, models))
	if err = training.End(err); err != nil {
		return nil, err
	}
	o = o.trained(device, trained, training, cfg)
	cfg.Status("drawing graphs from q(m)")
	proposals, err := models.Proposals(ctx, trained, stream.Rand(fit.Seed, "orders and graphs"))
	if err != nil {
		return nil, err
	}
	sum := func(ctx gocontext.Context, structure dgraph.Structure, scores score.Scores, _ func(string)) (*score.Posterior, error) {
		return proposals.Posterior(structure, scores), ctx.Err()
	}
	var posterior *score.Posterior
	var parameters func(*rand.Rand) score.ParameterSource
	var certify func(graphs []score.Draw, edgeErrors [][]float64) (*Certificate, error)
	if particles != nil {
		posterior, err = particles.FineStage(ctx, sum)
		parameters = particles.Parameters
		certify = func(graphs []score.Draw, edgeErrors [][]float64) (*Certificate, error) {
			return certifyParticles(ctx, particles, posterior, graphs, edgeErrors)
		}
	} else {
		var evidences *flows.Evidences
		evidences, posterior, err = flows.Estimate(problem, ctx, trained, target, sum, cfg.evidences(problem))
		parameters = func(random *rand.Rand) score.ParameterSource { return evidences.Parameters(random) }
		certify = func(graphs []score.Draw, edgeErrors [][]float64) (*Certificate, error) {
			return certifyWeights(posterior, graphs, edgeErrors, evidences.Draws, evidences.Evidences.NonFinite()), nil
		}
	}
	if err != nil {
		return nil, err
	}
	cfg.Status("checking q(m) by the sum over graphs")
	exact, err := score.NewPosterior(ctx, problem.Structure, posterior.Scores, cfg.Status)
	if err != nil {
		return nil, err
	}
	return concludeSum(problem, ctx, o, posterior, nil, parameters, func(graphs []score.Draw, edgeErrors [][]float64) (*Certificate, error) {
		c, err := certify(graphs, edgeErrors)
		if err == nil {
			v := &verdict.Judgement{Verdict: c.Verdict, Reasons: c.Reasons}
			proposals.Judge(v, posterior.Scores, exact.LogEvidence)
			c.judged(v)
		}
		return c, err
	})
}

// pilotScores are what q(m) starts from, score by score: of networks pilot runs of particles, and
// of linear mechanisms closed forms. A run that is resumed has them in its checkpoint.
func pilotScores(p *score.Problem, ctx gocontext.Context, particles *networks.Scores) ([]float64, error) {
	if particles == nil {
		scores, err := p.ExactScores(ctx, nil)
		return scores.LogEvidence, err
	}
	if err := particles.PilotStage(ctx); err != nil {
		return nil, err
	}
	return particles.Scores(false).LogEvidence, nil
}

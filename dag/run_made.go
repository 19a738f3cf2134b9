package dag

import (
	gocontext "context"
	"fmt"
	"math"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"

	"github.com/transdim/vti"
	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/memory"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/internal/verdict"
	"github.com/transdim/vti/run"
)

// MadeTraining fills in what the problem decides of the training of RunMade where fit leaves it
// open. Batch is the number of graphs.
func (p *Problem) MadeTraining(fit vti.Config) vti.Config {
	p.setByMechanism(&fit.Steps, 300, 1000)
	p.setByMechanism(&fit.Batch, 128, 32) // a draw of networks costs a pass over the data
	return fit
}

// madeModelStep is the rate of Adam on q(m), 0.02 on its logits, as a multiple of that of the
// engine. Chosen by hand.
const madeModelStep = 40

// madeTraining is the training of the flow and of q(m) on the rows of graphs.
func (p *Problem) madeTraining(fit vti.Config, models *learnedGraphs) vti.Config {
	fit = p.MadeTraining(fit)
	fit.Batch = max(fit.Batch, 2) * models.Rows() // each graph is compared with others
	fit.Models, fit.ModelStep = models, madeModelStep
	// entropies of rows are not those of graphs; the variance of the gradient is small instead
	fit.InformationGain = math.Inf(1)
	return fit
}

// madeTarget is the target of all families for rows of graphs.
func (p *Problem) madeTarget() *familyTarget {
	t := newFamilyTarget(p)
	t.space.cards = append(t.space.cards, 1<<p.Structure.Nodes)
	return t
}

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
	clock := run.NewClock()
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
		target.anchors, err = problem.anchorsOf(ctx, device, target, fit, cfg)
	}
	if err != nil {
		return nil, training.End(err)
	}
	models := newLearnedGraphs(problem, pilot)
	trained, err := vti.Fit(ctx, device, target.asTarget(), problem.madeTraining(fit, models))
	if err = training.End(err); err != nil {
		return nil, err
	}
	clock.Trained()
	cfg.Status("drawing graphs from q(m)")
	proposals, err := models.proposals(ctx, trained, stream.Rand(fit.Seed, "orders and graphs"))
	if err != nil {
		return nil, err
	}
	sum := func(ctx gocontext.Context, structure dgraph.Structure, scores Scores, _ func(string)) (*Posterior, error) {
		return proposals.posterior(structure, scores), ctx.Err()
	}
	answer := flowAnswer{steps: trained.Steps(), loss: training.Loss(), backend: device.String()}
	if particles != nil {
		answer.evidences = particles
		answer.posterior, err = particles.fineStage(ctx, sum)
	} else {
		answer.evidences, answer.posterior, err = problem.estimate(ctx, trained, target, sum, cfg.evidences(problem))
	}
	if err != nil {
		return nil, err
	}
	cfg.Status("checking q(m) by the sum over graphs")
	scores := answer.posterior.Scores
	exact, err := NewPosterior(ctx, problem.Structure, scores, cfg.Status)
	if err != nil {
		return nil, err
	}
	answer.judge = func(v *verdict.Judgement) { proposals.judge(v, scores, exact.logTotal) }
	return problem.concludeFlow(ctx, answer, fit.Seed, cfg, clock)
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

// laplaceScores are the log evidences that the quadratics of linear families amount to.
func (t *familyTarget) laplaceScores(device *gpu.Device) ([]float64, error) {
	dim := t.space.Dim()
	exec, err := graph.NewExec(device.Backend(), func(codes, theta *graph.Node) *graph.Node {
		return graph.ConvertDType(t.logJointOf(codes, t.space.Mask(codes), theta), dtypes.Float64)
	})
	if err != nil {
		return nil, err
	}
	codes, modes := make([]int32, 0, 2*len(t.nodes)), make([]float64, 0, dim*len(t.nodes))
	scores := make([]float64, len(t.nodes))
	var stats *linearStats
	for i, f := range t.problem.Families {
		if i == 0 || t.problem.Families[i-1].Node != f.Node {
			stats = newLinearStats(t.problem.Data, f.Node)
		}
		q, mask := newQuadratic(t.layout, stats, f, t.problem.Model.PriorSD), t.layout.mask(f)
		_, logDet, err := q.transform(mask)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.problem.familyName(f), err)
		}
		scores[i] = logDet + float64(len(used(mask)))*halfLog2Pi
		codes, modes = append(codes, t.space.code(i)...), append(modes, q.mode...)
	}
	outputs, err := exec.Exec(tensors.FromFlatDataAndDimensions(codes, len(t.nodes), len(t.space.cards)), tensors.FromFlatDataAndDimensions(modes, len(t.nodes), dim))
	if err != nil {
		return nil, fmt.Errorf("pilot scores of families: %w", err)
	}
	for i, value := range tensors.MustCopyFlatData[float64](outputs[0]) {
		if scores[i] += value; math.IsNaN(scores[i]) || math.IsInf(scores[i], 0) {
			return nil, fmt.Errorf("the pilot score of %s is %g", t.problem.familyName(t.problem.Families[i]), scores[i])
		}
	}
	return scores, nil
}

// posterior is what draws of q(m) amount to with the scores of families.
func (p *graphProposals) posterior(structure dgraph.Structure, scores Scores) *Posterior {
	sum := p.sum(scores.LogEvidence)
	out := &Posterior{Structure: structure, Scores: scores, sum: sum, logTotal: sum.logTotal}
	out.LogEvidence = sum.logTotal - p.models.logMass
	out.Marginals = sum.Marginals(len(scores.Families), func(int, int) bool { return true })
	variance := square(sum.weights.LogMeanSE)
	for i, share := range out.Marginals {
		variance += square(share * scores.SE[i])
	}
	out.LogEvidenceSE, out.drawn = math.Sqrt(variance), sum.weights.ESS
	return out
}

// judge lowers the verdict where few draws of q(m) carry the weight, or where weights add up to
// less than all graphs do, whose log sum is exact. With that sum at hand the tail of the weights,
// of which there are few different ones where nodes are few, is not asked.
func (p *graphProposals) judge(v *verdict.Judgement, scores Scores, exact float64) {
	sum := p.sum(scores.LogEvidence)
	v.Add(verdict.Judge(verdict.Measured{ESS: sum.weights.ESS, Draws: len(p.families), EvidenceSE: sum.weights.LogMeanSE}))
	off := math.Abs(math.Expm1(sum.logTotal - exact))
	if noise := notableErrors * sum.weights.LogMeanSE; off > noise {
		v.Limit(off, verdict.DoubtfulMissed+noise, failedOff+noise, "the weights of draws of q(m) and the sum over all graphs differ by a share of %.2g")
	}
}

// Limits of the difference between weights and sum: in standard errors below which it may be
// chance, and the share above which the answer is not to be used.
const (
	notableErrors = 4
	failedOff     = 0.1
)

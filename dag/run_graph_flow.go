package dag

import (
	gocontext "context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/transdim/vti"
	"github.com/transdim/vti/dag/effects"
	"github.com/transdim/vti/dag/flows"
	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/dag/score"
	"github.com/transdim/vti/dag/sem"
	"github.com/transdim/vti/dag/walk"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/memory"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/run"
)

// RunConfig configures RunGraphFlow.
type RunConfig struct {
	// Fit configures training. RunGraphFlow sets its fields Models and Checkpoint, and the learning
	// of the distribution q(m) of graphs.
	Fit vti.Config
	// Draws is the number of importance-weighted draws if Undivided is set; 0 stands for 131,072
	// with linear mechanisms and 16,384 with networks.
	Draws int
	// Islands is the largest number of islands: independent groups of particles, which estimate the
	// evidences that matter. Networks have them unless Undivided is set. 0 stands for some minutes
	// of work.
	Islands int
	// Undivided asks for one flow over the parameters of all nodes together, not node by node.
	Undivided bool
	// Cold makes the learned distribution q(m) of graphs start as a uniform distribution.
	Cold bool
	// Truth is the true graph, which is compared with the answer; nil for none.
	Truth *dgraph.Graph
	// Dir is the run directory, which must exist; if it is empty no files are kept.
	Dir string
	// Status, if not nil, is called with descriptions of the work before and after training.
	Status func(string)
}

// RunGraphFlow trains one flow over the parameters of mechanisms together with q(m), a distribution
// over orders of the nodes and the edges along them. The gradient for q(m) is the score-function
// estimator (Davies et al. 2025, section 5.2).
//
// With cfg.Undivided it is the published method: q(m) is a masked autoregressive network over the
// digits of the order and the bits of edges, and the flow is over the parameters of all nodes
// together. The answer consists of weighted draws of q(m) q(θ | m). If the verdict says that the
// weights are not reliable, the answer consists of draws without weights.
//
// Otherwise RunGraphFlow works node by node. Given the graph the posterior is a product over nodes,
// so that one flow serves all nodes in turn, and the choice of a node's parents is judged by the
// loss of this node alone. A list holds the families (nodes with sets of parents) in draws of q(m),
// the families with few parents, and families that differ from a probable family by one parent.
// Linear mechanisms have closed forms of the evidences of the listed families. For networks, whose
// output layer is integrated out of the flow, evidences come from particles ([RunParticles]). The
// graphs made of these families are summed, or sampled by chains ([walk.ListedGraphs]).
//
// q(m) starts near graphs that chains with linear mechanisms and the same prior found, unless
// cfg.Cold is set.
//
// The checkpoint, the trace of training, tables and pictures are written to the run directory. If
// ctx is cancelled in training, the checkpoint is written and the error wraps ctx.Err(); a run with
// Fit.Resume continues from the checkpoint.
func RunGraphFlow(ctx gocontext.Context, device *gpu.Device, problem *score.Problem, cfg RunConfig) (*Result, error) {
	o := output{clock: run.NewClock()}
	if err := problem.CheckGraphFlow(cfg.Undivided); err != nil {
		return nil, err
	}
	if err := memory.Check(fmt.Sprintf("dag: Draws %d", cfg.Draws), 8*float64(cfg.Draws)); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults(problem)
	training, err := run.StartTraining(cfg.Dir, cfg.Fit.Resume)
	if err != nil {
		return nil, err
	}
	target, fit, err := flows.TrainingOfGraphs(problem, training.Configure(cfg.Fit, 0), cfg.Undivided)
	if err == nil && !cfg.Cold && !fit.Resume {
		cfg.Status("chains over graphs with linear mechanisms")
		fit.Warm, err = warmStart(ctx, problem, fit.Seed, cfg.Undivided)
	}
	var trained *vti.Posterior
	if err == nil {
		trained, err = vti.Fit(ctx, device, target, fit)
	}
	if err = training.End(err); err != nil {
		return nil, err
	}
	o.clock.Trained()
	o.command, o.backend, o.steps, o.loss = "dag", device.String(), trained.Steps(), new(Number(training.Loss()))
	o.seed, o.truth, o.dir, o.status = cfg.Fit.Seed, cfg.Truth, cfg.Dir, cfg.Status
	if cfg.Undivided {
		return concludeUndivided(ctx, problem, o, trained, cfg)
	}
	return concludeNodes(ctx, problem, o, trained, cfg)
}

func (cfg RunConfig) withDefaults(p *score.Problem) RunConfig {
	if cfg.Draws == 0 {
		cfg.Draws = 1 << 17
		if p.Model.Mechanism == sem.MLP {
			cfg.Draws = 1 << 14
		}
	}
	cfg.Status = run.Silent(cfg.Status)
	return cfg
}

// warmFlips is the probability of flipping each edge in the graphs from which the learned
// distribution of graphs starts. More flips make these graphs more varied, but lose more of the
// edges that the chains found. Half and twice the value give the same answers
// (docs/benchmarks/constants.md).
const warmFlips = 0.05

// warmStart returns a function that draws graphs found by short chains with linear mechanisms and
// the same prior over graphs. It returns each graph as a list of digits, the form in which the
// learned distribution of graphs draws them.
func warmStart(ctx gocontext.Context, p *score.Problem, seed uint64, undivided bool) (func(*rand.Rand) []int32, error) {
	linear := *p
	linear.Model.Mechanism, linear.Model.Hidden, linear.Model.NoBias = sem.Linear, 0, false
	chains, err := walk.SampleGraphs(&linear, ctx, walk.ChainConfig{Seed: seed, Rounds: 1}, run.Silent(nil))
	if err != nil {
		return nil, err
	}
	graphs := slices.Concat(chains.Graphs...)
	return func(random *rand.Rand) []int32 {
		return flows.WarmCode(p.Structure, graphs[random.IntN(len(graphs))], warmFlips, undivided, random)
	}, nil
}

// The certificate of a flow with many coordinates uses fewer draws than requested: all draws
// together have at most undividedNumbers coordinates, but there are at least undividedLeast draws.
const (
	undividedNumbers = 1 << 25
	undividedLeast   = 1 << 12
)

func concludeUndivided(ctx gocontext.Context, p *score.Problem, o output, trained *vti.Posterior, cfg RunConfig) (*Result, error) {
	o.status("weights of draws")
	target := flows.NewGraphTarget(p.Structure, flows.MechanismOf(p))
	draws := min(cfg.Draws, max(undividedNumbers/target.Codes.Dim(), undividedLeast))
	weighed, err := trained.Certify(ctx, vti.CertifyConfig{Draws: draws, NoChains: true})
	if err != nil {
		return nil, err
	}
	c := &Certificate{Verdict: weighed.Verdict, Reasons: weighed.Reasons, KHat: Number(weighed.KHat), ESS: Number(weighed.ESS), Draws: weighed.Draws, NonFinite: weighed.NonFinite}
	f := found{certificate: c, logEvidence: weighed.LogEvidence, logEvidenceSE: weighed.LogEvidenceSE, random: stream.Rand(o.seed, "parameters")}
	resampled := weighed.Sample.Resample(graphDraws, o.seed)
	codes, theta, independent := resampled.Codes, resampled.Theta, weighed.ESS
	if weighed.Verdict == vti.Failed {
		if codes, theta, _, err = trained.Sample(graphDraws, "answer"); err != nil {
			return nil, err
		}
		independent = graphDraws
		c.Reasons = append(c.Reasons, "the answer is what q(m) draws, without weights")
	}
	if !target.Normalised() {
		f.logEvidence, f.logEvidenceSE = math.NaN(), math.NaN()
	}
	var sample score.Sample
	for k, code := range codes {
		if err := target.Decode(code, theta.RawRowView(k), &sample); err != nil {
			return nil, err
		}
	}
	graphs := sample.Count()
	f.families, f.sources = sample.Split()
	probabilities := f.families.Edges(p.Data.Nodes())
	errors := dgraph.Zeros(p.Data.Nodes())
	for _, e := range dgraph.OrderedPairs(p.Data.Nodes()) {
		errors[e.From][e.To] = score.ShareError(probabilities[e.From][e.To], independent)
	}
	c.WorstSE = worstError(errors)
	f.graphs = graphEstimates{probabilities, errors, graphs, walk.ShareOf(graphs, independent)}
	f.sample = sample.Each(max(1, len(sample.Parents)/effects.FileDraws))
	return conclude(p, ctx, o, f)
}

// drawnGraphs is the number of graphs drawn from the learned distribution of graphs. A probability
// estimated by a share of these graphs has a standard error of at most 0.011.
const drawnGraphs = 2000

// concludeNodes makes a result of a list of families (nodes with sets of parents): the families in
// draws of the learned distribution q(m) of graphs, and their neighbours.
func concludeNodes(ctx gocontext.Context, p *score.Problem, o output, trained *vti.Posterior, cfg RunConfig) (*Result, error) {
	o.status("drawing graphs from q(m)")
	drawn, err := flows.DrawGraphs(trained, p.Structure, drawnGraphs)
	if err != nil {
		return nil, err
	}
	if p.Model.Mechanism == sem.MLP {
		return concludeParticles(p, ctx, o, newFoundFamilies(p.Structure, drawn, allNetworks), ParticlesConfig{Islands: cfg.Islands, Seed: o.seed}, nil, mostGrown)
	}
	families, sums, listed := newFoundFamilies(p.Structure, drawn, allLinear), walk.NewListedGraphs(p.Structure, o.seed, walk.MostSummed), *p
	var scores score.Scores
	left, err := families.grow(ctx, func(list []dgraph.Family) (_ *score.Posterior, err error) {
		listed.Families = list
		if scores, err = listed.ExactScores(ctx, nil); err != nil {
			return nil, err
		}
		return sums.Posterior(ctx, p.Structure, scores, o.status)
	}, never, o.status)
	if err != nil {
		return nil, err
	}
	posterior, err := sums.Settle(ctx, scores, o.status)
	if err != nil {
		return nil, err
	}
	return concludeForms(&listed, ctx, o, posterior, func(c *Certificate) { c.addFound(families, sums, posterior, left, mostGrown) })
}

func never() bool { return false }

// mostGrown is the largest probability, in a trusted answer, of a node's sets of parents that the
// learned distribution of graphs did not draw. Above this limit, most of the answer does not come
// from the learned distribution.
const mostGrown = 0.5

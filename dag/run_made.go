package dag

import (
	gocontext "context"
	"fmt"
	"math"

	"github.com/transdim/vti"
	dgraph "github.com/transdim/vti/dag/graph"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/internal/verdict"
	"github.com/transdim/vti/modeldist"
	"github.com/transdim/vti/run"
)

// CheckMade fails for problems that RunMade cannot take.
func (p *Problem) CheckMade() error {
	if p.Model.Mechanism != Linear && p.Model.Mechanism != MLP {
		return fmt.Errorf("a learned q(m) with one flow is for linear mechanisms and networks, not for %s", p.Model.Mechanism)
	}
	if err := p.checkOneRegime(); err != nil {
		return err
	}
	if err := p.listable(maxFamilies); err != nil {
		return err
	}
	return p.countable("a learned q(m)")
}

// countable fails where the prior over graphs asks for more topological orders than can be counted.
func (p *Problem) countable(what string) error {
	if !p.Structure.Orders && p.Structure.Nodes > dgraph.MostCountedNodes {
		return fmt.Errorf("%s is over orders and edges along them, and shares the probability of a graph among its orders: got %d nodes, want at most %d, for which orders are counted (with the prior over orders nothing is shared)",
			what, p.Structure.Nodes, dgraph.MostCountedNodes)
	}
	return nil
}

// MadeTraining fills in what the problem decides of the training of RunMade where fit leaves it
// open.
func (p *Problem) MadeTraining(fit vti.Config) vti.Config {
	p.setByMechanism(&fit.Steps, 2000, 4000)
	// a draw of networks costs a pass over the data for every node
	p.setByMechanism(&fit.Batch, 1024, 64)
	return fit
}

// madeTraining is the training of the undivided flow and of q(m), a network over the sites of a
// code, with the constraints built in.
func (p *Problem) madeTraining(target *graphTarget, fit vti.Config) (vti.Config, error) {
	fit = p.MadeTraining(fit)
	ordered := target.space.Ordered
	edge := 0.0 // log odds of the first parent of a node
	if sizes := p.Structure.Prior.BySize; sizes != nil {
		edge = sizes[1]
	}
	config := modeldist.AutoregressiveConfig{Seed: fit.Seed, DType: fit.DType, Constraint: dgraph.NewOrderedConstraint(ordered, p.Structure)}
	for _, card := range ordered.Cards() {
		start := make([]float64, card)
		if card == 2 && len(config.SiteLogPrior) >= p.Structure.Nodes-1 {
			start[1] = edge
		}
		config.SiteLogPrior = append(config.SiteLogPrior, start)
	}
	var err error
	if fit.Models, err = modeldist.NewAutoregressive(ordered.Cards(), config); err != nil {
		return fit, err
	}
	precision := 1.0 // of standardised coordinates
	if p.Model.Mechanism == MLP {
		precision = 1 / square(p.Model.PriorSD)
	}
	dim := target.space.Dim()
	fit.Flow.Precision = make([]float64, dim*dim)
	for k := range dim {
		fit.Flow.Precision[k*dim+k] = precision
	}
	return fit, nil
}

// madeTarget prepares what RunMade trains on.
func (p *Problem) madeTarget() (*madeTarget, error) {
	if p.Model.Mechanism == Linear {
		t, err := newStandardTarget(p)
		if err != nil {
			return nil, err
		}
		return &madeTarget{t, t.graphTarget, t.parameters}, nil
	}
	t := newGraphTarget(p)
	return &madeTarget{t, t, func(_ []dgraph.Set, draw []float64) []float64 { return draw }}, nil
}

// madeTarget is the posterior over codes and the parameters of all nodes, in the coordinates of the
// undivided flow.
type madeTarget struct {
	target vti.Target
	graphs *graphTarget
	// parameters are those that the coordinates of a draw stand for
	parameters func(parents []dgraph.Set, draw []float64) []float64
}

// RunMade trains one flow over the parameters of all nodes together with q(m) over codes (P, U), a
// masked autoregressive network, as the paper does, and certifies both by the weights of their
// draws. It knows nothing of families but, for linear mechanisms, the modes that its coordinates
// start from. Files are those of [RunFlow].
func RunMade(ctx gocontext.Context, device *gpu.Device, problem *Problem, cfg RunConfig) (*Result, error) {
	clock := run.NewClock()
	if err := problem.CheckMade(); err != nil {
		return nil, err
	}
	if cfg.Status == nil {
		cfg.Status = func(string) {}
	}
	made, err := problem.madeTarget()
	if err != nil {
		return nil, err
	}
	target, graphs, parameters := made.target, made.graphs, made.parameters
	fit, err := problem.madeTraining(graphs, cfg.Fit)
	if err != nil {
		return nil, err
	}
	training, err := run.StartTraining(cfg.Dir, fit.Resume)
	if err != nil {
		return nil, err
	}
	trained, err := vti.Fit(ctx, device, target, training.Configure(fit, 0))
	if err = training.End(err); err != nil {
		return nil, err
	}
	clock.Trained()
	told := 0
	certificate, err := trained.Certify(ctx, vti.CertifyConfig{Draws: cfg.Draws, Progress: func(done, total int) {
		if tenths := 10 * done / total; tenths > told {
			told = tenths
			cfg.Status(fmt.Sprintf("certifying, %d of at most %d draws", done, total))
		}
	}})
	if err != nil {
		return nil, err
	}
	result := &Result{Schema: resultSchema, Command: "dag", Version: vti.Version, Seed: &fit.Seed, Backend: device.String(), Steps: trained.Steps(), Loss: number(training.Loss()), RunDir: cfg.Dir}
	result.LogEvidence, result.LogEvidenceSE = Number(certificate.LogEvidence+problem.LogJacobian()), Number(certificate.LogEvidenceSE)
	summary, err := graphs.summarise(certificate)
	if err != nil {
		return nil, err
	}
	result.Certificate = &Certificate{
		KHat: Number(certificate.KHat), WorstSE: worstError(summary.errors), Draws: certificate.Draws, NonFinite: certificate.NonFinite,
		RHat: Number(certificate.RHat),
	}
	v := &verdict.Judgement{Verdict: certificate.Verdict, Reasons: certificate.Reasons}
	v.Event(float64(result.Certificate.WorstSE), anEdge)
	result.Certificate.judged(v)
	if err := problem.fillGraphs(ctx, result, summary.probabilities, summary.errors, summary.draws, summary.probabilityOf, cfg.Truth); err != nil {
		return nil, err
	}
	sample := graphs.resample(certificate.Sample, fit.Seed, parameters)
	random := stream.Rand(fit.Seed, "parameters")
	posterior, source := sample.split(random)
	if err := problem.describe(ctx, result, cfg.Dir, posterior, source, nil, sample, random); err != nil {
		return nil, err
	}
	result.Seconds = clock.Seconds()
	return result, problem.write(result, cfg.Dir)
}

// graphSummary is the posterior over graphs that a certificate over codes amounts to.
type graphSummary struct {
	probabilities, errors [][]float64 // of edges
	// graphs, the most probable first, as if each had been drawn in proportion to its probability
	draws         []Draw
	probabilityOf func(event func(*dgraph.Graph) bool) (probability, se float64)
}

// summarise adds up the codes of each graph.
func (t *graphTarget) summarise(c *vti.Certificate) (*graphSummary, error) {
	nodes := t.space.Nodes()
	place := map[string]int{} // of graphs by key
	var graphs []*dgraph.Graph
	decoded := map[string]int{} // of codes
	var failed error
	graphOf := func(code []int32) int {
		text := fmt.Sprint(code)
		at, known := decoded[text]
		if known {
			return at
		}
		g, err := t.space.Graph(code)
		if err != nil {
			failed = err
			return 0
		}
		key := g.Key()
		if at, known = place[key]; !known {
			at = len(graphs)
			place[key] = at
			graphs = append(graphs, g)
		}
		decoded[text] = at
		return at
	}
	codes := c.Sample.Codes
	if c.Complete {
		codes = nil
		for _, model := range c.Models {
			codes = append(codes, model.Code)
		}
	}
	for _, code := range codes {
		graphOf(code)
	}
	if failed != nil {
		return nil, failed
	}
	s := &graphSummary{probabilities: zeros(nodes), errors: zeros(nodes)}
	pairs := dgraph.OrderedPairs(nodes)
	of, se := c.Frequencies(len(pairs), func(code []int32) (present []int) {
		g := graphs[graphOf(code)]
		for k, e := range pairs {
			if g.Has(e.From, e.To) {
				present = append(present, k)
			}
		}
		return present
	})
	for k, e := range pairs {
		s.probabilities[e.From][e.To], s.errors[e.From][e.To] = of[k], se[k]
	}
	of, se = c.Frequencies(len(graphs), func(code []int32) []int { return []int{graphOf(code)} })
	order := mostProbable(of, len(of))
	for _, g := range order {
		// Counts are weights to those who sum over draws.
		if count := int(math.Round(of[g] * graphWeight)); count > 0 {
			s.draws = append(s.draws, Draw{Graph: graphs[g], Count: count, Probability: of[g], SE: se[g]})
		}
	}
	s.probabilityOf = func(event func(*dgraph.Graph) bool) (probability, se float64) {
		within := make([]bool, len(graphs))
		for g := range within {
			within[g] = event(graphs[g])
		}
		return c.Probability(func(code []int32) bool { return within[graphOf(code)] })
	}
	return s, nil
}

// graphWeight turns probabilities into counts.
const graphWeight = 1 << 30

// resample picks draws in proportion to their weights.
func (t *graphTarget) resample(sample vti.WeightedSample, seed uint64, parameters func(parents []dgraph.Set, draw []float64) []float64) (d drawn) {
	random := stream.Rand(seed, "resample")
	next, seen := random.Float64(), 0.0
	dim := t.space.layout.dim()
	for i, weight := range sample.Weight {
		for seen += weight * fileDraws; next < seen && len(d.parents) < fileDraws; next++ {
			g, err := t.space.Graph(sample.Codes[i])
			if err != nil {
				panic(err) // the codes of a certificate are those of the space
			}
			parents := g.ParentSets()
			theta := parameters(parents, sample.Theta.RawRowView(i))
			thetas := make([][]float64, len(parents))
			for j := range thetas {
				thetas[j] = theta[j*dim : (j+1)*dim]
			}
			d.parents, d.thetas = append(d.parents, parents), append(d.thetas, thetas)
		}
	}
	random.Shuffle(len(d.parents), func(a, b int) {
		d.parents[a], d.parents[b] = d.parents[b], d.parents[a]
		d.thetas[a], d.thetas[b] = d.thetas[b], d.thetas[a]
	})
	return d
}

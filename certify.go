package vti

import (
	"cmp"
	gocontext "context"
	"math"
	"slices"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"

	"github.com/transdim/vti/internal/psis"
	"github.com/transdim/vti/internal/verdict"
	"github.com/transdim/vti/space"
)

// CertifyConfig says how much work certification may do. The zero value is a good default.
type CertifyConfig struct {
	// MaxModels is the largest space whose models are weighed one by one; 0 stands for 65,536.
	// Larger spaces are weighed jointly, with models drawn from q(m).
	MaxModels int
	// Draws is the number of draws spent beyond the first look at every model; 0 stands for
	// 262,144. Chains, if it comes to them, take at most one iteration for 32 draws.
	Draws int
	// Tolerance stops early when the standard errors of the ten best models' log evidences and of
	// every model's probability are below it; 0 stands for 0.002.
	Tolerance float64
	// Confirm checks weights by tempered chains (certify_chains.go) even if they look well: right
	// for posteriors with several modes, since weights cannot tell of a mode where no draw fell.
	Confirm bool
	// Progress, if not nil, is called as draws accumulate, with the number expected in all (an
	// upper bound).
	Progress func(done, total int)
}

// rounds is the number of times that the draws beyond the first look are shared out anew.
const rounds = 8

func (c CertifyConfig) withDefaults() CertifyConfig {
	setDefault(&c.MaxModels, maxListed)
	setDefault(&c.Draws, 1<<18)
	setDefault(&c.Tolerance, 0.002)
	return c
}

// Certify weighs draws of the flow by the target and returns corrected model probabilities,
// evidences and a verdict.
//
// q alone favours models whose posterior the flow fits well. Weights w = η(θ | m) / r(θ | m) do
// not, with r the flow's density when its reference is widened (reference.go): their mean is the
// evidence Z_m whatever r is, as long as the weights' tail is light, which Pareto's k̂ tells. If
// the space has at most MaxModels models, each is weighed on its own and the result does not depend
// on q(m) at all. Where weights alone do not earn trust, tempered chains (certify_chains.go) give
// the result if they have mixed.
func (p *Posterior) Certify(ctx gocontext.Context, cfg CertifyConfig) (*Certificate, error) {
	cfg = cfg.withDefaults()
	certify := p.certifyEach
	if count, ok := space.Count(p.target.Space()); !ok || count > cfg.MaxModels {
		certify = p.certifyJointly
	}
	certificate, err := certify(ctx, cfg)
	if err != nil || certificate.Verdict == Trusted && !cfg.Confirm {
		return certificate, err
	}
	return p.check(ctx, certificate, cfg)
}

// certifyEach estimates the evidence of every model: a first look at all of them, then rounds that
// give each model draws in proportion to its probability times the relative spread of its weights
// (Neyman allocation), which minimises the error of the probabilities.
func (p *Posterior) certifyEach(ctx gocontext.Context, cfg CertifyConfig) (*Certificate, error) {
	certificate := &Certificate{Complete: true, Models: listModels(p.target.Space())}
	logPrior, err := p.logPriorOf(certificate.Models)
	if err != nil {
		return nil, err
	}
	w := newWeigher(ctx, p, certificate.Models, "certify")
	w.progress, w.total = cfg.Progress, cfg.Draws
	allocation := firstLook(logPrior)
	for _, draws := range allocation {
		w.total += draws
		if draws > 0 {
			certificate.ModelsChecked++
		}
	}
	if err := w.weigh(allocation, false); err != nil {
		return nil, err
	}
	spread := certificate.update(w.tallies, logPrior)
	for range rounds {
		certificate.allocate(spread, allocation, cfg.Draws/rounds)
		if err := w.weigh(allocation, true); err != nil {
			return nil, err
		}
		spread = certificate.update(w.tallies, logPrior)
		if certificate.precise(cfg.Tolerance) {
			break
		}
	}
	certificate.pool(w.tallies, logPrior)
	certificate.NonFinite = w.nonFinite
	logModel, err := p.logModel(certificate.Models)
	if err != nil {
		return nil, err
	}
	certificate.Sample = certificate.collect(w.tallies, p.target.Space().Dim(), logPrior, logModel)
	certificate.setQ(logModel)
	certificate.sortModels()
	certificate.judge()
	return certificate, nil
}

// update recomputes evidences and probabilities from all weights so far and returns the relative
// spread of each model's weights.
func (c *Certificate) update(tallies []tally, logPrior []float64) (spread []float64) {
	spread = make([]float64, len(tallies))
	logMass := make([]float64, len(tallies))
	c.Draws = 0
	for i := range c.Models {
		model, own := &c.Models[i], &tallies[i]
		c.Draws += len(own.logWeights)
		if len(own.logWeights) == 0 {
			model.LogEvidence, model.LogEvidenceSE, model.KHat = math.NaN(), math.NaN(), math.Inf(1)
			logMass[i] = math.Inf(-1)
			continue
		}
		if own.changed {
			smoothed := psis.Smooth(own.logWeights)
			model.LogEvidence, model.LogEvidenceSE, model.KHat = smoothed.LogMean, smoothed.LogMeanSE, smoothed.K
			model.Draws, own.changed = len(own.logWeights), false
		}
		spread[i] = model.LogEvidenceSE * math.Sqrt(float64(model.Draws))
		logMass[i] = logPrior[i] + model.LogEvidence
	}
	c.LogEvidence = logSumExp(logMass)
	var variance float64
	for i := range c.Models {
		model := &c.Models[i]
		model.Certified = math.Exp(logMass[i] - c.LogEvidence)
		if term := model.Certified * model.LogEvidenceSE; !math.IsNaN(term) {
			variance += term * term
		}
	}
	c.LogEvidenceSE = math.Sqrt(variance)
	// Delta method for p_m = w_m / Σw: Var p_m = p_m² ((1 − 2 p_m) s_m² + Σ_k p_k² s_k²).
	for i := range c.Models {
		model := &c.Models[i]
		own := model.LogEvidenceSE * model.LogEvidenceSE
		if math.IsNaN(own) {
			own = 0
		}
		model.SE = model.Certified * math.Sqrt(math.Max(0, (1-2*model.Certified)*own+variance))
	}
	return spread
}

// allocate shares budget draws among the models in proportion to probability times spread. A spread
// of less than a tenth counts as a tenth: an estimate from few draws may be too small by chance.
func (c *Certificate) allocate(spread []float64, allocation []int, budget int) {
	var total float64
	share := make([]float64, len(spread))
	for i, model := range c.Models {
		if s := spread[i]; model.Certified > 0 && finite(s) {
			share[i] = model.Certified * math.Max(s, 0.1)
			total += share[i]
		}
	}
	for i := range allocation {
		allocation[i] = 0
		if total > 0 {
			allocation[i] = int(math.Round(share[i] / total * float64(budget)))
		}
	}
}

// precise tells whether the errors are below tolerance: of every model's probability, and five
// times it for the log evidences of the ten most probable models.
func (c *Certificate) precise(tolerance float64) bool {
	best := make([]ModelEstimate, 0, 11)
	for _, model := range c.Models {
		if model.SE > tolerance {
			return false
		}
		best = insertBest(best, model, 10)
	}
	for _, model := range best {
		if model.LogEvidenceSE > 5*tolerance {
			return false
		}
	}
	return true
}

// insertBest keeps the limit most probable models, in decreasing order.
func insertBest(best []ModelEstimate, model ModelEstimate, limit int) []ModelEstimate {
	best = append(best, model)
	for i := len(best) - 1; i > 0 && best[i].Certified > best[i-1].Certified; i-- {
		best[i], best[i-1] = best[i-1], best[i]
	}
	return best[:min(len(best), limit)]
}

// pool sets the diagnostics of all models together. ESS is that of the draws as they are: they came
// from the mixture that draws model m with probability n_m / N, so their joint weights are p(m) w /
// (n_m / N). KHat is not that of the joint weights: of a mixture of many well-behaved tails a
// generalised Pareto fit makes a heavy one. It is the k̂ that is exceeded by models of a tenth of
// the probability only.
func (c *Certificate) pool(tallies []tally, logPrior []float64) {
	joint := make([]float64, 0, c.Draws)
	for i, own := range tallies {
		shift := logPrior[i] - math.Log(float64(len(own.logWeights)))
		for _, weight := range own.logWeights {
			joint = append(joint, weight+shift)
		}
	}
	c.ESS = psis.Smooth(joint).ESS
	order := make([]int, len(c.Models))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return compareDescending(c.Models[a].KHat, c.Models[b].KHat) })
	exceeding := 0.0
	for _, i := range order {
		c.KHat = c.Models[i].KHat
		if exceeding += c.Models[i].Certified; exceeding > verdict.BadMass {
			break
		}
	}
}

// compareDescending orders from large to small.
func compareDescending(a, b float64) int { return cmp.Compare(b, a) }

// logPriorOf evaluates log p(m) of the models.
func (p *Posterior) logPriorOf(models []ModelEstimate) ([]float64, error) {
	return p.overCodes("prior", models, func(_ *Context, codes *Node) []*Node {
		return []*Node{toFloat64(p.target.LogPrior(codes))}
	})
}

// logModel evaluates log q(m) of the models.
func (p *Posterior) logModel(models []ModelEstimate) ([]float64, error) {
	return p.logModelOf("models", p.config.Models, models)
}

// logModelOf evaluates the log density of a distribution with a name of its own.
func (p *Posterior) logModelOf(name string, distribution ModelDistribution, models []ModelEstimate) ([]float64, error) {
	return p.overCodes(name, models, func(ctx *Context, codes *Node) []*Node {
		return []*Node{toFloat64(distribution.LogProb(ctx.In(modelScope), codes))}
	})
}

// setQ fills in q(m) of the models.
func (c *Certificate) setQ(logModel []float64) {
	for i, value := range logModel {
		c.Models[i].Q = math.Exp(value)
	}
}

// overCodes evaluates a function of the codes of models, batch by batch.
func (p *Posterior) overCodes(name string, models []ModelEstimate, graphFn func(*Context, *Node) []*Node) ([]float64, error) {
	sites, batch := len(p.target.Space().Cards()), p.config.Batch
	values := make([]float64, 0, len(models))
	for start := 0; start < len(models); start += batch {
		codes := make([]int32, batch*sites)
		for i := range min(batch, len(models)-start) {
			copy(codes[i*sites:], models[start+i].Code)
		}
		outputs, err := p.run(name, graphFn, tensors.FromFlatDataAndDimensions(codes, batch, sites))
		if err != nil {
			return nil, err
		}
		values = append(values, tensors.MustCopyFlatData[float64](outputs[0])[:min(batch, len(models)-start)]...)
	}
	return values, nil
}

// logSumExp is log Σ exp(x), −Inf for nothing.
func logSumExp(values []float64) float64 {
	largest := math.Inf(-1)
	for _, value := range values {
		largest = math.Max(largest, value)
	}
	if math.IsInf(largest, 0) {
		return largest
	}
	var sum float64
	for _, value := range values {
		sum += math.Exp(value - largest)
	}
	return largest + math.Log(sum)
}

package vti

import (
	"cmp"
	gocontext "context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/psis"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/space"
)

// CertifyConfig says how much work certification may do. The zero value is a good default.
type CertifyConfig struct {
	// MaxModels is the largest space whose models are weighed one by one; 0 stands for 65,536. Larger spaces are weighed
	// jointly, with models drawn from q(m).
	MaxModels int
	// Draws is the number of draws spent beyond the first look at every model; 0 stands for 262,144.
	Draws int
	// Tolerance stops early when the standard errors of the ten best models' log evidences and of every
	// model's probability are below it; 0 stands for 0.002.
	Tolerance float64
	// Progress, if not nil, is called as draws accumulate, with the number expected in all (an upper bound).
	Progress func(done, total int)
}

// First look at every model: between leastLook and mostLook draws, about lookBudget in all.
const (
	leastLook  = 32
	mostLook   = 256
	lookBudget = 1 << 18
	rounds     = 8
)

func (c CertifyConfig) withDefaults() CertifyConfig {
	setDefault(&c.MaxModels, 1<<16)
	setDefault(&c.Draws, 1<<18)
	setDefault(&c.Tolerance, 0.002)
	return c
}

// Certify weighs draws of the flow by the target and returns corrected model probabilities, evidences and a verdict.
//
// q alone favours models whose posterior the flow fits well. Weights w = η(θ | m) / r(θ | m) do not, with r the flow's density
// when its reference is widened (reference.go): their mean is the evidence Z_m whatever r is, as long as the weights' tail is
// light, which Pareto's k̂ tells. If the space has at most
// MaxModels models, each is weighed on its own and the result does not depend on q(m) at all.
func (p *Posterior) Certify(ctx gocontext.Context, cfg CertifyConfig) (*Certificate, error) {
	cfg = cfg.withDefaults()
	if count, ok := space.Count(p.target.Space()); ok && count <= cfg.MaxModels {
		return p.certifyEach(ctx, cfg, count)
	}
	return p.certifyJointly(ctx, cfg)
}

// certifyEach estimates the evidence of every model: a first look at all of them, then rounds that give
// each model draws in proportion to its probability times the relative spread of its weights (Neyman allocation), which
// minimises the error of the probabilities.
func (p *Posterior) certifyEach(ctx gocontext.Context, cfg CertifyConfig, count int) (*Certificate, error) {
	cards := p.target.Space().Cards()
	w := &weigher{posterior: p, ctx: ctx, random: stream.Rand(p.config.Seed, "certify"), reference: wideReference, progress: cfg.Progress}
	certificate := &Certificate{Complete: true, ModelsChecked: count, Models: make([]ModelEstimate, count)}
	weights := make([][]float64, count)
	allocation := make([]int, count)
	look := min(max(lookBudget/count, leastLook), mostLook)
	for index, code := range space.All(cards) {
		certificate.Models[index].Code = append([]int32(nil), code...)
		allocation[index] = look
	}
	w.total = look*count + cfg.Draws
	logPrior, err := p.logPriorOf(certificate.Models)
	if err != nil {
		return nil, err
	}
	for index, prior := range logPrior {
		if math.IsInf(prior, -1) {
			allocation[index] = 0
		}
	}
	if err := w.weigh(certificate.Models, allocation, weights, false); err != nil {
		return nil, err
	}
	for range rounds {
		spread := certificate.update(weights, logPrior)
		certificate.allocate(spread, allocation, cfg.Draws/rounds)
		if err := w.weigh(certificate.Models, allocation, weights, true); err != nil {
			return nil, err
		}
		certificate.update(weights, logPrior)
		if certificate.precise(cfg.Tolerance) {
			break
		}
	}
	certificate.pool(weights, logPrior)
	if certificate.needAnnealing(allocation) {
		for i, draws := range allocation {
			if draws > 0 { // annealed draws replace plain ones
				weights[i], certificate.Models[i].stored = nil, nil
			}
		}
		w.annealed, w.reference = true, farReference
		if err := w.weigh(certificate.Models, allocation, weights, true); err != nil {
			return nil, err
		}
		certificate.update(weights, logPrior)
		certificate.pool(weights, logPrior)
	}
	certificate.NonFinite = w.nonFinite
	certificate.collect(p.target.Space().Dim(), logPrior)
	if err := p.setQ(certificate.Models); err != nil {
		return nil, err
	}
	certificate.Sample.addLogQ(certificate.Models)
	certificate.sortModels()
	certificate.judge()
	return certificate, nil
}

// storedDraw is a draw that is kept for the weighted sample.
type storedDraw struct {
	theta                     []float64
	logQ, logJoint, logWeight float64
}

// weigher draws parameters for models and appends log weights.
type weigher struct {
	posterior   *Posterior
	ctx         gocontext.Context
	random      *rand.Rand
	reference   reference
	annealed    bool // move the draws by annealing
	nonFinite   int
	done, total int
	progress    func(done, total int)
}

// weigh appends allocation[i] log weights log η(θ | m) − log r(θ | m) for model i to weights[i], and keeps the draws if store is set.
func (w *weigher) weigh(models []ModelEstimate, allocation []int, weights [][]float64, store bool) error {
	p := w.posterior
	sites, dim, batch := len(p.target.Space().Cards()), p.target.Space().Dim(), p.config.Batch
	codes, z := make([]int32, batch*sites), make([]float64, batch*dim)
	owner := make([]int, 0, batch)
	flush := func() error {
		if len(owner) == 0 {
			return nil
		}
		if err := w.ctx.Err(); err != nil {
			return fmt.Errorf("certification stopped after %d draws: %w", w.done, err)
		}
		draws, err := p.push(codes, z)
		if err != nil {
			return err
		}
		logWeights := make([]float64, batch)
		for row := range batch {
			logWeights[row] = draws.logWeight(w.reference, row)
		}
		if w.annealed {
			if logWeights, err = w.anneal(codes, z, logWeights); err != nil {
				return err
			}
			if draws, err = p.push(codes, z); err != nil {
				return err
			}
		}
		for row, model := range owner {
			logWeight := logWeights[row]
			if math.IsNaN(logWeight) || math.IsInf(logWeight, 1) {
				w.nonFinite++
				logWeight = math.Inf(-1)
			}
			if store {
				models[model].stored = append(models[model].stored, storedDraw{
					theta: draws.theta[row*dim : (row+1)*dim : (row+1)*dim],
					logQ:  draws.logQ[row], logJoint: draws.logJoint[row], logWeight: logWeight,
				})
			}
			weights[model] = append(weights[model], logWeight)
		}
		w.done += len(owner)
		if w.progress != nil {
			w.progress(w.done, w.total)
		}
		owner = owner[:0]
		return nil
	}
	for model, draws := range allocation {
		for range draws {
			row := len(owner)
			copy(codes[row*sites:], models[model].Code)
			w.reference.draw(w.random, z[row*dim:(row+1)*dim])
			if owner = append(owner, model); len(owner) == batch {
				if err := flush(); err != nil {
					return err
				}
			}
		}
	}
	return flush()
}

// update recomputes evidences and probabilities from all weights so far and returns the relative spread of each
// model's weights.
func (c *Certificate) update(weights [][]float64, logPrior []float64) (spread []float64) {
	spread = make([]float64, len(weights))
	logMass := make([]float64, len(weights))
	c.Draws = 0
	for i := range c.Models {
		model := &c.Models[i]
		model.Draws = len(weights[i])
		c.Draws += model.Draws
		if model.Draws == 0 {
			model.LogEvidence, model.LogEvidenceSE, model.KHat = math.NaN(), math.NaN(), math.Inf(1)
			logMass[i] = math.Inf(-1)
			continue
		}
		smoothed := psis.Smooth(weights[i])
		model.LogEvidence, model.LogEvidenceSE, model.KHat = smoothed.LogMean, smoothed.LogMeanSE, smoothed.K
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

// allocate shares budget draws among the models in proportion to probability times spread. A spread of less than a tenth
// counts as a tenth: an estimate from few draws may be too small by chance.
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

// precise tells whether the errors are below tolerance: of every model's probability, and five times it for the log evidences of the ten most probable models.
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

// pool sets the diagnostics of all models together. ESS is that of the draws as they are: they came from the mixture that draws model m with
// probability n_m / N, so their joint weights are p(m) w / (n_m / N). KHat is not that of the joint weights: of a mixture of many
// well-behaved tails a generalised Pareto fit makes a heavy one. It is the k̂ that is exceeded by models of a tenth of the probability only.
func (c *Certificate) pool(weights [][]float64, logPrior []float64) {
	joint := make([]float64, 0, c.Draws)
	for i, own := range weights {
		shift := logPrior[i] - math.Log(float64(len(own)))
		for _, weight := range own {
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
		if exceeding += c.Models[i].Certified; exceeding > badModelMass {
			break
		}
	}
}

// collect turns the stored draws into the weighted sample.
func (c *Certificate) collect(dim int, logPrior []float64) {
	total := 0
	for i := range c.Models {
		total += len(c.Models[i].stored)
	}
	sample := WeightedSample{Theta: mat.NewDense(max(total, 1), dim, nil)}
	var used float64
	for i := range c.Models {
		model := &c.Models[i]
		logWeights := make([]float64, len(model.stored))
		for k, draw := range model.stored {
			logWeights[k] = draw.logWeight
		}
		smoothed := psis.Smooth(logWeights).LogWeights
		norm := logSumExp(smoothed)
		for k, draw := range model.stored {
			sample.Theta.SetRow(len(sample.Weight), draw.theta)
			weight := 0.0
			if finite(norm) {
				weight = model.Certified * math.Exp(smoothed[k]-norm)
			}
			sample.Codes = append(sample.Codes, model.Code)
			sample.LogQ = append(sample.LogQ, draw.logQ)
			sample.LogP = append(sample.LogP, logPrior[i]+draw.logJoint)
			sample.Weight = append(sample.Weight, weight)
			used += weight
		}
		model.stored = nil
	}
	for i := range sample.Weight {
		sample.Weight[i] /= used
	}
	c.Sample = sample
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
	return p.overCodes("models", models, func(ctx *Context, codes *Node) []*Node {
		return []*Node{toFloat64(p.config.Models.LogProb(ctx.In(modelScope), codes))}
	})
}

// setQ fills in q(m).
func (p *Posterior) setQ(models []ModelEstimate) error {
	logQ, err := p.logModel(models)
	for i, value := range logQ {
		models[i].Q = math.Exp(value)
	}
	return err
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

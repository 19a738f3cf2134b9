package vti

import (
	"cmp"
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/psis"
	"github.com/transdim/vti/internal/verdict"
)

// rounds is the number of times that the draws beyond the first few are shared out anew. Chosen by
// hand, not tuned.
const rounds = 8

// certifyEach estimates the evidence of every model: as many draws of all of them, then rounds that
// give each model draws in proportion to its probability times the relative spread of its weights
// (Neyman allocation), which minimises the error of the probabilities.
func certifyEach(ctx context.Context, e *evaluator, cfg CertifyConfig) (*Certificate, error) {
	codes := allCodes(e.Target.Space())
	certificate := &Certificate{Complete: true, Models: estimatesOf(codes)}
	logPrior, err := e.LogPrior(codes)
	if err != nil {
		return nil, err
	}
	s := newImportanceSampler(e, codes, cfg.stream)
	s.progress, s.total = cfg.Progress, cfg.Draws
	allocation := evenAllocation(logPrior)
	if cfg.glance {
		for i := range allocation {
			allocation[i] = min(allocation[i], glanceDraws)
		}
	}
	for _, draws := range allocation {
		s.total += draws
		if draws > 0 {
			certificate.ModelsChecked++
		}
	}
	if err := s.draw(ctx, allocation, false); err != nil {
		return nil, err
	}
	certificate.update(s.tallies, logPrior)
	if err := s.proposeModes(ctx, certificate, logPrior, cfg); err != nil {
		return nil, err
	}
	spread := certificate.update(s.tallies, logPrior)
	for range rounds {
		certificate.allocate(spread, allocation, cfg.Draws/rounds)
		if err := s.draw(ctx, allocation, true); err != nil {
			return nil, err
		}
		spread = certificate.update(s.tallies, logPrior)
		if !cfg.glance {
			again, err := s.proposeAgain(ctx, certificate, logPrior)
			if err != nil {
				return nil, err
			}
			if again {
				spread = certificate.update(s.tallies, logPrior)
			}
		}
		if certificate.precise(cfg.Tolerance) {
			certificate.pool(s.tallies, logPrior)
			if certificate.shortage(e.Target.Space(), cfg.precision) <= 1 {
				break
			}
		}
	}
	certificate.pool(s.tallies, logPrior)
	if cfg.glance && !cfg.keepModels {
		logMass := make([]float64, len(logPrior))
		for i, model := range certificate.Models {
			logMass[i] = logPrior[i] + model.LogEvidence
		}
		if err := setTable(e, logPrior, logMass); err != nil {
			return nil, err
		}
	}
	certificate.NonFinite = s.nonFinite
	logModel, err := e.LogModel(codes)
	if err != nil {
		return nil, err
	}
	drawn, modes := s.testify(logPrior)
	certificate.witnesses.add(drawn, modes)
	counts := make([]float64, len(codes))
	for i, model := range certificate.Models {
		counts[i] = float64(model.Draws)
	}
	certificate.shares = func(w witnesses) ([]float64, error) { return s.shares(s.place(w, logPrior), counts, logPrior) }
	certificate.Sample = certificate.collect(s.tallies, e.Target.Space().Dim(), logPrior, logModel)
	certificate.setQ(logModel)
	certificate.sortModels()
	certificate.judge()
	return certificate, certificate.judgeUnseen(cfg.witnesses)
}

// modeRounds is the number of times that modes are looked for, each from the draws of the proposals
// before. Chosen by hand.
const modeRounds = 3

// proposeModes gives models proposals at their modes where they need them, and draws from these.
func (s *importanceSampler) proposeModes(ctx context.Context, c *Certificate, logPrior []float64, cfg CertifyConfig) error {
	earlier := s.place(cfg.witnesses, logPrior)
	if err := s.addModeStarts(&earlier, logPrior); err != nil {
		return err
	}
	for range modeRounds {
		expected := make([]float64, len(c.Models))
		for i, model := range c.Models {
			expected[i] = math.Max(float64(model.Draws), model.Certified*float64(cfg.Draws))
		}
		seen, err := s.shares(earlier, expected, logPrior)
		if err != nil {
			return err
		}
		thin := make([]bool, len(c.Models))
		for k, i := range earlier.models {
			thin[i] = thin[i] || !(seen[k]-c.LogEvidence <= math.Log(thinShare))
		}
		var unreliable []int
		for i, model := range c.Models {
			limit := psis.Reliable
			if model.Certified > proposalMass {
				limit = psis.ReliableFor(model.Draws)
			}
			if (model.KHat > limit || thin[i]) && !math.IsInf(logPrior[i], -1) {
				unreliable = append(unreliable, i)
			}
		}
		allocation, err := s.propose(ctx, c.Models, unreliable, logPrior, earlier.byModel)
		if err != nil {
			return err
		}
		if slices.Max(allocation) == 0 {
			return nil
		}
		if err := s.draw(ctx, allocation, false); err != nil {
			return err
		}
		c.update(s.tallies, logPrior)
	}
	return nil
}

// proposeAgain gives probable models proposals whose weights, of the many draws that there are
// now, turn out to have no variance: their errors could not be trusted. It reports whether there
// was one.
func (s *importanceSampler) proposeAgain(ctx context.Context, c *Certificate, logPrior []float64) (bool, error) {
	var unreliable []int
	for i, model := range c.Models {
		if model.Certified > proposalMass && model.KHat > psis.FiniteVariance {
			unreliable = append(unreliable, i)
		}
	}
	allocation, err := s.propose(ctx, c.Models, unreliable, logPrior, nil)
	if err != nil || slices.Max(allocation) == 0 {
		return false, err
	}
	return true, s.draw(ctx, allocation, false)
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
		own.estimate(model)
		spread[i] = model.LogEvidenceSE * math.Sqrt(float64(model.Draws))
		logMass[i] = logPrior[i] + model.LogEvidence
	}
	c.LogEvidence = logsum.Of(logMass)
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

// precise reports whether the errors are below tolerance: of every model's probability, and five
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
// the probability only; a model whose weights are not reliable counts by an upper bound of its
// evidence, if there is one, since its estimate may have missed most of it.
func (c *Certificate) pool(tallies []tally, logPrior []float64) {
	joint := make([]float64, 0, c.Draws)
	for i, own := range tallies {
		shift := logPrior[i] - math.Log(float64(len(own.logWeights)))
		for _, weight := range own.logWeights {
			joint = append(joint, weight+shift)
		}
	}
	c.ESS = psis.Smooth(joint).ESS
	// What the tails of models leave out are errors of their probabilities, which do not depend on
	// each other.
	c.missed = 0
	for _, model := range c.Models {
		if model.Certified > 0 {
			c.missed = math.Hypot(c.missed, model.Certified*psis.TailShare(model.KHat, model.Draws))
		}
	}
	order := make([]int, len(c.Models))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(c.Models[b].KHat, c.Models[a].KHat) })
	exceeding := 0.0
	for _, i := range order {
		c.KHat = c.Models[i].KHat
		share := c.Models[i].Certified
		if c.KHat > psis.Reliable {
			share = math.Max(share, math.Exp(logPrior[i]+tallies[i].logBound-c.LogEvidence))
		}
		if exceeding += share; exceeding > verdict.BadMass {
			break
		}
	}
}

// collect makes the weighted sample: in it every model has its certified probability, shared among
// its draws in proportion to their smoothed weights.
func (c *Certificate) collect(tallies []tally, dim int, logPrior, logModel []float64) WeightedSample {
	var sample WeightedSample
	var theta []float64
	var total float64
	for i := range tallies {
		model := &c.Models[i]
		draws, logWeights := tallies[i].representatives()
		norm := logsum.Of(logWeights)
		for k, draw := range draws {
			weight := 0.0
			if finite(norm) {
				weight = model.Certified * math.Exp(logWeights[k]-norm)
			}
			theta = append(theta, draw.theta...)
			sample.Codes = append(sample.Codes, model.Code)
			sample.LogQ = append(sample.LogQ, logModel[i]+draw.logQ)
			sample.LogP = append(sample.LogP, logPrior[i]+draw.logJoint)
			sample.Weight = append(sample.Weight, weight)
			total += weight
		}
		tallies[i] = tally{} // frees the draws
	}
	for i := range sample.Weight {
		sample.Weight[i] /= total
	}
	if len(theta) == 0 {
		theta = make([]float64, dim)
	}
	sample.Theta = mat.NewDense(len(theta)/dim, dim, theta)
	return sample
}

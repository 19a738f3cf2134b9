package vti

import (
	"cmp"
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/psis"
	"github.com/transdim/vti/models"
	"github.com/transdim/vti/space"
)

// rounds is the number of times that draws are allocated to models after the first draws. With more
// rounds the numbers of draws are nearer to their optimum, but there are fewer draws of a model at
// a time. Half and twice this number give the same answers (docs/benchmarks/constants.md).
const rounds = 8

// certifyEach estimates the evidence of every model. At first all models get the same number of
// draws. Each of the following rounds gives a model draws in proportion to its probability times
// the relative spread of its weights (Neyman allocation), which minimises the error of the
// probabilities.
func certifyEach(ctx context.Context, e *evaluator, cfg CertifyConfig) (*weighing, error) {
	codes := space.ListModels(e.Target.Space())
	certificate := &weighing{Certificate: &Certificate{Complete: true, Models: models.EstimatesOf(codes)}}
	logPrior, err := e.LogPrior(codes)
	if err != nil {
		return nil, err
	}
	s := newImportanceSampler(e, codes, cfg.stream)
	s.progress, s.total = cfg.Progress, cfg.Draws
	allocation := evenAllocation(logPrior)
	if cfg.preliminary {
		for i := range allocation {
			allocation[i] = min(allocation[i], preliminaryDraws)
		}
	}
	for _, draws := range allocation {
		s.total += draws
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
		if !cfg.preliminary {
			again, err := s.proposeAgain(ctx, certificate, logPrior)
			if err != nil {
				return nil, err
			}
			if again {
				spread = certificate.update(s.tallies, logPrior)
			}
		}
		if certificate.precise(cfg.Tolerance) && certificate.Shortage(e.Target.Space(), cfg.precision) <= 1 {
			break
		}
	}
	if cfg.preliminary && !cfg.keepModels {
		logMass := apply.UpTo(len(codes), func(i int) float64 { return logPrior[i] + certificate.Models[i].LogEvidence })
		if err := e.Set(logPrior, logMass); err != nil {
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
	counts := apply.To(certificate.Models, func(model models.Estimate) float64 { return float64(model.Draws) })
	certificate.shares = func(w witnesses) ([]float64, error) { return s.shares(s.place(w, logPrior), counts, logPrior) }
	certificate.Sample = certificate.collect(s.tallies, e.Target.Space().Dim(), logPrior, logModel)
	certificate.SetQ(logModel)
	certificate.Sort()
	certificate.Judge()
	return certificate, certificate.judgeUnseen(cfg.witnesses)
}

// modeRounds is the number of searches for modes. Each starts from draws of the Laplace proposals
// of the search before. Half and twice this number give the same answers
// (docs/benchmarks/constants.md).
const modeRounds = 3

// proposeModes gives Laplace proposals (t distributions at modes) to the models whose weights are
// unreliable or have missed the region of a witness (a point of posterior mass from an earlier
// certificate), and adds draws of these models.
func (s *importanceSampler) proposeModes(ctx context.Context, c *weighing, logPrior []float64, cfg CertifyConfig) error {
	earlier := s.place(cfg.witnesses, logPrior)
	if err := s.addModeStarts(&earlier, logPrior); err != nil {
		return err
	}
	for range modeRounds {
		expected := apply.To(c.Models, func(model models.Estimate) float64 {
			return math.Max(float64(model.Draws), model.Certified*float64(cfg.Draws))
		})
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

// proposeAgain gives Laplace proposals to probable models whose weights, after many draws, have
// infinite variance by their k̂, so that their standard errors cannot be trusted. It reports
// whether it added a proposal.
func (s *importanceSampler) proposeAgain(ctx context.Context, c *weighing, logPrior []float64) (bool, error) {
	unreliable := apply.Where(len(c.Models), func(i int) bool {
		return c.Models[i].Certified > proposalMass && c.Models[i].KHat > psis.FiniteVariance
	})
	allocation, err := s.propose(ctx, c.Models, unreliable, logPrior, nil)
	if err != nil || slices.Max(allocation) == 0 {
		return false, err
	}
	return true, s.draw(ctx, allocation, false)
}

// update computes evidences, probabilities and diagnostics anew from all weights. It returns the
// standard deviation of the weights of each model relative to their mean.
func (c *weighing) update(tallies []tally, logPrior []float64) (spread []float64) {
	evidence := make([]models.Evidence, len(tallies))
	spread = make([]float64, len(tallies))
	for i := range tallies {
		evidence[i] = tallies[i].estimate()
		if draws := evidence[i].Draws; draws > 0 {
			spread[i] = evidence[i].SE * math.Sqrt(float64(draws))
		}
	}
	c.Combine(logPrior, evidence)
	return spread
}

// allocate shares budget draws among the models in proportion to probability times spread. A spread
// of less than 0.1 counts as 0.1, because an estimate from few draws may be too small by chance.
func (c *weighing) allocate(spread []float64, allocation []int, budget int) {
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

// precise reports whether the error of every model's probability is below tolerance, and the error
// of the log evidences of the ten most probable models below five times tolerance.
func (c *weighing) precise(tolerance float64) bool {
	if slices.ContainsFunc(c.Models, func(m ModelEstimate) bool { return m.SE > tolerance }) {
		return false
	}
	best := slices.SortedStableFunc(slices.Values(c.Models), func(a, b ModelEstimate) int { return cmp.Compare(b.Certified, a.Certified) })
	return !slices.ContainsFunc(best[:min(len(best), 10)], func(m ModelEstimate) bool { return m.LogEvidenceSE > 5*tolerance })
}

// collect returns the weighted sample. The certified probability of a model is divided among its
// draws in proportion to their smoothed weights.
func (c *weighing) collect(tallies []tally, dim int, logPrior, logModel []float64) WeightedSample {
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

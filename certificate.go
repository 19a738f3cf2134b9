package vti

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/psis"
	"github.com/transdim/vti/internal/verdict"
	"github.com/transdim/vti/space"
)

// Verdict says how far a certified answer can be trusted. Its text is "trusted", "doubtful" or
// "failed".
type Verdict = verdict.Verdict

// The verdicts, from worst to best.
const (
	// Failed: the answer must not be used.
	Failed = verdict.Failed
	// Doubtful: the answer may be right, but the computation does not show it.
	Doubtful = verdict.Doubtful
	// Trusted: the answer holds to within its standard errors.
	Trusted = verdict.Trusted
)

// Basis is the method behind a certificate.
type Basis int

const (
	// Weights: importance weights of draws of q.
	Weights Basis = iota
	// ExactSum: the sum over all models, whose evidences are known (ExactTarget).
	ExactSum
	// Chains: tempered chains, where weights were not reliable.
	Chains
	// CollapsedChains: tempered chains over models and latent variables, parameters integrated out
	// (CollapsedTarget), which annealed populations check instead of weights.
	CollapsedChains
	// BirthsAndDeaths: chains over models that add and remove members by birth and death
	// (BirthDeathTarget), which tempered chains check.
	BirthsAndDeaths
)

var basisNames = [...]string{
	Weights: "weights", ExactSum: "exact sum", Chains: "chains", CollapsedChains: "chains without parameters", BirthsAndDeaths: "births and deaths",
}

// String is the basis in words: "weights", "exact sum", "chains", "chains without parameters" or
// "births and deaths".
func (b Basis) String() string { return basisNames[b] }

// MarshalText writes what String returns.
func (b Basis) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (b *Basis) UnmarshalText(text []byte) error {
	at := slices.Index(basisNames[:], string(text))
	if at < 0 {
		return fmt.Errorf("unknown basis of a certificate %q; expected one of %q", text, basisNames)
	}
	*b = Basis(at)
	return nil
}

// Certificate is the certified posterior: corrected model probabilities, evidences with their
// errors, and a verdict.
type Certificate struct {
	Verdict Verdict
	// Reasons say why the verdict is not Trusted; empty if it is.
	Reasons []string
	// Basis is the method behind the numbers. An exact sum has no errors and no k̂: KHat is NaN.
	Basis Basis
	// Confirmed reports that two methods which are independent of each other, weights and tempered
	// chains, agree within their errors on evidences, probabilities, means and standard deviations.
	Confirmed bool
	// RHat is the largest R-hat of tempered chains if the certificate rests on them, and 0 if it
	// rests on weights. KHat is then NaN, and ESS that of the quantity with the fewest effective
	// draws.
	RHat float64
	// mixedRHat is the largest R-hat at which these chains agree; 0 stands for
	// verdict.DoubtfulRHat.
	mixedRHat float64
	// KHat is the Pareto shape that the weights of the models do not exceed, but for models that
	// together hold a tenth of the probability; in an incomplete certificate that of all weights
	// together. ESS is the effective number of the Draws.
	KHat, ESS float64
	Draws     int
	// ModelsChecked is the number of models that were weighted: all that the prior does not
	// exclude, or in an incomplete certificate all that were drawn.
	ModelsChecked int
	// Complete reports whether Models are all of the space, each weighted on its own. Otherwise
	// models were drawn from q(m) and weighted jointly, or Basis is ExactSum and Models are the
	// most probable ones.
	Complete bool
	// LogEvidence is log Σ_m p(m) Z_m with its standard error, in nats.
	LogEvidence, LogEvidenceSE float64
	// NonFinite counts draws whose density was not finite; they have weight 0.
	NonFinite int
	// Models are the estimates by model, the most probable first.
	Models []ModelEstimate
	// Sample is a weighted sample from the certified posterior.
	Sample WeightedSample
	// Proposed are draws of models from q(m); nil in a complete certificate, where Models have
	// their probabilities under it.
	Proposed [][]int32

	// space is that of the models; nil unless Posterior.Certify made the certificate.
	space space.Space
	// unlisted is the probability of the models that an exact sum does not list.
	unlisted float64
	// missed is the share of the posterior that may lie where weights are larger than any that was
	// drawn. unseen reports whether other draws lie where this certificate has hardly any.
	// witnesses are what it found, for later ones; shares weighs those of others as what their
	// draws would add to the log evidence, as long as its sampler is kept.
	missed    float64
	unseen    bool
	witnesses witnesses
	shares    func(witnesses) ([]float64, error)
	// byModel are weighted draws of models without parameters, for probabilities, where Sample was
	// resampled from them; nil where Sample itself has the weights.
	byModel *WeightedSample
	// others are the probabilities of single sites given all others; nil where they are not known.
	others *conditionals
}

// ModelEstimate is the estimates of one model.
type ModelEstimate struct {
	// Code is the model.
	Code []int32
	// Q is its probability under q(m); Certified the probability after weighting, and SE its
	// standard error.
	Q, Certified, SE float64
	// LogEvidence is log Z_m = log p(y | m) and LogEvidenceSE its standard error, in nats; NaN
	// where no draw has weight.
	LogEvidence, LogEvidenceSE float64
	// KHat is the Pareto shape of the weights of its draws; +Inf when there are too few of them to
	// tell, NaN where the evidence does not come from weights of its own.
	KHat float64
	// Draws is the number of draws behind the estimate.
	Draws int
}

// Resolved reports whether LogEvidence is known to within its error. It is not if the Pareto shape
// of its weights is too large for its number of draws, or if its error is above a nat. Improbable
// models get few draws, and their estimates may be off by any amount.
func (m ModelEstimate) Resolved() bool {
	return finite(m.LogEvidence) && m.LogEvidenceSE <= 1 && !(m.KHat > psis.ReliableFor(m.Draws))
}

// estimatesOf starts an estimate of every model, of which nothing is known but the code.
func estimatesOf(codes [][]int32) []ModelEstimate {
	models := make([]ModelEstimate, len(codes))
	for i, code := range codes {
		models[i].Code = code
	}
	return models
}

// WeightedSample are draws (m, θ) with weights that sum to one.
type WeightedSample struct {
	Codes  [][]int32
	Theta  *mat.Dense // [N, D], 0 where inactive; a row of zeros if there are no draws
	LogQ   []float64  // log density of the draw under q(m) q(θ | m)
	LogP   []float64  // log p(m) + log η(θ | m): unnormalised posterior density
	Weight []float64
	// Group numbers the group of each draw from 0: only draws of different groups are independent.
	// nil if all are.
	Group []int
}

// Probability is the certified probability that the model satisfies event, with its standard error.
// In a complete certificate the error comes from those of the evidences (delta method over
// independent models), in an exact sum it is the probability of the models that are not listed;
// otherwise it comes from the weights.
func (c *Certificate) Probability(event func(code []int32) bool) (probability, se float64) {
	if !c.listed() {
		probability, se = c.weighted().probability(event)
		if c.byModel != nil {
			se = math.Hypot(se, c.evidenceError(event, probability))
		}
		return probability, math.Max(se, c.leastSE())
	}
	for _, model := range c.Models {
		if event(model.Code) {
			probability += model.Certified
		}
	}
	return probability, math.Max(c.evidenceError(event, probability), c.leastSE())
}

// listed reports whether probabilities come from those of Models.
func (c *Certificate) listed() bool { return c.Complete || c.Basis == ExactSum }

// evidenceError is what the errors of the evidences of models add to that of the probability of an
// event.
func (c *Certificate) evidenceError(event func(code []int32) bool, probability float64) float64 {
	var variance float64
	for _, model := range c.Models {
		indicator := 0.0
		if event(model.Code) {
			indicator = 1
		}
		if term := model.Certified * (indicator - probability) * model.LogEvidenceSE; !math.IsNaN(term) {
			variance += term * term
		}
	}
	return math.Sqrt(variance)
}

// Frequencies are the certified probabilities of n events, with their standard errors as of
// Probability: events lists those that a model satisfies. It takes one sweep where n calls of
// Probability would take n.
func (c *Certificate) Frequencies(n int, events func(code []int32) []int) (probability, se []float64) {
	probability, se = make([]float64, n), make([]float64, n)
	// Σ w² over what satisfies the event; all is the sum over everything
	spread := make([]float64, n)
	var all float64
	count := func(code []int32, weight, square float64) {
		all += square
		for _, event := range events(code) {
			probability[event] += weight
			spread[event] += square
		}
	}
	if c.listed() {
		for _, model := range c.Models {
			square := model.Certified * model.LogEvidenceSE
			if square *= square; math.IsNaN(square) {
				square = 0
			}
			count(model.Code, model.Certified, square)
		}
	} else if sample := c.weighted(); sample.Group == nil {
		for i, code := range sample.Codes {
			count(code, sample.Weight[i], sample.Weight[i]*sample.Weight[i])
		}
		if c.byModel != nil { // draws of one model share the error of its evidence
			for _, model := range c.Models {
				if square := model.Certified * model.LogEvidenceSE; !math.IsNaN(square) {
					count(model.Code, 0, square*square)
				}
			}
		}
	} else {
		probability, se = sample.groupedFrequencies(n, events)
		for event := range se {
			se[event] = math.Max(se[event], c.leastSE())
		}
		return probability, se
	}
	for event, p := range probability { // Σ w² (1[event] − p)²
		se[event] = math.Max(math.Sqrt(math.Max(0, (1-2*p)*spread[event]+p*p*all)), c.leastSE())
	}
	if c.others != nil {
		c.others.sharpen(c.ESS, c.leastSE(), events, probability, se)
	}
	return probability, se
}

// weighted are the draws that probabilities come from in an incomplete certificate.
func (c *Certificate) weighted() *WeightedSample {
	if c.byModel != nil {
		return c.byModel
	}
	return &c.Sample
}

// leastSE is the standard error that a probability has even if no draw, or every draw, satisfies
// the event: the posterior standard deviation, under a uniform prior, of a probability after as
// many failures as there are effective draws. It is 0 where every model was weighted on its own,
// and in other exact sums what models that are not listed can add.
func (c *Certificate) leastSE() float64 {
	if c.listed() {
		return c.unlisted
	}
	return 1 / (c.ESS + 2)
}

// groupedFrequencies is Frequencies for draws in groups: the error comes from the differences
// between groups. With A_g the weight of group g and E_g that of the event in it, Var p = Σ_g (E_g
// − p A_g)² G / (G − 1).
func (s *WeightedSample) groupedFrequencies(n int, events func(code []int32) []int) (probability, se []float64) {
	groups := slices.Max(s.Group) + 1
	probability, se = make([]float64, n), make([]float64, n)
	weight, inside := make([]float64, groups), make([]float64, n*groups)
	for i, code := range s.Codes {
		weight[s.Group[i]] += s.Weight[i]
		for _, event := range events(code) {
			probability[event] += s.Weight[i]
			inside[event*groups+s.Group[i]] += s.Weight[i]
		}
	}
	for event, p := range probability {
		var variance float64
		for g, w := range weight {
			residual := inside[event*groups+g] - p*w
			variance += residual * residual
		}
		se[event] = math.Sqrt(variance * float64(groups) / float64(groups-1))
	}
	return probability, se
}

// probability is the self-normalised importance estimate of an event and its standard error.
func (s *WeightedSample) probability(event func(code []int32) bool) (probability, se float64) {
	if s.Group != nil {
		p, errors := s.groupedFrequencies(1, func(code []int32) []int {
			if event(code) {
				return []int{0}
			}
			return nil
		})
		return p[0], errors[0]
	}
	inside := make([]bool, len(s.Codes))
	for i, code := range s.Codes {
		if inside[i] = event(code); inside[i] {
			probability += s.Weight[i]
		}
	}
	var variance float64
	for i, weight := range s.Weight {
		indicator := 0.0
		if inside[i] {
			indicator = 1
		}
		variance += weight * weight * (indicator - probability) * (indicator - probability)
	}
	return probability, math.Sqrt(variance)
}

// lower makes the verdict at most what is given, for a reason.
func (c *Certificate) lower(to Verdict, format string, args ...any) {
	verdict.Lower(&c.Verdict, &c.Reasons, to, format, args...)
}

// judge sets the verdict and its reasons.
func (c *Certificate) judge() {
	if c.Basis == ExactSum {
		c.Verdict, c.Reasons = Trusted, nil
		return
	}
	m := c.measured()
	if c.RHat > 0 {
		m.Chains = &verdict.Chains{RHat: c.RHat, Limit: c.mixedRHat}
	} else {
		m.Weights = &verdict.Weights{KHat: c.KHat, Missed: c.missed}
	}
	j := verdict.Judge(m)
	c.Verdict, c.Reasons = j.Verdict, j.Reasons
}

// measured is the precision of a certificate, without its weights or chains.
func (c *Certificate) measured() verdict.Measured {
	m := verdict.Measured{ESS: c.ESS, Draws: c.Draws, Event: "a model", EvidenceSE: c.LogEvidenceSE, NonFinite: c.NonFinite}
	for _, model := range c.Models {
		m.EventSE = math.Max(m.EventSE, model.SE)
	}
	return m
}

// setQ fills in q(m) of the models.
func (c *Certificate) setQ(logModel []float64) {
	for i, value := range logModel {
		c.Models[i].Q = math.Exp(value)
	}
}

// sortModels orders by certified probability, the largest first; ties by code, so that the order is
// always the same.
func (c *Certificate) sortModels() {
	slices.SortFunc(c.Models, func(a, b ModelEstimate) int {
		return cmp.Or(cmp.Compare(b.Certified, a.Certified), slices.Compare(a.Code, b.Code))
	})
}

// Agreement of two estimates: differences of up to agreeingErrors of their standard errors, and a
// little for what these leave out. Chosen by hand: the first makes a false alarm in one of 16,000
// comparisons, the other is below what a reader of the answer could care for.
const (
	agreeingErrors   = 4
	agreeingEvidence = 0.03 // nats
)

// evidenceNear reports whether another estimate of the log evidence agrees with the certificate's.
func (c *Certificate) evidenceNear(log, se float64) bool {
	return math.Abs(c.LogEvidence-log) <= agreeingEvidence+agreeingErrors*math.Hypot(c.LogEvidenceSE, se)
}

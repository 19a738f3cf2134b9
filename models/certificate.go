package models

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/enum"
	"github.com/transdim/vti/internal/psis"
	"github.com/transdim/vti/internal/verdict"
	"github.com/transdim/vti/space"
)

// Verdict grades how far a certified answer can be trusted. Its text is "trusted", "doubtful" or
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
	// Weights stands for importance weights of draws from q.
	Weights Basis = iota
	// ExactSum stands for the sum over all models, whose evidences are known (Known.Evidences).
	ExactSum
	// Chains stands for tempered chains over models and parameters, run if weights are not
	// reliable.
	Chains
	// CollapsedChains stands for tempered chains over models and latent variables
	// (Known.Collapsed). Populations of annealed states check the chains, since there are no
	// weights to do so.
	CollapsedChains
	// BirthsAndDeaths stands for chains over models that add members (such as predictors) by births
	// and remove them by deaths (Known.BirthDeath). Tempered chains check them.
	BirthsAndDeaths
)

var bases = enum.New[Basis]("basis of a certificate", "weights", "exact sum", "chains", "chains without parameters", "births and deaths")

// String returns "weights", "exact sum", "chains", "chains without parameters" or "births and
// deaths".
func (b Basis) String() string { return bases.String(b) }

// MarshalText writes the text of String.
func (b Basis) MarshalText() ([]byte, error) { return bases.Marshal(b) }

// UnmarshalText reads the output of MarshalText.
func (b *Basis) UnmarshalText(text []byte) error { return bases.Unmarshal(text, b) }

// Certificate is the certified posterior, with a verdict.
type Certificate struct {
	// Verdict is the grade of the certificate.
	Verdict Verdict
	// Reasons holds the reasons for a verdict other than Trusted; it is empty otherwise.
	Reasons []string
	// Basis is the method behind the numbers. An exact sum has no errors and no k̂: KHat is NaN.
	Basis Basis
	// Confirmed reports whether two independent methods, weights and tempered chains, agree within
	// their errors on evidences, probabilities, means and standard deviations.
	Confirmed bool
	// RHat is the largest R-hat of the tempered chains behind the certificate, and 0 for weights.
	// With chains KHat is NaN, and ESS is the smallest effective number of draws of all quantities.
	RHat float64
	// KHat is the Pareto shape k̂ of the importance weights. In a complete certificate, whose
	// models have separate weights, KHat is the smallest shape such that the models with a larger
	// shape together have at most a tenth of the probability. In an incomplete certificate it is
	// the shape of all weights together. Draws is the number of draws, and ESS their effective
	// number.
	KHat, ESS float64
	Draws     int
	// ModelsChecked is the number of models with weights. These are all models allowed by the
	// prior, or in an incomplete certificate all models that were drawn.
	ModelsChecked int
	// Complete reports whether Models holds all models, each weighted separately. Otherwise Models
	// holds models that were drawn from q(m) and weighted jointly, or the most probable models of
	// an exact sum.
	Complete bool
	// LogEvidence is log Σ_m p(m) p(y | m), the log evidence of all models, and LogEvidenceSE its
	// standard error, in nats.
	LogEvidence, LogEvidenceSE float64
	// NonFinite counts draws whose density was not finite; they have weight 0.
	NonFinite int
	// Models holds the estimates of each model, the most probable first.
	Models []Estimate
	// Sample is a weighted sample from the certified posterior.
	Sample WeightedSample
	// Proposed holds draws of models from q(m). It is nil in a complete certificate, where
	// Estimate.Q gives q(m) of every model.
	Proposed [][]int32

	// Space is the set of the models; nil unless vti.Posterior.Certify made the certificate.
	Space space.Space
	// Missed is an estimate of the share of the posterior that lies where importance weights are
	// larger than all weights drawn.
	Missed float64

	// mixedRHat is the R-hat above which chains have not mixed; 0 stands for verdict.DoubtfulRHat.
	mixedRHat float64
	// unlisted is the probability of the models that an exact sum does not list.
	unlisted float64
	// byModel holds weighted draws of models without parameters if Sample was resampled from them.
	// Probabilities of models then come from byModel. It is nil if Sample itself has the weights.
	byModel *WeightedSample
	// others holds the probabilities of the outcome of one site (entry of the code) given the
	// outcomes of all other sites; nil if they are unknown.
	others *conditionals
}

// Estimate holds the estimates of one model.
type Estimate struct {
	// Code is the model.
	Code []int32
	// Q is the probability of the model under q(m). Certified is its posterior probability, and SE
	// the standard error of Certified.
	Q, Certified, SE float64
	// LogEvidence is log p(y | m), and LogEvidenceSE its standard error, in nats. They are NaN if
	// no draw has weight.
	LogEvidence, LogEvidenceSE float64
	// Draws is the number of draws of the model, and KHat the Pareto shape of their weights. KHat
	// is +Inf if there are too few draws, and NaN if the model has no separate weights.
	KHat  float64
	Draws int
}

// Resolved reports whether LogEvidence is known to within its error. It is unknown if the Pareto
// shape of its weights is too large for its number of draws, or if its error is above a nat.
// Improbable models get few draws, and their estimates may be off by any amount.
func (m Estimate) Resolved() bool {
	return finite(m.LogEvidence) && m.LogEvidenceSE <= 1 && !(m.KHat > psis.ReliableFor(m.Draws))
}

// EstimatesOf returns an Estimate for every code, with only the field Code set.
func EstimatesOf(codes [][]int32) []Estimate {
	models := make([]Estimate, len(codes))
	for i, code := range codes {
		models[i].Code = code
	}
	return models
}

// CodesOf returns the codes of models.
func CodesOf(models []Estimate) [][]int32 {
	return apply.To(models, func(model Estimate) []int32 { return model.Code })
}

// WeightedSample holds draws (m, θ) with weights that sum to one.
type WeightedSample struct {
	// Codes holds the model of each draw.
	Codes [][]int32
	Theta *mat.Dense // [draws, D], 0 where inactive; a row of zeros if there are no draws
	// LogQ is the log density of each draw under q(m) q(θ | m). It is nil if only the answer was
	// requested and the answer does not come from draws of q.
	LogQ   []float64
	LogP   []float64 // log p(m) + log p(y, θ | m): the unnormalised posterior
	Weight []float64
	// Group is the number of the group of each draw, from 0. Draws of one group are dependent, and
	// groups are independent. If Group is nil all draws are independent, apart from the errors that
	// ModelDraw describes.
	Group []int
	// ModelDraw is the number of the weighted draw of a model that each draw of parameters belongs
	// to, from 0, if models were drawn and weighted before their parameters. Draws with the same
	// number share the error of the weight of that model. Otherwise ModelDraw is nil.
	ModelDraw []int
}

// Dependent returns the number of the group of each draw, from 0: Group or, if draws are
// independent apart from the errors of models' weights, ModelDraw. It returns nil if all draws are
// independent.
func (s *WeightedSample) Dependent() []int {
	if s.Group != nil {
		return s.Group
	}
	return s.ModelDraw
}

// Lower lowers the verdict to the argument to, unless the verdict is already that low, and adds a
// reason, formatted as by fmt.Sprintf.
func (c *Certificate) Lower(to Verdict, format string, args ...any) {
	verdict.Lower(&c.Verdict, &c.Reasons, to, format, args...)
}

// Judge sets the verdict and its reasons.
func (c *Certificate) Judge() {
	if c.Basis == ExactSum {
		c.Verdict, c.Reasons = Trusted, nil
		return
	}
	m := c.measured()
	if c.RHat > 0 {
		m.Chains = &verdict.Chains{RHat: c.RHat, Limit: c.mixedRHat}
	} else {
		m.Weights = &verdict.Weights{KHat: c.KHat, Missed: c.Missed}
	}
	j := verdict.Judge(m)
	c.Verdict, c.Reasons = j.Verdict, j.Reasons
}

// measured returns the precision of a certificate for package verdict, without the diagnostics of
// its weights or chains.
func (c *Certificate) measured() verdict.Measured {
	m := verdict.Measured{ESS: c.ESS, Draws: c.Draws, Event: "a model", EvidenceSE: c.LogEvidenceSE, NonFinite: c.NonFinite}
	for _, model := range c.Models {
		m.EventSE = math.Max(m.EventSE, model.SE)
	}
	return m
}

// SetQ sets the field Q of each model from log q(m), in the order of Models.
func (c *Certificate) SetQ(logModel []float64) {
	for i, value := range logModel {
		c.Models[i].Q = math.Exp(value)
	}
}

// Sort orders models by certified probability, the largest first, and ties by code.
func (c *Certificate) Sort() {
	slices.SortFunc(c.Models, func(a, b Estimate) int {
		return cmp.Or(cmp.Compare(b.Certified, a.Certified), slices.Compare(a.Code, b.Code))
	})
}

// CertificateOf returns the certificate, with its verdict, that follows from the evidences of all
// models of a space. Its Models are in the order of codes, and its Sample is empty. logPrior[i] is
// log p(m) of codes[i] and evidence[i] its evidence. The three slices have the same length. If all
// evidences are closed forms, and not all of them 0, the certificate is an exact sum.
func CertificateOf(codes [][]int32, logPrior []float64, evidence []Evidence) *Certificate {
	c := &Certificate{Complete: true, Models: EstimatesOf(codes)}
	c.Combine(logPrior, evidence)
	for i := range c.Models {
		c.Models[i].Q = math.NaN()
	}
	estimated := slices.ContainsFunc(evidence, func(e Evidence) bool { return !e.closed() })
	if !estimated && !math.IsInf(c.LogEvidence, -1) {
		c.Basis = ExactSum
	}
	c.Judge()
	return c
}

// Combine sets the estimates of the models, and the log evidence and diagnostics of the
// certificate, from log p(m) and the evidence of each model, in the order of Models.
func (c *Certificate) Combine(logPrior []float64, evidence []Evidence) {
	sum := Combine(logPrior, evidence)
	c.LogEvidence, c.LogEvidenceSE, c.KHat, c.ESS, c.Missed = sum.LogEvidence, sum.LogEvidenceSE, sum.KHat, sum.ESS, sum.Missed
	c.Draws, c.NonFinite, c.ModelsChecked = sum.Draws, sum.NonFinite, 0
	for i, found := range evidence {
		model := &c.Models[i]
		model.Certified, model.SE = sum.Probability[i], sum.SE[i]
		model.LogEvidence, model.LogEvidenceSE, model.KHat, model.Draws = found.Log, found.statedSE(), found.KHat, found.Draws
		if math.IsInf(logPrior[i], -1) {
			model.LogEvidence = math.NaN()
			continue
		}
		c.ModelsChecked++
	}
}

// Gather sets Models to the models with draws, each with the sum of the weights of its draws as its
// probability.
func (c *Certificate) Gather() {
	position := map[string]int{}
	sample := c.weighted()
	for i, code := range sample.Codes {
		k, seen := position[space.Key(code)]
		if !seen {
			k = len(c.Models)
			position[space.Key(code)] = k
			c.Models = append(c.Models, Estimate{Code: code, LogEvidence: math.NaN(), LogEvidenceSE: math.NaN(), KHat: math.NaN()})
		}
		c.Models[k].Certified += sample.Weight[i]
		c.Models[k].Draws++
	}
	c.ModelsChecked = len(c.Models)
	c.setErrors()
}

// setErrors sets the standard errors of the models of an incomplete certificate.
func (c *Certificate) setErrors() {
	position := make(map[string]int, len(c.Models))
	for k, model := range c.Models {
		position[space.Key(model.Code)] = k
	}
	_, se := c.frequencies(len(c.Models), func(code []int32) []int { return []int{position[space.Key(code)]} }, false)
	for k := range c.Models {
		c.Models[k].SE = se[k]
	}
}

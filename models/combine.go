package models

import (
	"cmp"
	"math"
	"slices"

	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/psis"
	"github.com/transdim/vti/internal/rank"
	"github.com/transdim/vti/internal/verdict"
)

// mostBound is the largest standard error of a probability that Combine takes from the upper bound
// of an evidence: a fiftieth of verdict.DoubtfulMissed, too small to call for more draws.
const mostBound = 1e-4

// Sum is the posterior over models from prior probabilities and evidences.
type Sum struct {
	// Probability is the posterior probability of each model, and SE its standard error by the
	// delta method over independent evidences. With p_m the probability of model m, and s_m the
	// standard error of its log evidence, Var p_m = p_m² ((1 − 2 p_m) s_m² + Σ_k p_k² s_k²). If the
	// weights of a model are unreliable, its SE is at least the probability that the model would
	// gain if its evidence were Evidence.Bound, or mostBound if that is smaller. A larger possible
	// gain shows in KHat, which then lowers the verdict.
	Probability, SE []float64
	// LogEvidence is log Σ_m p(m) p(y | m) in nats, and LogEvidenceSE its standard error, √(Σ p_m²
	// s_m²).
	LogEvidence, LogEvidenceSE float64
	// KHat is the smallest Pareto shape such that models with larger shapes hold together at most a
	// tenth of the probability (verdict.BadMass). It is NaN if the models without weights hold the
	// remaining nine tenths. The shape of all weights together would mislead, since a mixture of
	// many well-behaved tails looks like a heavy tail. A model with unreliable weights, which may
	// miss most of its evidence, counts with the larger of its estimate and Evidence.Bound.
	KHat float64
	// Missed is an estimate of the share of the posterior that lies where weights are larger than
	// all weights drawn. The shares missed by different models are treated as independent. A model
	// with unreliable weights and without Evidence.Bound counts with the largest evidence of a
	// model.
	Missed float64
	// ESS is the effective number of draws (Kish 1965) of all Draws draws together: 1 / Σ_m (p_m² /
	// ESS_m), where p_m is the probability of model m, shared by its draws in proportion to their
	// weights, and ESS_m their effective number. It is +Inf for closed forms.
	ESS float64
	// Draws is the number of draws behind all evidences.
	Draws int
	// NonFinite counts the draws whose log density is not finite.
	NonFinite int
}

// Combine computes the posterior over models from log p(m) and the evidences of all models, which
// must have the same length. A model with logPrior −Inf has probability 0, whatever its evidence.
// If p(m) p(y | m) is 0 for every model, LogEvidence is −Inf and the probabilities are NaN.
func Combine(logPrior []float64, evidence []Evidence) Sum {
	s := Sum{Probability: make([]float64, len(evidence)), SE: make([]float64, len(evidence))}
	logMass := make([]float64, len(evidence))
	for i, found := range evidence {
		logMass[i] = math.Inf(-1)
		if !math.IsInf(logPrior[i], -1) && !math.IsNaN(found.Log) {
			logMass[i] = logPrior[i] + found.Log
		}
		s.Draws, s.NonFinite = s.Draws+found.Draws, s.NonFinite+found.NonFinite
	}
	s.LogEvidence = logsum.Of(logMass)
	variance, inverse := 0.0, 0.0
	for i, found := range evidence {
		p := math.Exp(logMass[i] - s.LogEvidence)
		s.Probability[i] = p
		if p == 0 {
			continue
		}
		square := p * found.statedSE()
		variance += square * square
		inverse += p * p / found.ESS
		if found.SE > 0 && !math.IsNaN(found.KHat) {
			s.Missed = math.Hypot(s.Missed, p*psis.TailShare(found.KHat, found.Draws))
		}
	}
	s.LogEvidenceSE, s.ESS = math.Sqrt(variance), 1/inverse
	kHat, share := make([]float64, len(evidence)), slices.Clone(s.Probability)
	for i, found := range evidence {
		if p := s.Probability[i]; p > 0 {
			square := found.statedSE()
			square *= square
			s.SE[i] = p * math.Sqrt(math.Max(0, (1-2*p)*square+variance))
		}
		if kHat[i] = found.KHat; found.unreliable() && !found.unbounded() {
			share[i] = math.Max(share[i], math.Exp(logPrior[i]+found.Bound-s.LogEvidence))
			s.SE[i] = math.Max(s.SE[i], math.Min(share[i]-s.Probability[i], mostBound))
		}
	}
	s.KHat = TypicalKHat(kHat, share)
	s.Missed = math.Hypot(s.Missed, unbounded(logPrior, evidence, s.LogEvidence))
	return s
}

// unbounded returns the posterior probability of the models whose evidences have no upper bound,
// computed as if each of them had the largest evidence of the other models.
func unbounded(logPrior []float64, evidence []Evidence, logTotal float64) float64 {
	largest, priors := math.Inf(-1), 0.0
	for i, found := range evidence {
		switch {
		case found.unbounded():
			priors += math.Exp(logPrior[i])
		case !math.IsInf(logPrior[i], -1) && found.Log > largest:
			largest = found.Log
		}
	}
	share := priors * math.Exp(largest-logTotal)
	return share / (1 + share)
}

// TypicalKHat returns the smallest Pareto shape k̂ such that the parts of the posterior (such as
// models) with larger shapes hold together at most a tenth of the probability (verdict.BadMass).
// kHat holds the shape of each part, and share its probability. The probabilities need not sum to
// one. A shape of NaN stands for a part without weights, and counts as smaller than every number.
// The result is +Inf if all parts together hold at most a tenth.
func TypicalKHat(kHat, share []float64) float64 {
	order := rank.Order(len(kHat), func(a, b int) int { return cmp.Compare(kHat[b], kHat[a]) })
	exceeding := 0.0
	for _, i := range order {
		if exceeding += share[i]; exceeding > verdict.BadMass {
			return kHat[i]
		}
	}
	return math.Inf(1)
}

// EffectiveOf returns the effective number of draws, 1 / (1/ess + 1/n), of an answer from n draws
// of a posterior that is itself estimated as precisely as from ess draws.
func EffectiveOf(ess float64, n int) float64 { return 1 / (1/ess + 1/float64(n)) }

// These are types of package verdict, under names that other modules can use.
type (
	// Measured is the precision of a computation.
	Measured = verdict.Measured
	// MeasuredWeights holds the diagnostics of the importance weights of a computation.
	MeasuredWeights = verdict.Weights
	// MeasuredChains holds the diagnostics of the Markov chains of a computation.
	MeasuredChains = verdict.Chains
	// Judgement is a verdict with the reasons for it.
	Judgement = verdict.Judgement
)

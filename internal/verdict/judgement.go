package verdict

import (
	"cmp"
	"fmt"
	"math"

	"github.com/transdim/vti/internal/psis"
)

// These limits come in pairs: a value worse than the first limit makes the verdict Doubtful, and a
// value worse than the second limit makes it Failed.
const (
	// These limits are for Pareto's k̂ of importance weights. Above the first limit importance
	// sampling converges too slowly to be practical. Above the second limit the weights have no
	// mean (Vehtari et al. 2024, section 3.2.4).
	DoubtfulKHat = psis.Reliable
	FailedKHat   = 1.0

	// These limits are for effective draws. With fewer than 400, estimates of R-hat and of standard
	// errors are unreliable (Vehtari et al. 2021, section 4). With 50, a standard deviation has a
	// relative error of a tenth.
	DoubtfulESS = 400
	FailedESS   = 50

	// These limits are for R-hat of chains. The first is from Vehtari et al. (2021, section 5), and
	// the second from Gelman and Rubin (1992).
	DoubtfulRHat = 1.01
	FailedRHat   = 1.1

	// These limits are for the standard error of a probability. At the first limit the second
	// decimal is nearly right. At the second limit the first decimal is nearly right.
	DoubtfulEventSE = 0.02
	FailedEventSE   = 0.1

	// These limits are for the standard error of the log evidence of all models together, in nats.
	// At the first limit Bayes factors are known to a fifth, and at the second limit to a factor
	// below two.
	DoubtfulEvidenceSE = 0.2
	FailedEvidenceSE   = 0.5

	// DoubtfulMissed is the largest share of the posterior, in a tail that no draw reached, with
	// which an answer is not doubtful. A probability with twice this error counts as wrong.
	DoubtfulMissed = 0.005

	// FailedNonFinite is the share of draws without a finite log density above which an answer
	// fails: larger shares come from a fault of the density, not from rounding at extreme
	// parameters.
	FailedNonFinite = 0.01
)

// BadMass is a total posterior probability. If models with unreliable weights have more than this
// probability together, their k̂ affects the verdict. With a smaller limit one improbable model
// with few draws would make an answer doubtful. With this limit 6 of 1,907 difficult tables were
// not trusted, and no trusted answer was wrong (docs/benchmarks/calibration.md).
const BadMass = 0.1

// Measured holds measures of the precision of a computation. A measure that does not apply is zero.
type Measured struct {
	// Weights holds measures of importance weights; nil without weights.
	Weights *Weights
	// Chains holds measures of Markov chains; nil without chains.
	Chains *Chains
	// ESS is the effective number of draws; +Inf if it does not apply.
	ESS   float64
	Draws int
	// EventSE is the largest standard error of the probability of an event, and Event names the
	// kind of event, such as "a model" or "an edge".
	Event   string
	EventSE float64
	// EvidenceSE is the standard error of the log evidence of all models, in nats.
	EvidenceSE float64
	// NonFinite counts draws whose log density is not finite.
	NonFinite int
}

// Weights holds measures of importance weights.
type Weights struct {
	// KHat is the Pareto shape k̂ of the tail of the weights.
	KHat float64
	// Missed is the share of the posterior at parameters with larger weights than all draws, which
	// no draw represents (psis.TailShare).
	Missed float64
}

// Chains holds measures of Markov chains.
type Chains struct {
	// RHat is the largest R-hat of all quantities.
	RHat float64
	// Limit is the R-hat above which chains are doubtful; 0 means DoubtfulRHat. It may be larger
	// for chains that only confirm another answer.
	Limit float64
}

// Judge compares the measurements of any computation with the limits.
func Judge(m Measured) *Judgement {
	j := &Judgement{Verdict: Trusted}
	if m.Chains != nil {
		j.chains(m.Chains.RHat, cmp.Or(m.Chains.Limit, DoubtfulRHat))
	}
	if m.Weights != nil {
		j.weights(m.Weights.KHat)
		j.missed(m.Weights.Missed, m.Weights.KHat, m.Draws)
	}
	if m.Draws > 0 || m.Weights != nil || m.Chains != nil {
		j.size(m.ESS, m.Draws)
	}
	j.Limit(m.EventSE, DoubtfulEventSE, FailedEventSE, "the standard error of "+m.Event+" probability is %.2g")
	j.Limit(m.EvidenceSE, DoubtfulEvidenceSE, FailedEvidenceSE, "the standard error of the log evidence is %.2g")
	if share := float64(m.NonFinite) / float64(max(m.Draws, 1)); share > FailedNonFinite {
		j.Lower(Failed, "%.1f%% of the draws have a log density that is not finite", 100*share)
	}
	return j
}

// Lower lowers a verdict to the given one, unless it is already as low, and adds the reason.
func Lower(verdict *Verdict, reasons *[]string, to Verdict, format string, args ...any) {
	*verdict = min(*verdict, to)
	*reasons = append(*reasons, fmt.Sprintf(format, args...))
}

// Judgement is a verdict with the reasons for it.
type Judgement struct {
	// Verdict is the worst level of all reasons.
	Verdict Verdict
	// Reasons lists why the verdict is not Trusted, in the order in which the reasons were found.
	Reasons []string
}

// Lower lowers the verdict to the given one, unless it is already as low, and adds the reason.
func (j *Judgement) Lower(to Verdict, format string, args ...any) {
	Lower(&j.Verdict, &j.Reasons, to, format, args...)
}

// Add adds the verdict and the reasons of another judgement.
func (j *Judgement) Add(other *Judgement) {
	j.Verdict, j.Reasons = min(j.Verdict, other.Verdict), append(j.Reasons, other.Reasons...)
}

// Limit lowers the verdict to Doubtful if a value is above the first limit, and to Failed if the
// value is above the second limit or not a number. The format of the reason gets the value.
func (j *Judgement) Limit(value, doubtful, failed float64, format string) {
	switch {
	case !(value <= failed):
		j.Lower(Failed, format, value)
	case value > doubtful:
		j.Lower(Doubtful, format, value)
	}
}

func (j *Judgement) chains(rHat, doubtful float64) {
	switch {
	case !(rHat <= FailedRHat):
		j.Lower(Failed, "R-hat of the chains is %.2f, above %.1f", rHat, FailedRHat)
	case rHat > doubtful:
		j.Lower(Doubtful, "R-hat of the chains is %.3f, above %.2f", rHat, doubtful)
	}
}

func (j *Judgement) weights(kHat float64) {
	switch {
	case math.IsNaN(kHat) || kHat > FailedKHat:
		j.Lower(Failed, "Pareto k̂ is %.2f, above %.1f: the mean of the weights may not exist", kHat, FailedKHat)
	case kHat > DoubtfulKHat:
		j.Lower(Doubtful, "Pareto k̂ is %.2f, above %.1f", kHat, DoubtfulKHat)
	}
}

// missed lowers the verdict if the argument share is large: the share of the posterior at
// parameters with larger weights than all draws.
func (j *Judgement) missed(share, kHat float64, draws int) {
	if share <= DoubtfulMissed {
		return
	}
	part := fmt.Sprintf("%.2g", share)
	switch {
	case share >= 0.9995:
		part = "all"
	case share >= 0.985:
		part = "nearly all"
	}
	j.Lower(Doubtful, "%s of the posterior may lie where none of %d draws fell (Pareto k̂ %.2f)", part, draws, kHat)
}

func (j *Judgement) size(ess float64, draws int) {
	switch {
	case !(ess >= FailedESS):
		j.Lower(Failed, "only %.0f effective draws of %d", ess, draws)
	case ess < DoubtfulESS:
		j.Lower(Doubtful, "only %.0f effective draws of %d", ess, draws)
	}
}

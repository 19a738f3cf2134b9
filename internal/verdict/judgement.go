package verdict

import (
	"fmt"
	"math"

	"github.com/transdim/vti/internal/psis"
)

// Limits of the verdict, in pairs: a value beyond the first is doubtful, beyond the second failed.
const (
	// Pareto k̂ of importance weights: above the first importance sampling converges too slowly to
	// be practical, above the second the weights have no mean (Vehtari et al. 2024, section 3.2.4).
	DoubtfulKHat = psis.Reliable
	FailedKHat   = 1.0

	// Effective draws. Below 400 the estimate of R-hat and of errors is itself unreliable (Vehtari
	// et al. 2021, section 4); 50 is chosen by hand: a standard deviation then has an error of a
	// tenth.
	DoubtfulESS = 400
	FailedESS   = 50

	// R-hat of chains (Vehtari et al. 2021, section 5; the second from Gelman and Rubin 1992).
	DoubtfulRHat = 1.01
	FailedRHat   = 1.1

	// Standard error of a probability; chosen by hand: the second decimal is still right, and the
	// first still says something.
	DoubtfulEventSE = 0.02
	FailedEventSE   = 0.1

	// Standard error of the log evidence of all models together, in nats; chosen by hand: Bayes
	// factors known to a fifth, and to a factor below two.
	DoubtfulEvidenceSE = 0.2
	FailedEvidenceSE   = 0.5

	// DoubtfulMissed is the share of the posterior above which what draws have missed makes the
	// answer doubtful; chosen by hand, half of what a probability may be off by before it is wrong.
	DoubtfulMissed = 0.005

	// FailedNonFinite is the share of draws without a finite log density above which an answer
	// fails; chosen by hand.
	FailedNonFinite = 0.01
)

// BadMass is the probability that models whose weights are unreliable may hold together before
// their k̂ counts. Chosen by hand, not tuned.
const BadMass = 0.1

// Judgement is a verdict in the making, with the reasons for it. The zero value says Failed: begin
// with New.
type Judgement struct {
	// Verdict is the worst level of all reasons.
	Verdict Verdict
	// Reasons say what kept the verdict from being Trusted, in the order in which they were found.
	Reasons []string
}

// New returns a judgement that nothing speaks against yet: Trusted.
func New() *Judgement { return &Judgement{Verdict: Trusted} }

// Lower makes the verdict at most what is given, for a reason.
func (j *Judgement) Lower(to Verdict, format string, args ...any) {
	j.Verdict = min(j.Verdict, to)
	j.Reasons = append(j.Reasons, fmt.Sprintf(format, args...))
}

// Limit lowers the verdict when a value lies above a limit: to Doubtful above the first, to Failed
// above the second or when it is not a number. The format gets the value.
func (j *Judgement) Limit(value, doubtful, failed float64, format string) {
	switch {
	case !(value <= failed):
		j.Lower(Failed, format, value)
	case value > doubtful:
		j.Lower(Doubtful, format, value)
	}
}

// Chains judges chains by their largest R-hat.
func (j *Judgement) Chains(rHat float64) { j.ChainsWithin(rHat, DoubtfulRHat) }

// ChainsWithin is Chains with a limit of its own above which they are doubtful: for chains that
// only have to confirm another answer.
func (j *Judgement) ChainsWithin(rHat, doubtful float64) {
	switch {
	case !(rHat <= FailedRHat):
		j.Lower(Failed, "R-hat of the chains is %.2f, above %.1f", rHat, FailedRHat)
	case rHat > doubtful:
		j.Lower(Doubtful, "R-hat of the chains is %.3f, above %.2f", rHat, doubtful)
	}
}

// Weights judges importance weights by their Pareto k̂.
func (j *Judgement) Weights(kHat float64) {
	switch {
	case math.IsNaN(kHat) || kHat > FailedKHat:
		j.Lower(Failed, "Pareto k̂ is %.2f, above %.1f: the mean of the weights may not exist", kHat, FailedKHat)
	case kHat > DoubtfulKHat:
		j.Lower(Doubtful, "Pareto k̂ is %.2f, above %.1f", kHat, DoubtfulKHat)
	}
}

// Missed judges by the share of the posterior that may lie where weights are larger than any of
// those drawn (psis.TailShare).
func (j *Judgement) Missed(share, kHat float64, draws int) {
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

// Size judges by the effective number of so many draws.
func (j *Judgement) Size(ess float64, draws int) {
	switch {
	case !(ess >= FailedESS):
		j.Lower(Failed, "only %.0f effective draws of %d", ess, draws)
	case ess < DoubtfulESS:
		j.Lower(Doubtful, "only %.0f effective draws of %d", ess, draws)
	}
}

// Event judges by the largest standard error of a probability; of names whose, as "a model" or "an
// edge".
func (j *Judgement) Event(se float64, of string) {
	j.Limit(se, DoubtfulEventSE, FailedEventSE, "the standard error of "+of+" probability is %.2g")
}

// Evidence judges by the standard error of the log evidence, in nats.
func (j *Judgement) Evidence(se float64) {
	j.Limit(se, DoubtfulEvidenceSE, FailedEvidenceSE, "the standard error of the log evidence is %.2g")
}

// NonFinite judges by how many of so many draws have a log density that is not finite.
func (j *Judgement) NonFinite(count, draws int) {
	if share := float64(count) / float64(max(draws, 1)); share > FailedNonFinite {
		j.Lower(Failed, "%.1f%% of the draws have a log density that is not finite", 100*share)
	}
}

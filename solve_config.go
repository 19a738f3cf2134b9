package vti

import (
	"cmp"
	"fmt"
	"time"
)

// SolveConfig sets the precision and the limits of work of Solve. The zero value is a good default.
type SolveConfig struct {
	// Fit holds the settings of training. Fit.Steps is the largest total number of steps of all
	// rounds; 0 stands for 3,150. If Fit.FirstRound is 0 it stands for 50. These defaults give six
	// rounds, each with twice as large a number of steps as the round before. They only bound the
	// time, since a sufficient certificate ends the rounds.
	Fit Config
	// Certify holds the settings of certificates. Certify.Draws is the largest number of draws of
	// each certificate. If Certify.Tolerance is 0 it stands for Precision. Solve sets
	// Certify.Confirm unless the target is a UnimodalTarget.
	Certify CertifyConfig
	// Precision is the largest allowed standard error of the probabilities of models and of
	// outcomes of sites; 0 stands for 0.005. The largest allowed standard error of means of
	// parameters is four times Precision, in posterior standard deviations.
	Precision float64
	// MaxTime, if not 0, is the time after which no new work starts and training stops. Modes and a
	// first certificate of few draws are still computed. If MaxTime is 0, there is no limit while
	// each round improves the certificate, and the limit is DefaultMaxTime after a round that did
	// not improve it. All other decisions depend only on draws and counts, so that a run that
	// reaches no limit of time gives the same bits on any machine for the same seed.
	MaxTime time.Duration
	// Untrained leaves out all training and keeps q(m) unchanged, so that Solve certifies the
	// starting point of Fit.
	Untrained bool
	// Lacks, if not nil, returns the name of a quantity for which a trusted certificate is still
	// not good enough, such as an imprecise moment, or "" if the certificate is good enough. Solve
	// then trains for at most a few rounds.
	Lacks func(*Certificate) string
	// AnswerOnly leaves out work that only q needs: training after a sum over all models and, if
	// the answer does not come from draws of q, densities under q and fits of q(m).
	AnswerOnly bool
	// Status, if not nil, is called with a text on the next work and the reason for it.
	Status func(text string)
	// Round, if not nil, is called after every round.
	Round func(SolveRound)
}

// DefaultMaxTime is the time limit of Solve after a round that did not improve the certificate.
const DefaultMaxTime = 10 * time.Minute

// Validate returns an error that names the first field outside its range, or nil.
func (c SolveConfig) Validate() error {
	if !(c.Precision >= 0 && c.Precision < 1) {
		return fmt.Errorf("vti.SolveConfig: got Precision %g, want a standard error of probabilities, above 0 and below 1", c.Precision)
	}
	if c.MaxTime < 0 {
		return fmt.Errorf("vti.SolveConfig: got MaxTime %v, want a time that is not negative", c.MaxTime)
	}
	if _, learns := c.Fit.Models.(Learner); learns {
		return fmt.Errorf("vti.SolveConfig: got a q(m) that learns by itself, %T, want one of the others: it learns at a pace of its own, by Fit", c.Fit.Models)
	}
	return c.withDefaults().Fit.Validate()
}

func (c SolveConfig) withDefaults() SolveConfig {
	c.Fit = c.Fit.InRounds()
	c.Precision = cmp.Or(c.Precision, 0.005)
	c.Certify.Tolerance = cmp.Or(c.Certify.Tolerance, c.Precision)
	c.Certify = c.Certify.withDefaults()
	c.Certify.precision = c.Precision
	return c
}

// forTarget sets Confirm if the target needs it.
func (c SolveConfig) forTarget(target Target) SolveConfig {
	c.Certify.Confirm = c.Certify.Confirm || !unimodal(target)
	return c
}

// InRounds returns the configuration with the default rounds of Solve, with which Load opens
// checkpoints of Solve.
func (c Config) InRounds() Config {
	c.FirstRound = cmp.Or(c.FirstRound, 50)
	c.Steps = cmp.Or(c.Steps, 3150)
	return c
}

// SolveRound describes one round of Solve: its work, and its certificate.
type SolveRound struct {
	// Work is the kind of work that preceded the certificate.
	Work Work
	// Why is the reason for the work, in words.
	Why string
	// Steps is the total number of training steps up to this round.
	Steps int
	// Full reports whether Solve may end with the certificate, which then has fresh draws, planned
	// to suffice for the precision. Other certificates have few draws and only decide the next
	// work.
	Full bool
	// Verdict, KHat, ESS and Draws are values of the certificate. KHat is 0 if the certificate does
	// not come from weights, and 10 if there are too few weights to estimate it.
	Verdict Verdict
	KHat    float64
	ESS     float64
	Draws   int
	// Shortage is the factor by which the number of draws would have to grow for the requested
	// precision.
	Shortage float64
	// Divergence is KL(p ‖ q) in nats (Solution.Divergence) of this round; 0 if unknown.
	Divergence float64
	// Seconds is the time of the round; 0 for rounds before the run was resumed.
	Seconds float64 `json:"-"`
}

// Work is the work of a round of Solve before its certificate.
type Work int

const (
	// Starting: before any training. The flow is the normal approximation at a mode, and q(m) the
	// result of a pilot run.
	Starting Work = iota
	// Training: steps of Fit were taken.
	Training
	// Refining: q(m) was fitted to the models found so far, whose evidences are known.
	Refining
	// Weighing: q stayed unchanged, and the certificate has more draws.
	Weighing
)

var workNames = [...]string{Starting: "start", Training: "training", Refining: "refining", Weighing: "certificate"}

// String returns the kind of work in one word: "start", "training", "refining" or "certificate".
func (w Work) String() string { return workNames[w] }

// Solution is the answer of Solve.
type Solution struct {
	// Posterior is the approximation q(m) q(θ | m), as far as it was trained.
	Posterior *Posterior
	// Certificate is the answer with its verdict.
	Certificate *Certificate
	// Rounds holds the rounds in order.
	Rounds []SolveRound
	// Divergence is the Kullback–Leibler divergence KL(p ‖ q), in nats, of q(m) q(θ | m) from the
	// certified posterior p. It measures how good q would be without weights. With AnswerOnly it is
	// NaN if the answer needs no draws of q.
	Divergence float64
	// Training is the time that this process spent on training, not counting interrupted runs
	// before.
	Training time.Duration
	// Advice is a text on how to get a better answer, and about how long it would take. It is "" if
	// the answer is trusted and precise enough.
	Advice string
}

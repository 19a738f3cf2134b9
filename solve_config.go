package vti

import (
	"fmt"
	"time"
)

// SolveConfig sets the precision that Solve aims for and the work that it may do. The zero value is
// a good default.
type SolveConfig struct {
	// Fit says how to train. Its Steps are the largest number in all rounds together, 0 for 3,150;
	// FirstRound 0 stands for 50. That is six rounds. Both were chosen by hand, not tuned.
	Fit Config
	// Certify says how certificates are made. Its Draws are the largest number for each, its
	// Tolerance 0 stands for Precision, and Confirm is set unless the target is a UnimodalTarget.
	Certify CertifyConfig
	// Precision is the standard error to reach for every probability of a model or outcome; that of
	// means of parameters is four times as large, in posterior standard deviations. 0 stands for
	// 0.005.
	Precision float64
	// MaxTime, if not 0, is the time after which no new work starts and training stops. What every
	// answer needs, modes and a first certificate of few draws, is still computed. Everything else
	// that Solve decides depends on draws and counts alone: without a limit of time the same seed
	// gives the same bits on a slow machine and a fast one. 0 stands for no limit while work helps,
	// and DefaultMaxTime where the last round did not.
	MaxTime time.Duration
	// Untrained leaves out all training and keeps q(m): the starting point of Fit is certified.
	Untrained bool
	// Lacks, if not nil, says of a trusted certificate what it leaves open that training could
	// tell, such as a moment that its draws do not resolve; "" stands for nothing. Solve then
	// trains, a few rounds at most.
	Lacks func(*Certificate) string
	// AnswerOnly leaves out the training that q alone would need after a sum over all models, and
	// the densities of draws under q where the answer does not come from them.
	AnswerOnly bool
	// Status, if not nil, is called with the next piece of work and the reason for it.
	Status func(text string)
	// Round, if not nil, is called after every round.
	Round func(SolveRound)
}

// DefaultMaxTime bounds the time of Solve where the last round did not help.
const DefaultMaxTime = 10 * time.Minute

// Validate reports the first field that is out of its range.
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
	setDefault(&c.Precision, 0.005)
	setDefault(&c.Certify.Tolerance, c.Precision)
	c.Certify = c.Certify.withDefaults()
	c.Certify.precision = c.Precision
	return c
}

// forTarget asks for the check by chains that the target needs.
func (c SolveConfig) forTarget(target Target) SolveConfig {
	c.Certify.Confirm = c.Certify.Confirm || !unimodal(target)
	return c
}

// InRounds returns the configuration with the rounds of Solve where it leaves them open: what opens
// the checkpoint of Solve by Load.
func (c Config) InRounds() Config {
	setDefault(&c.FirstRound, 50)
	setDefault(&c.Steps, 3150)
	return c
}

// SolveRound is one round of Solve: what was done, and what its certificate found.
type SolveRound struct {
	// Work is what was done before the certificate.
	Work Work
	// Why is the reason for it, in words.
	Why string
	// Steps is the number of training steps so far.
	Steps int
	// Full reports whether the certificate is one that Solve may end with: of fresh draws, as many
	// as the precision needs. Others have few draws and only decide what is done next.
	Full bool
	// Verdict, KHat, ESS and Draws are those of the certificate. KHat is 0 where it rests on no
	// weights, and 10 where they are too few to tell.
	Verdict Verdict
	KHat    float64
	ESS     float64
	Draws   int
	// Shortage is the factor by which the number of draws would have to grow to reach the required
	// precision.
	Shortage float64
	// Divergence is that of Solution; 0 where it is not known.
	Divergence float64
	// Seconds is the time of the round; 0 of those before a run was resumed.
	Seconds float64 `json:"-"`
}

// Work is what a round of Solve does before its certificate.
type Work int

const (
	// Starting: q is what is known before any training, flows at their anchors and q(m) by a pilot
	// run.
	Starting Work = iota
	// Training: steps of Fit.
	Training
	// Refining: q(m) is fitted to the models found, whose evidences are known.
	Refining
	// Weighing: no change, only a certificate of more draws.
	Weighing
)

var workNames = [...]string{Starting: "start", Training: "training", Refining: "refining", Weighing: "certificate"}

// String is the work in a word: "start", "training", "refining" or "certificate".
func (w Work) String() string { return workNames[w] }

// Solution is the answer of Solve.
type Solution struct {
	// Posterior is q(m) q(θ | m), trained as far as was needed.
	Posterior *Posterior
	// Certificate is the answer with its verdict.
	Certificate *Certificate
	// Rounds are what was done, in order.
	Rounds []SolveRound
	// Divergence is the Kullback-Leibler divergence KL(p ‖ q) of q(m) q(θ | m) from the certified
	// posterior, in nats: how well q alone would do. NaN where only the answer was asked for, and
	// it needs no draws of q.
	Divergence float64
	// Training is the time that training took; 0 for what was done before a run was resumed.
	Training time.Duration
	// Advice says what would help, and about how long it would take, if the answer is not trusted
	// or not precise enough; otherwise it is "".
	Advice string
}

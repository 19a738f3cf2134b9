package vti

import (
	"cmp"
	"fmt"
	"time"
)

// SolveConfig sets the precision and the limits of work of Solve. The zero value is a good default.
type SolveConfig struct {
	// Fit configures training. Its Steps is the largest total of all rounds, 0 for 3,150; its
	// FirstRound 0 stands for 50. That is six rounds. Not tuned.
	Fit Config
	// Certify configures certificates. Its Draws is the largest number for each, its Tolerance 0
	// stands for Precision, and Confirm is set unless the target is a UnimodalTarget.
	Certify CertifyConfig
	// Precision is the wanted standard error of every probability of a model or outcome. Means of
	// parameters need four times this, in posterior standard deviations. 0 stands for 0.005.
	Precision float64
	// MaxTime, if not 0, is the time after which no new work starts and training stops. Modes and a
	// first certificate of few draws are still computed. All other decisions depend on draws and
	// counts alone: without a time limit the same seed gives the same bits on any machine. 0 stands
	// for no limit while work helps, and DefaultMaxTime if the last round did not.
	MaxTime time.Duration
	// Untrained leaves out all training and keeps q(m): Solve certifies the starting point of Fit.
	Untrained bool
	// Lacks, if not nil, names a quantity that a trusted certificate leaves open, such as an
	// imprecise moment; "" stands for none. Solve then trains, a few rounds at most.
	Lacks func(*Certificate) string
	// AnswerOnly leaves out the training that only q needs after a sum over all models, and the
	// densities of draws under q if the answer does not come from them.
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

// InRounds returns the configuration with the default rounds of Solve, for Load of its checkpoints.
func (c Config) InRounds() Config {
	c.FirstRound = cmp.Or(c.FirstRound, 50)
	c.Steps = cmp.Or(c.Steps, 3150)
	return c
}

// SolveRound is one round of Solve: its work, and the findings of its certificate.
type SolveRound struct {
	// Work is the work before the certificate.
	Work Work
	// Why is the reason for it, in words.
	Why string
	// Steps is the number of training steps so far.
	Steps int
	// Full reports whether Solve may end with the certificate: it has fresh draws, enough for the
	// precision. Other certificates have few draws and only decide the next work.
	Full bool
	// Verdict, KHat, ESS and Draws belong to the certificate. KHat is 0 if it rests on no weights,
	// and 10 if they are too few to tell.
	Verdict Verdict
	KHat    float64
	ESS     float64
	Draws   int
	// Shortage is the factor by which draws would have to increase for the required precision.
	Shortage float64
	// Divergence is Solution.Divergence of this round; 0 if unknown.
	Divergence float64
	// Seconds is the time of the round; 0 for rounds before a resumption.
	Seconds float64 `json:"-"`
}

// Work is the work of a round of Solve before its certificate.
type Work int

const (
	// Starting: the state before training, flows at their anchors and q(m) by a pilot run.
	Starting Work = iota
	// Training: steps of Fit.
	Training
	// Refining: q(m) is fitted to the models found, whose evidences are known.
	Refining
	// Weighing: nothing changes; the certificate has more draws.
	Weighing
)

var workNames = [...]string{Starting: "start", Training: "training", Refining: "refining", Weighing: "certificate"}

// String returns the work in a word: "start", "training", "refining" or "certificate".
func (w Work) String() string { return workNames[w] }

// Solution is the answer of Solve.
type Solution struct {
	// Posterior is q(m) q(θ | m), with the training that was needed.
	Posterior *Posterior
	// Certificate is the answer with its verdict.
	Certificate *Certificate
	// Rounds are the rounds in order.
	Rounds []SolveRound
	// Divergence is KL(p ‖ q), in nats, of q(m) q(θ | m) from the certified posterior. It measures
	// q without weights. NaN with AnswerOnly if the answer needs no draws of q.
	Divergence float64
	// Training is the time of training; 0 for work before a resumption.
	Training time.Duration
	// Advice says how to get a better answer, and about how long it would take, if the answer is
	// not trusted or not precise enough; otherwise it is "".
	Advice string
}

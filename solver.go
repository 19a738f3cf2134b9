package vti

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/budget"
	"github.com/transdim/vti/internal/checkpoint"
	"github.com/transdim/vti/internal/psis"
)

// solver is the state of a running Solve.
type solver struct {
	cfg      SolveConfig
	device   *gpu.Device
	target   Target
	t        *trainer
	plan     plan
	time     budget.Time
	since    time.Time // the time at which the round began
	training time.Duration
	// last is the latest certificate, full or of few draws, and best the best answer so far.
	last, best *weighing
}

func (s *solver) firstStage() stage {
	switch {
	case s.cfg.Fit.Begin != nil && s.cfg.Certify.Confirm: // a network's answer is usually good enough, and must be checked by chains anyway
		return certifying
	case s.cfg.Fit.Begin == nil && !s.cfg.Untrained && s.t.engine.Known.Evidences == nil && s.t.engine.MayCollapse():
		return collapsing
	}
	return checking
}

// late reports whether the time limit has passed: MaxTime or, if MaxTime is 0, DefaultMaxTime once
// a round did not help.
func (s *solver) late() bool {
	if s.plan.Unhelpful > 0 {
		return s.time.Or(DefaultMaxTime).Over()
	}
	return s.time.Over()
}

// report ends a round: it adds a SolveRound with the values of its certificate to the plan, and
// counts rounds that did not help.
func (s *solver) report(c *weighing, full bool) SolveRound {
	now := time.Now()
	round := SolveRound{
		Work: s.plan.Work, Why: s.plan.Why, Steps: s.t.step, Full: full, Verdict: c.Verdict, Draws: c.Draws,
		Shortage: math.MaxFloat64, Seconds: now.Sub(s.since).Seconds(),
	}
	// A checkpoint can hold only finite numbers, and weights that are all zero give an ESS that is
	// not finite.
	if finite(c.ESS) {
		round.ESS = c.ESS
	}
	if shortage := c.Shortage(s.target.Space(), s.cfg.Precision); finite(shortage) {
		round.Shortage = shortage
	}
	if !math.IsNaN(c.KHat) {
		round.KHat = math.Min(c.KHat, unknownKHat)
	}
	if divergence := c.Divergence(); finite(divergence) {
		round.Divergence = divergence
	}
	s.since = now
	switch {
	case round.Work == Weighing || round.Work == Starting:
	case helped(s.plan.Rounds, round):
		s.plan.Unhelpful = 0
	default:
		s.plan.Unhelpful++
	}
	s.plan.Rounds = append(s.plan.Rounds, round)
	s.plan.Witnesses.add(c.witnesses...)
	c.shares = nil // releases the memory of the sampler
	if s.cfg.Round != nil {
		s.cfg.Round(round)
	}
	return round
}

// say reports the next work, and the reason for it, to Status.
func (s *solver) say(reason, description string) {
	if s.cfg.Status != nil {
		s.cfg.Status(reason + ": " + description)
	}
}

// setStage sets the next stage and reports it.
func (s *solver) setStage(next stage, work Work, reason, description string) error {
	s.plan.Next, s.plan.Work, s.plan.Why = next, work, reason
	s.say(reason, description)
	if next == finished {
		return nil
	}
	return s.t.save()
}

// stage is a kind of work of Solve.
type stage string

const (
	collapsing stage = "collapse"
	checking   stage = "glance" // preliminary certificate
	training   stage = "train"
	certifying stage = "certify"
	birthing   stage = "births"
	finished   stage = "finished"
)

// plan holds the progress of Solve, and is part of its checkpoints. All decisions depend on the
// plan, the variables of q and the current certificate.
type plan struct {
	// Next is the next stage. Work and Why will be the fields of its SolveRound.
	Next stage
	Work Work
	Why  string
	// Trained is the number of rounds of training that have begun. Full is the number of full
	// certificates: certificates with enough fresh draws for the precision. Other certificates have
	// few draws and only decide the next stage.
	Trained, Full int
	// Unhelpful is the number of consecutive rounds of training that did not help.
	Unhelpful int
	// ByDraws reports whether weights come from draws of q even if evidences are known without q.
	ByDraws bool
	// Unfitted, if not 0, is the number of rounds up to a preliminary certificate. q(m) must be
	// fitted to the models of this certificate before q(m) is used.
	Unfitted int `json:",omitempty"`
	// Born reports whether certification by birth-death chains has been tried.
	Born bool `json:",omitempty"`
	// CutShort reports whether certification by chains over models was ended by the time limit.
	CutShort bool `json:",omitempty"`
	// Last reports whether the next full certificate is the last: nothing else is left to try.
	Last bool
	// Witnesses holds points of posterior mass found by earlier certificates.
	Witnesses witnesses `json:",omitempty"`
	// Rounds holds the finished rounds.
	Rounds []SolveRound
}

// restore reads the plan from the checkpoint if the run is resumed. Otherwise the plan begins with
// the stage in the argument first.
func (p *plan) restore(first stage, fit *Config) error {
	*p = plan{Next: first, Why: "before any training"}
	if !fit.Resume {
		return nil
	}
	info, err := checkpoint.ReadInfo(fit.Checkpoint)
	if err != nil {
		return err
	}
	if len(info.Plan) == 0 {
		return fmt.Errorf("%s: got the checkpoint of a fit, want one of Solve", fit.Checkpoint)
	}
	if err := json.Unmarshal(info.Plan, p); err != nil {
		return fmt.Errorf("%s: the plan of Solve: %w", fit.Checkpoint, err)
	}
	if info.Step < fit.Steps { // the earlier run ended only because time was short
		p.Last = false
	}
	return nil
}

const (
	// unknownKHat replaces a k̂ from too few draws, since only finite numbers can be stored.
	unknownKHat = 10
	// A round of training is helpful if k̂ was too large and falls by helpfulKHat or more, or if
	// the number of draws that the requested precision needs falls by the fraction helpfulDraws or
	// more. Estimates of k̂ from 4,096 draws have a standard error of about 0.1. Half and twice
	// these limits give the same answers (docs/benchmarks/constants.md).
	helpfulKHat  = 0.05
	helpfulDraws = 0.1
	// patience is the number of consecutive rounds without help after which a full certificate,
	// with chains, follows, even if weights are not good enough. The first rounds are so short
	// that, with tempering, they do not show their effect yet.
	patience = 3
)

// helped reports whether the certificate of a round is better than the best certificate of earlier
// rounds.
func helped(before []SolveRound, now SolveRound) bool {
	bestKHat, bestDraws := math.Inf(1), math.Inf(1)
	for _, round := range before {
		bestKHat = math.Min(bestKHat, round.KHat)
		bestDraws = math.Min(bestDraws, round.needed())
	}
	if bestKHat > psis.Reliable && now.KHat < bestKHat-helpfulKHat {
		return true
	}
	return now.needed() < (1-helpfulDraws)*bestDraws
}

// needed returns the number of draws needed for the precision.
func (r SolveRound) needed() float64 { return r.Shortage * float64(r.Draws) }

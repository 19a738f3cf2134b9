package vti

import (
	"context"
	"math"
	"time"

	"github.com/transdim/vti/gpu"
)

// solver is a Solve in progress.
type solver struct {
	cfg     SolveConfig
	device  *gpu.Device
	target  Target
	t       *trainer
	plan    plan
	started time.Time
	since   time.Time // the beginning of the round
	// training is the time that training took
	training time.Duration
	// last is the last certificate, glanced at or full, and best the answer so far.
	last, best *weighing
}

// open makes the trainer, at the place of the plan that a checkpoint holds.
func (s *solver) open(ctx context.Context, anchor bool) (err error) {
	if s.t, err = newTrainer(ctx, s.device, s.target, s.cfg.Fit, anchor); err == nil {
		s.t.Untrained = s.t.step == 0 && s.cfg.Fit.Begin == nil
		s.t.plan, err = &s.plan, s.plan.restore(s.firstStage(), &s.t.config)
	}
	return err
}

// firstStage is what a plan begins with.
func (s *solver) firstStage() stage {
	switch {
	case s.cfg.Fit.Begin != nil && s.cfg.Certify.Confirm: // which is good where it serves, and chains are needed anyway
		return certifying
	case s.cfg.Fit.Begin == nil && !s.cfg.Untrained && s.t.engine.MayCollapse():
		return collapsing
	}
	return glancing
}

// late reports whether the time is over: there is a limit, and the clock has passed it.
func (s *solver) late() bool {
	limit := s.cfg.MaxTime
	if limit == 0 && s.plan.Unhelpful > 0 {
		limit = DefaultMaxTime
	}
	return limit > 0 && time.Since(s.started) >= limit
}

// overdue reports whether the time that the caller gives is over.
func (s *solver) overdue() bool {
	return s.cfg.MaxTime > 0 && time.Since(s.started) >= s.cfg.MaxTime
}

// limited is a context that ends with the time that the caller gives, less a share for what comes
// after.
func (s *solver) limited(ctx context.Context, share float64) (context.Context, context.CancelFunc) {
	if s.cfg.MaxTime == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, s.started.Add(time.Duration(share*float64(s.cfg.MaxTime))))
}

// report ends a round with what its certificate found, and counts rounds that did not help.
func (s *solver) report(c *weighing, full bool) SolveRound {
	now := time.Now()
	round := SolveRound{
		Work: s.plan.Work, Why: s.plan.Why, Steps: s.t.step, Full: full, Verdict: c.Verdict, Draws: c.Draws,
		Shortage: math.MaxFloat64, Seconds: now.Sub(s.since).Seconds(),
	}
	// A checkpoint holds numbers only, and draws that all have no weight leave none.
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
	c.shares = nil // frees the sampler
	if s.cfg.Round != nil {
		s.cfg.Round(round)
	}
	return round
}

// say reports what is done next, and why.
func (s *solver) say(why, what string) {
	if s.cfg.Status != nil {
		s.cfg.Status(why + ": " + what)
	}
}

// begin says what is done next, and why.
func (s *solver) begin(next stage, work Work, why, what string) error {
	s.plan.Next, s.plan.Work, s.plan.Why = next, work, why
	s.say(why, what)
	if next == finished {
		return nil
	}
	return s.t.save()
}

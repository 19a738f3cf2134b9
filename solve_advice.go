package vti

import (
	"fmt"
	"time"

	"github.com/transdim/vti/internal/budget"
	"github.com/transdim/vti/internal/psis"
	"github.com/transdim/vti/internal/verdict"
)

// advice returns a text on how to reach a precise and trusted answer, and how long it would take at
// the present speed.
func (s *solver) advice() string {
	last := s.plan.Rounds[len(s.plan.Rounds)-1]
	if s.best.Verdict == Trusted && last.Shortage <= 1 {
		return ""
	}
	perStep, perDraw := s.costs()
	if s.best.Verdict == Trusted { // only more draws are needed
		draws := 1.5 * last.needed()
		return fmt.Sprintf("the precision asked for takes about %.2g draws%s", draws, about(draws*perDraw))
	}
	return s.tooMany() + s.nextWork(last, perStep, perDraw)
}

// nextWork returns, in words, the work that Solve would do next with more time or steps. perStep
// and perDraw are the seconds of a training step and of a draw.
func (s *solver) nextWork(last SolveRound, perStep, perDraw float64) string {
	steps := s.t.config.Steps
	switch {
	case s.plan.CutShort:
		part := budget.Collapsed
		if s.plan.Born {
			part = budget.Births
		}
		limit := s.time.Of(part).Round(time.Second / 10)
		return fmt.Sprintf("more time: chains over models, which need no training, were stopped after %v", limit)
	case s.t.engine.Known.Evidences != nil && !s.plan.ByDraws && s.plan.Unhelpful < patience:
		return "another fit of q(m) to the models found, and weights of new draws" + about(s.longest()) + s.lacking()
	case s.t.step < steps && s.plan.Unhelpful < patience:
		next := s.t.config.roundAt(s.plan.Trained)
		more := next.last - s.t.step
		return fmt.Sprintf("the next round of training has %d steps%s%s", more, about(float64(more)*perStep+float64(last.Draws)*perDraw), s.lacking())
	case s.plan.Unhelpful == 0 && s.t.step > 0:
		return fmt.Sprintf("training was still helping after %d steps: as many again would help%s", s.t.step, about(float64(s.t.step)*perStep))
	}
	return "training does not help any more: a richer flow may, or four times as many draws, for longer chains" + about(4*last.Seconds)
}

// lacking returns a text, part of the advice, on how far weights are from being reliable. It
// returns "" if they are reliable or if there are none.
func (s *solver) lacking() string {
	if !(s.best.KHat > psis.Reliable) { // KHat is NaN if chains gave the certificate
		return ""
	}
	return fmt.Sprintf("; k̂ must fall from %.2f to %.1f, and the number of rounds that this takes is unknown", s.best.KHat, psis.Reliable)
}

// tooMany returns a text if the posterior is spread over more models than draws can show: at least
// half of the draws are different models, and the effective sample size is too small. Otherwise it
// returns "". The text precedes the advice to do more work, which would help less.
func (s *solver) tooMany() string {
	if c := s.best; c.Complete || 2*c.ModelsChecked < c.Draws || c.ESS >= verdict.DoubtfulESS {
		return ""
	}
	return fmt.Sprintf("fewer predictors (or other items) to choose from, or a prior of smaller models: %d draws were of %d different models, which the table does not distinguish; ", s.best.Draws, s.best.ModelsChecked)
}

// longest returns the seconds of the longest round without training. The last round without
// training may have been cut short, and counts too.
func (s *solver) longest() (seconds float64) {
	for _, round := range s.plan.Rounds {
		if round.Work != Training {
			seconds = max(seconds, round.Seconds)
		}
	}
	return seconds
}

// costs returns the seconds of a training step and of a draw of a certificate in this process. They
// are 0 if unknown.
func (s *solver) costs() (perStep, perDraw float64) {
	var steps, draws, training, weighing float64
	before := 0
	for _, round := range s.plan.Rounds {
		if round.Seconds > 0 && round.Work == Training {
			steps += float64(round.Steps - before)
			training += round.Seconds
		} else if round.Seconds > 0 {
			draws += float64(round.Draws)
			weighing += round.Seconds
		}
		before = round.Steps
	}
	if steps > 0 {
		perStep = training / steps
	}
	if draws > 0 {
		perDraw = weighing / draws
	}
	return perStep, perDraw
}

// about returns a time in words, for example to follow a text on the work that takes it. It returns
// "" if the time is unknown.
func about(seconds float64) string {
	if seconds <= 0 {
		return ""
	}
	return fmt.Sprintf(", which take about %v here", time.Duration(seconds*float64(time.Second)).Round(time.Second/10))
}

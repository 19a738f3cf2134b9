package vti

import (
	"fmt"
	"time"

	"github.com/transdim/vti/internal/train"
)

// badStart is the error of the first report if too many draws of the flow at its start have no
// finite density.
type badStart struct{ error }

// reporter turns running sums into the averages of Info.
type reporter struct {
	config         *Config
	last           int // last step of the round
	started, since time.Time
	step           int
	before         counters
}

// reportInterval reports the training steps since the last report, up to the given step. It returns
// an error if too many of their draws had a log density that is not finite.
func (r *reporter) reportInterval(step int, now counters) error {
	steps := float64(step - r.step)
	clock := time.Now()
	nonFinite := now.nonFinite - r.before.nonFinite
	info := Info{
		Step: step, Steps: r.last, Loss: (now.loss - r.before.loss) / steps, Entropy: (now.entropy - r.before.entropy) / steps,
		GradientNorm: (now.gradientNorm - r.before.gradientNorm) / steps,
		NonFinite:    int(nonFinite), SkippedSteps: int(now.skipped - r.before.skipped),
		Elapsed: clock.Sub(r.started), StepsPerSecond: steps / clock.Sub(r.since).Seconds(),
	}
	if r.config.Progress != nil {
		r.config.Progress(info)
	}
	draws, limit := steps*float64(r.config.Batch), train.NonFiniteLimit(step, r.last, r.config.MaxNonFinite)
	if nonFinite > limit*draws {
		err := fmt.Errorf("%d of %d draws between steps %d and %d had a log density that is not finite (limit %g): "+
			"check the target for overflow, or that its density is positive wherever its parameters are real",
			int(nonFinite), int(draws), r.step, step, limit)
		if r.step == 0 {
			return badStart{err}
		}
		return err
	}
	r.since, r.step, r.before = clock, step, now
	return nil
}

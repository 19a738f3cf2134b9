// Package budget divides the time limit of a run, --max-time, among the stages of the run.
package budget

import (
	"cmp"
	"context"
	"time"
)

// Part is a stage of a run, given as the fraction of the run's time limit at which the stage ends.
// The rest of the time is for later stages. No verdict depends on a part: it divides only the time
// of runs that reach their limit, and certificates show whether the time sufficed.
type Part float64

const (
	// Collapsed is the certification by chains over models whose parameters are integrated out. The
	// remaining time is for the other methods, which run if the chains give no trusted result.
	Collapsed Part = 0.6
	// Training is the training of a flow, an approximate posterior distribution. The remaining time
	// is for its certificate, the check by independent draws. Births is the certification by
	// birth-death chains, reversible jump chains that add a predictor or component to a model or
	// remove one. The remaining time is for importance weights. After FirstBirths, birth-death
	// chains end as soon as they suffice for a trusted answer, so that there is time for the chains
	// that check them.
	Training    Part = 0.7
	FirstBirths Part = 0.5
	Births      Part = 0.9
	// FamilyTraining is the training of one flow for all effects of a hierarchy. The other half of
	// the time is for the draws that certify the flow.
	FamilyTraining Part = 0.5
	// Whole is the whole time limit: after it no new work starts.
	Whole Part = 1
)

// Time is the start and the time limit of a run. If Limit is 0 there is no limit. Work that every
// answer needs may exceed the limit.
type Time struct {
	Began time.Time
	Limit time.Duration
}

// Start returns the Time of a run that begins now.
func Start(limit time.Duration) Time { return Time{time.Now(), limit} }

// Or returns t if it has a limit, and otherwise t with the given limit.
func (t Time) Or(limit time.Duration) Time {
	t.Limit = cmp.Or(t.Limit, limit)
	return t
}

// Of returns the time from the start of the run to the end of a part, or 0 without a limit.
func (t Time) Of(p Part) time.Duration { return time.Duration(float64(p) * float64(t.Limit)) }

// End returns the time at which a part ends, or the zero time without a limit.
func (t Time) End(p Part) (end time.Time) {
	if t.Limit > 0 {
		end = t.Began.Add(t.Of(p))
	}
	return end
}

// Over reports whether the limit has passed.
func (t Time) Over() bool { return Passed(t.End(Whole)) }

// Fits reports whether work of the given length would end before the limit.
func (t Time) Fits(work time.Duration) bool {
	return t.Limit == 0 || time.Since(t.Began)+work <= t.Limit
}

// Context returns a context that is cancelled at the end of a part.
func (t Time) Context(ctx context.Context, p Part) (context.Context, context.CancelFunc) {
	if t.Limit == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, t.End(p))
}

// Share returns a context that is cancelled when a share of the time left to ctx has passed. It
// leaves time for work that must follow.
func Share(ctx context.Context, share float64) (context.Context, context.CancelFunc) {
	end, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Duration(share*float64(time.Until(end))))
}

// Passed reports whether the time end is set and is not in the future.
func Passed(end time.Time) bool { return !end.IsZero() && !time.Now().Before(end) }

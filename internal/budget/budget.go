// Package budget divides the time limit of a run, --max-time, among its parts, for all commands.
package budget

import (
	"cmp"
	"context"
	"time"
)

// Part is a part of a run, as the share of its time after which the part ends; the later parts need
// the rest. Not tuned: they divide the time, and certificates show the result.
type Part float64

const (
	// Collapsed posteriors leave time for all other methods.
	Collapsed Part = 0.6
	// Training of the flow of models leaves time for a certificate, and Births for weights.
	Training Part = 0.7
	Births   Part = 0.9
	// FamilyTraining, of families over all effects, leaves as much to draws, which certify.
	FamilyTraining Part = 0.5
	// Whole is everything: no new work starts.
	Whole Part = 1
)

// Time is the time limit of a run from its start, without end if Limit is 0. Work that every answer
// needs may take longer.
type Time struct {
	Began time.Time
	Limit time.Duration
}

// Start is the time of a run that begins now.
func Start(limit time.Duration) Time { return Time{time.Now(), limit} }

// Or is a time that is limited by default.
func (t Time) Or(limit time.Duration) Time {
	t.Limit = cmp.Or(t.Limit, limit)
	return t
}

// Of returns the time of a part and all parts before it; 0 without a limit.
func (t Time) Of(p Part) time.Duration { return time.Duration(float64(p) * float64(t.Limit)) }

// End is when a part ends; the zero time without a limit.
func (t Time) End(p Part) (end time.Time) {
	if t.Limit > 0 {
		end = t.Began.Add(t.Of(p))
	}
	return end
}

// Over reports whether the time is over.
func (t Time) Over() bool { return Passed(t.End(Whole)) }

// Fits reports whether there is time for work of the given length.
func (t Time) Fits(work time.Duration) bool {
	return t.Limit == 0 || time.Since(t.Began)+work <= t.Limit
}

// Context returns a context that ends with a part.
func (t Time) Context(ctx context.Context, p Part) (context.Context, context.CancelFunc) {
	if t.Limit == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, t.End(p))
}

// Passed reports whether the end of a part, if there is one, has come.
func Passed(end time.Time) bool { return !end.IsZero() && !time.Now().Before(end) }

package checkpoint

import "time"

// These constants set the times between checkpoints. A run that is killed loses the work since its
// last checkpoint.
const (
	// DefaultInterval is the usual upper bound of the time between checkpoints.
	DefaultInterval = 30 * time.Second
	// first is the time from the start to the first checkpoint. It is short, so that a short run
	// that is killed loses little. The time between checkpoints doubles from there.
	first = 2 * time.Second
	// share is the largest fraction of the time that is spent on writing checkpoints.
	share = 0.05
)

// Schedule decides by the clock when to write checkpoints. With a nil Schedule, none is ever due.
type Schedule struct {
	next           time.Time
	pause, longest time.Duration // time from the last checkpoint to the next, and its limit
}

// NewSchedule returns a schedule that starts now. The first checkpoint is due after two seconds.
// The intervals then double up to the argument longest. They are longer if writing takes more than
// 5 % of the time.
func NewSchedule(longest time.Duration) *Schedule {
	pause := min(first, longest)
	return &Schedule{next: time.Now().Add(pause), pause: pause, longest: longest}
}

// Due reports whether a checkpoint should be written now.
func (s *Schedule) Due() bool { return s != nil && !time.Now().Before(s.next) }

// Wrote records that a checkpoint was written, and the time that writing took.
func (s *Schedule) Wrote(took time.Duration) {
	if s == nil {
		return
	}
	s.pause = min(2*s.pause, s.longest)
	s.next = time.Now().Add(max(s.pause, time.Duration(float64(took)/share)))
}

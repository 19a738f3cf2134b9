package checkpoint

import "time"

// Times between checkpoints. A run that is killed loses at most this much work.
const (
	// DefaultInterval is the usual longest time between checkpoints.
	DefaultInterval = 30 * time.Second
	// first checkpoint after the start, so that a short run that is killed loses little; the time
	// between checkpoints doubles from there.
	first = 2 * time.Second
	// share bounds the share of the time for writing.
	share = 0.05
)

// Schedule decides by the clock when to write checkpoints. nil never does.
type Schedule struct {
	next           time.Time
	pause, longest time.Duration // time from one checkpoint to the next
}

// NewSchedule starts now. Checkpoints are due after two seconds, and then at intervals that double
// up to longest; where writing takes long, at longer ones.
func NewSchedule(longest time.Duration) *Schedule {
	pause := min(first, longest)
	return &Schedule{next: time.Now().Add(pause), pause: pause, longest: longest}
}

// Due reports whether a checkpoint is to be written now.
func (s *Schedule) Due() bool { return s != nil && !time.Now().Before(s.next) }

// Wrote is called after a checkpoint with the time of the writing.
func (s *Schedule) Wrote(took time.Duration) {
	if s == nil {
		return
	}
	s.pause = min(2*s.pause, s.longest)
	s.next = time.Now().Add(max(s.pause, time.Duration(float64(took)/share)))
}

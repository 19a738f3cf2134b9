package run

import "time"

// Seconds holds the wall-clock times of a run, in seconds.
type Seconds struct {
	// Train is the time from the start to the end of training; 0 for runs without training.
	Train float64 `json:"train"`
	// Certify is the time from the end of training to the end of certification.
	Certify float64 `json:"certify"`
	// Total is the time of the whole run, including input and output.
	Total float64 `json:"total"`
}

// Clock measures the times of the parts of a run.
type Clock struct{ started, trained, certified time.Time }

// NewClock returns a clock that starts now.
func NewClock() *Clock { return &Clock{started: time.Now()} }

// Trained marks the end of training.
func (c *Clock) Trained() { c.trained = time.Now() }

// Certified marks the end of certification, which begins at the end of training, or at the start of
// a run without training. If Certified is not called, certification lasts until the end of a run
// with training, and takes no time in a run without training.
func (c *Clock) Certified() { c.certified = time.Now() }

// Solved marks the end of a run in which rounds of training and certification alternate. The
// argument training is the total time of training, which is counted as if it came first.
func (c *Clock) Solved(training time.Duration) {
	c.trained = c.started.Add(training)
	c.certified = time.Now()
}

// Seconds returns the times of a run that ends now.
func (c *Clock) Seconds() Seconds {
	now := time.Now()
	trained, certified := c.trained, c.certified
	if trained.IsZero() {
		trained = c.started
		if certified.IsZero() {
			certified = trained
		}
	} else if certified.IsZero() {
		certified = now
	}
	return Seconds{Train: trained.Sub(c.started).Seconds(), Certify: certified.Sub(trained).Seconds(), Total: now.Sub(c.started).Seconds()}
}

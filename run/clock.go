package run

import "time"

// Seconds are the wall-clock times of a run.
type Seconds struct {
	// Train is the time until the end of training; 0 for runs without training.
	Train float64 `json:"train"`
	// Certify is the time from there to the end of certification.
	Certify float64 `json:"certify"`
	// Total is the time of the whole run, with input and output.
	Total float64 `json:"total"`
}

// Clock measures the parts of a run.
type Clock struct{ started, trained, certified time.Time }

// NewClock returns a clock that starts now.
func NewClock() *Clock { return &Clock{started: time.Now()} }

// Trained marks the end of training.
func (c *Clock) Trained() { c.trained = time.Now() }

// Certified marks the end of certification. Without this call a run with training certifies until
// the end; a run without training certifies from the start.
func (c *Clock) Certified() { c.certified = time.Now() }

// Solved marks the end of both. training is the time of the training.
func (c *Clock) Solved(training time.Duration) {
	c.trained = c.started.Add(training)
	c.certified = time.Now()
}

// Seconds returns the times until now.
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

package run

import (
	"math"
	"time"

	"github.com/transdim/vti"
	"github.com/transdim/vti/internal/enum"
	"github.com/transdim/vti/internal/report"
)

// Effort is how a run decides how much work to do.
type Effort int

const (
	// AutoEffort does what the question needs: [vti.Solve].
	AutoEffort Effort = iota
	// FixedEffort trains for a number of steps and certifies once: [vti.Fit], then
	// [vti.Posterior.Certify].
	FixedEffort
)

var efforts = enum.New[Effort]("effort", "auto", "fixed")

// String returns the name of the effort.
func (e Effort) String() string { return efforts.String(e) }

// MarshalText writes the name.
func (e Effort) MarshalText() ([]byte, error) { return efforts.Marshal(e) }

// UnmarshalText reads what MarshalText wrote.
func (e *Effort) UnmarshalText(text []byte) error { return efforts.Unmarshal(text, e) }

// Budget is how good an answer a run is asked for, and how much work it may be, as records have
// it.
type Budget struct {
	// Effort is how the run decides how much work to do. Where the record has a number of steps
	// these are taken, as with FixedEffort.
	Effort Effort `json:"effort"`
	// Precision is the standard error wanted of every probability; absent: the default of
	// vti.SolveConfig.
	Precision float64 `json:"precision,omitempty"`
	Limit
}

// Limit is the time that a run may take, as records have it.
type Limit struct {
	// absent: none, or as of vti.SolveConfig
	MaxSeconds float64 `json:"max_seconds,omitempty"`
}

// MaxTime is the limit of time; 0 where there is none.
func (l Limit) MaxTime() time.Duration { return time.Duration(l.MaxSeconds * float64(time.Second)) }

// Round is a round of [vti.Solve] as results show it.
type Round struct {
	Work string `json:"work"`
	Why  string `json:"why"`
	// training steps so far
	Steps int `json:"steps"`
	// the certificate is one that the run may end with, not one of few draws
	Full    bool          `json:"full"`
	Verdict vti.Verdict   `json:"verdict"`
	KHat    report.Number `json:"khat"`
	ESS     report.Number `json:"ess"`
	Draws   int           `json:"draws"`
	// factor by which the draws would have to be more for the precision
	Shortage report.Number `json:"shortage"`
	// KL(p ‖ q) in nats; null where the answer needs no draws of q
	Divergence report.Number `json:"divergence"`
}

// roundOf is a round as results show it.
func roundOf(r vti.SolveRound) Round {
	divergence := r.Divergence
	if divergence == 0 {
		divergence = math.NaN()
	}
	return Round{
		r.Work.String(), r.Why, r.Steps, r.Full, r.Verdict, report.Number(r.KHat), report.Number(r.ESS), r.Draws, report.Number(r.Shortage), report.Number(divergence),
	}
}

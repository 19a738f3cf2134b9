package run

import (
	"cmp"
	"math"
	"time"

	"github.com/transdim/vti"
	"github.com/transdim/vti/internal/enum"
	"github.com/transdim/vti/internal/report"
)

// Effort is the rule by which a run chooses the amount of work.
type Effort int

const (
	// AutoEffort does the necessary work: [vti.Solve].
	AutoEffort Effort = iota
	// FixedEffort trains for some steps, then certifies once ([vti.Posterior.Certify]).
	FixedEffort
)

var efforts = enum.New[Effort]("effort", "auto", "fixed")

// String returns the name of the effort.
func (e Effort) String() string { return efforts.String(e) }

// MarshalText writes the name.
func (e Effort) MarshalText() ([]byte, error) { return efforts.Marshal(e) }

// UnmarshalText reads the output of MarshalText.
func (e *Effort) UnmarshalText(text []byte) error { return efforts.Unmarshal(text, e) }

// Budget is the requested quality of an answer and the limit of work, as in records.
type Budget struct {
	// Effort is the rule for the amount of work; a number of steps takes precedence.
	Effort Effort `json:"effort"`
	// Precision is the requested standard error of probabilities; absent: as in vti.SolveConfig.
	Precision float64 `json:"precision,omitempty"`
	Limit
}

// Limit is the time limit of a run, as in records.
type Limit struct {
	// absent: none, or as of vti.SolveConfig
	MaxSeconds float64 `json:"max_seconds,omitempty"`
}

// MaxTime is the time limit; 0 for none.
func (l Limit) MaxTime() time.Duration { return time.Duration(l.MaxSeconds * float64(time.Second)) }

// Round is a round of [vti.Solve], as in results.
type Round struct {
	Work string `json:"work"`
	Why  string `json:"why"`
	// training steps so far
	Steps int `json:"steps"`
	// whether the run may end with this certificate, as opposed to one of few draws
	Full    bool          `json:"full"`
	Verdict vti.Verdict   `json:"verdict"`
	KHat    report.Number `json:"khat"`
	ESS     report.Number `json:"ess"`
	Draws   int           `json:"draws"`
	// factor by which the number of draws must grow for the precision
	Shortage report.Number `json:"shortage"`
	// KL(p ‖ q) in nats; null where the answer needs no draws of q
	Divergence report.Number `json:"divergence"`
}

func roundOf(r vti.SolveRound) Round {
	divergence := r.Divergence
	divergence = cmp.Or(divergence, math.NaN())
	return Round{
		r.Work.String(), r.Why, r.Steps, r.Full, r.Verdict, report.Number(r.KHat), report.Number(r.ESS), r.Draws, report.Number(r.Shortage), report.Number(divergence),
	}
}

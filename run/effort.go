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
	// AutoEffort does the work that the answer needs, by [vti.Solve].
	AutoEffort Effort = iota
	// FixedEffort trains for a given number of steps, then certifies once
	// ([vti.Posterior.Certify]).
	FixedEffort
)

var efforts = enum.New[Effort]("effort", "auto", "fixed")

// String returns the name of the effort.
func (e Effort) String() string { return efforts.String(e) }

// MarshalText returns the name of the effort.
func (e Effort) MarshalText() ([]byte, error) { return efforts.Marshal(e) }

// UnmarshalText reads the output of MarshalText.
func (e *Effort) UnmarshalText(text []byte) error { return efforts.Unmarshal(text, e) }

// Budget holds the requested quality of an answer and the limit of work, in the form in which
// records store them.
type Budget struct {
	// Effort is the rule for the amount of work; a number of steps takes precedence.
	Effort Effort `json:"effort"`
	// Precision is the requested standard error of probabilities; absent (0) stands for the default
	// of vti.SolveConfig.
	Precision float64 `json:"precision,omitempty"`
	Limit
}

// Limit is the time limit of a run, in the form in which records store it.
type Limit struct {
	// MaxSeconds is the time limit in seconds; absent (0) stands for the default of
	// vti.SolveConfig.MaxTime, or no limit.
	MaxSeconds float64 `json:"max_seconds,omitempty"`
}

// MaxTime returns the time limit; 0 for none.
func (l Limit) MaxTime() time.Duration { return time.Duration(l.MaxSeconds * float64(time.Second)) }

// Round describes a round of [vti.Solve], in the form in which results store it. Fields without a
// comment are as in vti.SolveRound.
type Round struct {
	Work string `json:"work"`
	Why  string `json:"why"`
	// Steps is the total number of training steps up to this round.
	Steps int `json:"steps"`
	// Full reports whether the run may end with the certificate of this round. Certificates of
	// other rounds have few draws.
	Full    bool          `json:"full"`
	Verdict vti.Verdict   `json:"verdict"`
	KHat    report.Number `json:"khat"`
	ESS     report.Number `json:"ess"`
	Draws   int           `json:"draws"`
	// Shortage is the factor by which draws must increase for the requested precision.
	Shortage report.Number `json:"shortage"`
	// Divergence is the Kullback–Leibler divergence KL(p ‖ q), in nats, between the posterior p and
	// the approximation q. It is null if the answer comes from a sum or integral without draws of
	// q.
	Divergence report.Number `json:"divergence"`
}

func roundOf(r vti.SolveRound) Round {
	return Round{
		r.Work.String(), r.Why, r.Steps, r.Full, r.Verdict, report.Number(r.KHat), report.Number(r.ESS), r.Draws, report.Number(r.Shortage), report.Number(cmp.Or(r.Divergence, math.NaN())),
	}
}

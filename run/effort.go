package run

import (
	"fmt"

	"github.com/transdim/vti"
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

var effortNames = [...]string{"auto", "fixed"}

// String returns the name that [ParseEffort] reads.
func (e Effort) String() string {
	if e < 0 || int(e) >= len(effortNames) {
		return fmt.Sprintf("Effort(%d)", int(e))
	}
	return effortNames[e]
}

// ParseEffort reads auto or fixed.
func ParseEffort(s string) (Effort, error) {
	for e, name := range effortNames {
		if s == name {
			return Effort(e), nil
		}
	}
	return 0, fmt.Errorf("unknown effort %q; want auto or fixed", s)
}

// MarshalText writes the name.
func (e Effort) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (e *Effort) UnmarshalText(text []byte) (err error) {
	*e, err = ParseEffort(string(text))
	return err
}

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
	// KL(p ‖ q) in nats
	Divergence report.Number `json:"divergence"`
}

// Rounds are those of a solution.
func Rounds(s *vti.Solution) (rounds []Round) {
	for _, r := range s.Rounds {
		rounds = append(rounds, Round{
			r.Work.String(), r.Why, r.Steps, r.Full, r.Verdict, report.Number(r.KHat), report.Number(r.ESS), r.Draws, report.Number(r.Shortage), report.Number(r.Divergence),
		})
	}
	return rounds
}

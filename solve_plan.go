package vti

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/transdim/vti/internal/psis"
)

// stage is what Solve does next.
type stage string

const (
	collapsing stage = "collapse"
	glancing   stage = "glance"
	training   stage = "train"
	certifying stage = "certify"
	birthing   stage = "births"
	finished   stage = "finished"
)

// plan is how far Solve has come. It is part of its checkpoints; all decisions follow from it, the
// variables and the certificate in hand.
type plan struct {
	// Next is what is done next, Work and Why of the round it belongs to.
	Next stage
	Work Work
	Why  string
	// Trained is the number of rounds of training that are done or have begun, Full that of
	// certificates of fresh draws.
	Trained, Full int
	// Unhelpful is the number of rounds of training in a row that did not help.
	Unhelpful int
	// ByDraws reports whether weights are those of draws of q even where evidences are known or
	// estimated without it.
	ByDraws bool
	// Born reports whether births and deaths have been tried.
	Born bool `json:",omitempty"`
	// CutShort reports whether the collapsed posterior was given up for want of time.
	CutShort bool `json:",omitempty"`
	// Last reports whether the next full certificate is the last: there is nothing left to try.
	Last bool
	// Witnesses are what earlier certificates found.
	Witnesses witnesses `json:",omitempty"`
	// Rounds are those that are done.
	Rounds []SolveRound
}

// restore reads the plan of the checkpoint that training continues from, if it does, and the
// beginning of a plan with a stage otherwise.
func (p *plan) restore(first stage, fit *Config) error {
	*p = plan{Next: first, Why: "before any training"}
	if !fit.Resume {
		return nil
	}
	info, err := ReadCheckpointInfo(fit.Checkpoint)
	if err != nil {
		return err
	}
	if len(info.plan) == 0 {
		return fmt.Errorf("%s: got the checkpoint of a fit, want one of Solve", fit.Checkpoint)
	}
	if err := json.Unmarshal(info.plan, p); err != nil {
		return fmt.Errorf("%s: the plan of Solve: %w", fit.Checkpoint, err)
	}
	if info.Step < fit.Steps { // it was the last for want of time
		p.Last = false
	}
	return nil
}

const (
	// unknownKHat stands for a k̂ of too few draws to tell.
	unknownKHat = 10
	// helpfulKHat and helpfulDraws are what a round of training has to gain to be called helpful:
	// so much of k̂ where that is too large, or such a share of the draws that the precision needs.
	// Estimates of k̂ from the 4,096 draws of a glance have a standard error of about 0.1. Chosen
	// by hand.
	helpfulKHat  = 0.05
	helpfulDraws = 0.1
	// patience is the number of rounds in a row that may not help before a full certificate is
	// made, with chains, in spite of what is wrong. Chosen by hand: first rounds are so short that
	// tempered ones do not show yet what they are worth.
	patience = 3
)

// helped reports whether a round left the certificate better than the best one before it did.
func helped(before []SolveRound, now SolveRound) bool {
	bestKHat, bestDraws := math.Inf(1), math.Inf(1)
	for _, round := range before {
		bestKHat = math.Min(bestKHat, round.KHat)
		bestDraws = math.Min(bestDraws, round.needed())
	}
	if bestKHat > psis.Reliable && now.KHat < bestKHat-helpfulKHat {
		return true
	}
	return now.needed() < (1-helpfulDraws)*bestDraws
}

// needed is the number of draws that the precision asked for needs.
func (r SolveRound) needed() float64 { return r.Shortage * float64(r.Draws) }

package rjmcmc

import (
	"fmt"

	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/space"
)

// Defaults of Config. Not tuned: R-hat shows whether they suffice.
const (
	DefaultChains     = 128
	DefaultBurnIn     = 1000
	DefaultIterations = 2000
	DefaultThin       = 5
	DefaultJumps      = 2
	// for spaces of short lists among many items, where most new members are refused
	DefaultListJumps = 10
	DefaultSwaps     = 2
	DefaultWalks     = 1
	DefaultJoints    = 1
)

// Config configures sampling. The zero value is ready for small problems.
type Config struct {
	// Chains is the number of chains, C; 0 means DefaultChains. Further chains cost little: all
	// share one graph call.
	Chains int
	// BurnIn is the number of iterations that adapt the proposals and are discarded; 0 means
	// DefaultBurnIn, negative none (and then nothing adapts).
	BurnIn int
	// Iterations is the number of iterations after burn-in; 0 means DefaultIterations.
	Iterations int
	// Thin is the thinning: every Thin-th iteration is kept; 0 means DefaultThin. Draws take about
	// (13 D + 4 S) bytes each.
	Thin int

	// Jumps, Swaps, Walks and Joints are the moves of each kind in one iteration. 0 means the
	// default, negative none (DefaultListJumps on a space of lists). Swaps are left out where no
	// two sites have the same number of outcomes, Joints by default above MaxQuadraticDim
	// coordinates.
	Jumps, Swaps, Walks, Joints int

	// Starts are the models (codes of length S) in which chains start: chain c in Starts[c mod
	// len(Starts)]. Empty means models drawn from sparse to dense.
	Starts [][]int32

	// Temperatures is the number of copies of each chain. The first copy samples the posterior, the
	// others sample flatter densities, down to the prior of models (tempering.go). Neighbouring
	// copies exchange states, so that chains move between modes. 0 means 1, no tempering. Time and
	// memory grow in proportion.
	Temperatures int

	// Seed selects the random streams.
	Seed uint64
	// Enough, when not nil, is called with the draws so far after each sixteenth of Iterations;
	// true ends the run.
	Enough func(*Result) bool
	// Further, when not nil, is called with all draws after Iterations, unless Enough has ended the
	// run. It returns a number of further iterations before the next call; 0 ends the run.
	Further func(*Result) int
	// Progress, when not nil, is called from the goroutine of Run after every iteration of burn-in,
	// then where draws are kept, or with Temperatures after every iteration.
	Progress func(Progress)

	// Checkpoint names the file for the state of the run; "" writes none. It is written at growing
	// intervals, when the run is cancelled and when it ends.
	Checkpoint string
	// Resume continues from the state in Checkpoint. The draws equal the draws of an uninterrupted
	// run, bit by bit. Settings, target and backend must be the same as in the run that wrote the
	// file. A run that had ended returns its result.
	Resume bool
}

// Progress is the state of a run after an iteration.
type Progress struct {
	// Iteration counts from 1 to Total, burn-in included.
	Iteration, Total int
	BurnIn           bool
	// LogDensity is the mean over the chains of log p(m) + log η(θ | m).
	LogDensity float64
}

// Validate returns an error for the first invalid setting, or if any target would need more memory
// than the machine has.
func (c Config) Validate() error {
	switch {
	case c.Chains < 0:
		return fmt.Errorf("rjmcmc: Chains is %d, want at least 1 (or 0 for the default)", c.Chains)
	case c.Iterations < 0:
		return fmt.Errorf("rjmcmc: Iterations is %d, want at least 1 (or 0 for the default)", c.Iterations)
	case c.Thin < 0:
		return fmt.Errorf("rjmcmc: Thin is %d, want at least 1 (or 0 for the default)", c.Thin)
	case c.Temperatures < 0:
		return fmt.Errorf("rjmcmc: Temperatures is %d, want at least 1 (or 0 for the default)", c.Temperatures)
	case c.Jumps < 0 && c.Swaps < 0:
		return fmt.Errorf("rjmcmc: Jumps and Swaps are both off: the chains could never change model")
	case c.Resume && c.Checkpoint == "":
		return fmt.Errorf("rjmcmc: Resume needs Checkpoint, the file to continue from")
	}
	r := c.withDefaults(1)
	if r.Iterations < r.Thin {
		return fmt.Errorf("rjmcmc: %s with Thin %d %s no draw", english.Count(r.Iterations, "iteration"), r.Thin, english.Form(r.Iterations, "keeps", "keep"))
	}
	return r.checkSize(1, 1, false) // Run checks again with the space
}

// fits returns an error if a start is not a model of the space or the weights do not fit its items.
func (c Config) fits(sp space.Space) error {
	cards := sp.Cards()
	lists, isList := sp.(list)
	for i, code := range c.Starts {
		if len(code) != len(cards) {
			return fmt.Errorf("rjmcmc: Starts[%d] has %s, want %d", i, english.Count(len(code), "site"), len(cards))
		}
		for site, outcome := range code {
			if outcome < 0 || int(outcome) >= cards[site] {
				return fmt.Errorf("rjmcmc: Starts[%d] has outcome %d at site %d, want 0 to %d", i, outcome, site, cards[site]-1)
			}
		}
		if isList && !lists.Valid(code) {
			return fmt.Errorf("rjmcmc: Starts[%d] = %v is not an ascending list of items below %d", i, code, lists.Items())
		}
	}
	return nil
}

func (c Config) withDefaults(dim int) Config {
	pick := func(value *int, byDefault int) {
		switch {
		case *value == 0:
			*value = byDefault
		case *value < 0:
			*value = 0
		}
	}
	pick(&c.Chains, DefaultChains)
	pick(&c.BurnIn, DefaultBurnIn)
	pick(&c.Iterations, DefaultIterations)
	pick(&c.Thin, DefaultThin)
	pick(&c.Temperatures, 1)
	pick(&c.Jumps, DefaultJumps)
	pick(&c.Swaps, DefaultSwaps)
	pick(&c.Walks, DefaultWalks)
	joints := DefaultJoints
	if dim > MaxQuadraticDim {
		joints = 0
	}
	pick(&c.Joints, joints)
	return c
}

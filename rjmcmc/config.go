package rjmcmc

import (
	"fmt"

	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/space"
)

// Defaults of Config. On a test table R-hat, which should be below 1.01, is 1.003. It is 1.006 with
// half of the iterations, and 1.010 with half of the iterations and half of the jumps
// (docs/benchmarks/constants.md).
const (
	DefaultChains     = 128
	DefaultBurnIn     = 1000
	DefaultIterations = 2000
	DefaultThin       = 5
	DefaultJumps      = 2
	// DefaultListJumps is the default of Jumps on spaces of short lists among many items
	// ([space.Lists]), where most proposals are refused.
	DefaultListJumps = 10
	DefaultSwaps     = 2
	DefaultWalks     = 1
	DefaultJoints    = 1
)

// Config configures sampling. The zero value is ready for small problems.
type Config struct {
	// Chains is the number of chains, C; 0 means DefaultChains. More chains cost little time,
	// because all chains share one graph call.
	Chains int
	// BurnIn is the number of iterations that adapt the proposals and are discarded. 0 means
	// DefaultBurnIn. A negative number means no burn-in, so that proposals do not adapt.
	BurnIn int
	// Iterations is the number of iterations after burn-in; 0 means DefaultIterations.
	Iterations int
	// Thin is the thinning interval: every Thin-th iteration is kept; 0 means DefaultThin. Each
	// draw takes about 13 D + 4 S bytes.
	Thin int

	// Jumps, Swaps, Walks and Joints are the numbers of moves of each kind in one iteration. 0
	// means the default, which for Jumps is DefaultListJumps on a space of lists; a negative number
	// means none. Swaps are left out if no two sites have the same number of outcomes. Joints are 0
	// by default above MaxQuadraticDim coordinates.
	Jumps, Swaps, Walks, Joints int

	// Starts are the models (codes of length S) in which chains start: chain c starts in Starts[c
	// mod len(Starts)]. If Starts is empty, the starts are drawn at random, from sparse models to
	// dense ones.
	Starts [][]int32

	// Temperatures is the number of copies of each chain. The first copy samples the posterior, the
	// other copies sample flatter densities, and the last the prior of models (tempering.go).
	// Neighbouring copies exchange states, so that chains move between modes. 0 means 1, no
	// tempering. Time and memory are proportional to Temperatures.
	Temperatures int

	// Seed is the seed of all random numbers.
	Seed uint64
	// Enough, when not nil, is called with the draws so far whenever a sixteenth of Iterations is
	// done. If it returns true, the run ends.
	Enough func(*Result) bool
	// Further, when not nil, is called with all draws after Iterations, unless Enough has ended the
	// run. It returns the number of iterations to add before it is called again; 0 ends the run.
	Further func(*Result) int
	// Progress, when not nil, is called from the goroutine of Run: after every iteration of
	// burn-in, and then after every iteration whose draws are kept (after every iteration if
	// Temperatures is above 1).
	Progress func(Progress)

	// Checkpoint names the file for the state of the run; "" writes none. It is written at growing
	// intervals, when the run is cancelled and when it ends.
	Checkpoint string
	// Resume continues from the state in the file Checkpoint. The draws equal the draws of an
	// uninterrupted run, bit by bit. Settings, target and backend must be the same as in the run
	// that wrote the file. If that run had ended, its result is returned.
	Resume bool
}

// Progress is the state of a run after an iteration.
type Progress struct {
	// Iteration counts from 1 to Total, burn-in included.
	Iteration, Total int
	// BurnIn reports whether the iteration belongs to burn-in.
	BurnIn bool
	// LogDensity is the mean over the chains of log p(m) + log η(θ | m).
	LogDensity float64
}

// Validate returns an error for the first invalid setting. It also returns an error if the run
// would need more memory than the machine has, even for the smallest problem: two models, and one
// parameter.
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
	return r.checkSize(1, 1, false) // Run checks again with the size of the space
}

// fits returns an error if a start is not a model of the space.
func (c Config) fits(sp space.Space) error {
	lists, isList := sp.(list)
	for i, code := range c.Starts {
		if err := space.CheckCode(sp, code); err != nil {
			return fmt.Errorf("rjmcmc: Starts[%d]: %w", i, err)
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

package surrogate

import (
	"math/rand/v2"

	"github.com/transdim/vti/internal/enum"
	"github.com/transdim/vti/internal/parallel"
)

// Utility is the rule that computes the utility u(m) of eq. 14 of the VTI paper from a belief about
// the expected reward of model m.
type Utility int

const (
	// UCB is the upper confidence bound μ + βσ, with μ and σ the mean and standard deviation of the
	// belief (eq. 27).
	UCB Utility = iota
	// Thompson is a draw from the belief.
	Thompson
	// Mean is μ, without a bonus for models whose reward is uncertain.
	Mean
)

var utilities = enum.New[Utility]("utility", "ucb", "thompson", "mean")

// String returns the name of the utility.
func (u Utility) String() string { return utilities.String(u) }

// MarshalText returns the name of the utility.
func (u Utility) MarshalText() ([]byte, error) { return utilities.Marshal(u) }

// UnmarshalText reads a name written by MarshalText.
func (u *Utility) UnmarshalText(text []byte) error { return utilities.Unmarshal(text, u) }

// chunk is the number of models for which one thread computes predictions at a time. Half or twice
// this number gives the same answers (docs/benchmarks/constants.md).
const chunk = 1 << 10

// Utilities writes u(m) of every model into dst [M], in the order of the M models of the belief,
// and returns dst. beta is used by UCB only, and random by Thompson only. The work is shared among
// processors.
func Utilities(b Belief, u Utility, beta float64, random *rand.Rand, dst []float64) []float64 {
	if u == Thompson {
		b.Draw(random, dst)
		return dst
	}
	inChunks(len(dst), func(first, end int) {
		var sd []float64 // nil: standard deviations are not needed
		if u == UCB {
			sd = make([]float64, end-first)
		}
		b.Predict(first, dst[first:end], sd)
		for i := range sd {
			dst[first+i] += beta * sd[i]
		}
	})
	return dst
}

// inChunks splits the range from 0 to count−1 into consecutive ranges, and calls work for several
// of these at once.
func inChunks(count int, work func(first, end int)) {
	parallel.Run((count+chunk-1)/chunk, func(i int) { work(i*chunk, min((i+1)*chunk, count)) })
}

package surrogate

import (
	"fmt"
	"math/rand/v2"

	"github.com/transdim/vti/internal/enum"
	"github.com/transdim/vti/internal/parallel"
)

// Utility is the kind of u(m) in eq. 14.
type Utility int

const (
	// UCB is the upper confidence bound μ + βσ (eq. 27).
	UCB Utility = iota
	// Thompson is a draw from the belief.
	Thompson
	// Mean is μ alone: no exploration beyond draws of p(m) exp μ.
	Mean
)

var utilities = enum.New[Utility]("utility", "ucb", "thompson", "mean")

// String returns the name of the utility.
func (u Utility) String() string { return utilities.String(u) }

// MarshalText writes the name.
func (u Utility) MarshalText() ([]byte, error) { return utilities.Marshal(u) }

// UnmarshalText reads a name written by MarshalText.
func (u *Utility) UnmarshalText(text []byte) error { return utilities.Unmarshal(text, u) }

// chunk is the number of models that one thread predicts at a time. Not tuned.
const chunk = 1 << 10

// Utilities writes u(m) of every model into dst, in the order of their index, and returns it; a nil
// dst is allocated. Only UCB uses beta, and only Thompson random. Processors share the work.
func Utilities(b Belief, u Utility, beta float64, random *rand.Rand, dst []float64) []float64 {
	if dst == nil {
		dst = make([]float64, b.Models())
	}
	if len(dst) != b.Models() {
		panic(fmt.Sprintf("surrogate.Utilities: dst has length %d, want %d", len(dst), b.Models()))
	}
	if u == Thompson {
		b.Draw(random, dst)
		return dst
	}
	inChunks(len(dst), func(first, end int) {
		var sd []float64 // nil: not needed
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

// inChunks calls work for consecutive ranges that cover 0 … count−1, several at once.
func inChunks(count int, work func(first, end int)) {
	parallel.Run((count+chunk-1)/chunk, func(i int) { work(i*chunk, min((i+1)*chunk, count)) })
}

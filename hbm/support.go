package hbm

import (
	"fmt"
	"math"
)

// Support is the set of values of a density. The zero value is Reals.
type Support struct {
	kind      supportKind
	low, high float64
}

type supportKind int

const (
	realKind supportKind = iota
	positiveKind
	intervalKind
	simplexKind
	triangularKind
	binaryKind
	countKind
)

// The supports without parameters.
var (
	Reals           = Support{kind: realKind}
	Positives       = Support{kind: positiveKind}
	Simplex         = Support{kind: simplexKind}    // shares that sum to one
	CholeskyFactors = Support{kind: triangularKind} // square, with a positive diagonal
	Binaries        = Support{kind: binaryKind}     // 0 or 1
	Counts          = Support{kind: countKind}      // 0, 1, 2, …
)

// Interval is the support of numbers between low and high.
func Interval(low, high float64) Support { return Support{kind: intervalKind, low: low, high: high} }

// String says what the values are.
func (s Support) String() string {
	switch s.kind {
	case positiveKind:
		return "positive numbers"
	case intervalKind:
		return fmt.Sprintf("numbers from %g to %g", s.low, s.high)
	case simplexKind:
		return "shares that sum to one"
	case triangularKind:
		return "lower triangular matrices with a positive diagonal"
	case binaryKind:
		return "0 or 1"
	case countKind:
		return "counts"
	}
	return "real numbers"
}

// link is the link that a latent variable of this support has by default; nil if there is none.
func (s Support) link() Link {
	switch s.kind {
	case realKind:
		return IdentityLink{}
	case positiveKind:
		return ExpLink{}
	case intervalKind:
		return IntervalLink{s.low, s.high}
	case simplexKind:
		return SoftmaxLink{}
	case triangularKind:
		return CholeskyLink{}
	}
	return nil
}

// shareTolerance is how far shares read from a file may be from summing to one.
const shareTolerance = 1e-6

// check reports the first number of an observed value that is not in the support.
func (s Support) check(value []float64) error {
	var sum float64
	for i, x := range value {
		in := !math.IsNaN(x) && !math.IsInf(x, 0)
		switch s.kind {
		case positiveKind:
			in = in && x > 0
		case intervalKind:
			in = in && x >= s.low && x <= s.high
		case simplexKind:
			in = in && x >= 0
		case binaryKind:
			in = x == 0 || x == 1
		case countKind:
			in = in && x >= 0 && x == math.Trunc(x)
		}
		if !in {
			return fmt.Errorf("got %g at position %d of the event, want %s", x, i, s)
		}
		sum += x
	}
	if s.kind == simplexKind && math.Abs(sum-1) > shareTolerance {
		return fmt.Errorf("got a sum of %g, want %s", sum, s)
	}
	return nil
}

package compare

import (
	"cmp"
	"math"
	"slices"

	"github.com/transdim/vti/internal/report"
)

// Pair is a number, nearly always a probability, in both runs. A missing number is null.
type Pair struct {
	// Name is the name of a predictor, an edge or a term; models have a Code instead.
	Name string        `json:"name,omitempty"`
	Code string        `json:"code,omitempty"`
	A    report.Number `json:"a"`
	SEA  report.Number `json:"se_a"`
	B    report.Number `json:"b"`
	SEB  report.Number `json:"se_b"`
	// Difference is A − B, and Z is Difference over the root of the summed squares of the standard
	// errors: null when both are zero, or one is unknown.
	Difference report.Number `json:"difference"`
	Z          report.Number `json:"z"`
}

// NewPair compares two numbers. NaN stands for an unknown number or standard error.
func NewPair(a, seA, b, seB report.Number) Pair {
	z := float64(a-b) / math.Hypot(float64(seA), float64(seB))
	return Pair{A: a, SEA: seA, B: b, SEB: seB, Difference: a - b, Z: report.Number(z)}
}

func (p Pair) largest() float64 {
	if math.IsNaN(float64(p.A)) || p.B > p.A {
		return float64(p.B)
	}
	return float64(p.A)
}

func (p Pair) known() bool { return !math.IsNaN(float64(p.Difference)) }

// leastDifference is the least to report, whatever its error; mostDisagreements bounds the list.
const (
	leastDifference   = 1e-4
	mostDisagreements = 10
)

// Disagreements returns the pairs with the largest |Z|; those without come last.
func Disagreements(lists ...[]Pair) []Pair {
	size := func(p Pair) float64 {
		if z := math.Abs(float64(p.Z)); !math.IsNaN(z) {
			return z
		}
		return 0
	}
	pairs := slices.DeleteFunc(slices.Concat(lists...), func(p Pair) bool { return !(math.Abs(float64(p.Difference)) >= leastDifference) })
	slices.SortStableFunc(pairs, func(x, y Pair) int {
		return cmp.Or(cmp.Compare(size(y), size(x)), cmp.Compare(math.Abs(float64(y.Difference)), math.Abs(float64(x.Difference))))
	})
	return pairs[:min(len(pairs), mostDisagreements)]
}

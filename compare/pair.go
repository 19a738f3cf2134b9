package compare

import (
	"cmp"
	"math"
	"slices"

	"github.com/transdim/vti/internal/report"
)

// Pair holds the values of one number, nearly always a probability, in runs A and B. A missing
// number is NaN, which is null in JSON.
type Pair struct {
	// Name is the name of the predictor, edge or term to which the number belongs. If the number
	// belongs to a model, Code identifies the model instead.
	Name string `json:"name,omitempty"`
	Code string `json:"code,omitempty"`
	// A and B are the values in the runs A and B, and SEA and SEB their standard errors.
	A   report.Number `json:"a"`
	SEA report.Number `json:"se_a"`
	B   report.Number `json:"b"`
	SEB report.Number `json:"se_b"`
	// Difference is A − B, and Z is Difference divided by its standard error √(SEA² + SEB²). Z is
	// null in JSON if the standard error is zero, or if one of SEA and SEB is unknown.
	Difference report.Number `json:"difference"`
	Z          report.Number `json:"z"`
}

// NewPair returns the Pair of numbers a and b with standard errors seA and seB. NaN stands for an
// unknown number or standard error.
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

// leastDifference is the smallest difference that Disagreements reports, however small its standard
// error. mostDisagreements is the largest number of pairs that Disagreements returns.
const (
	leastDifference   = 1e-4
	mostDisagreements = 10
)

// Disagreements returns the pairs with the largest |Z|, in decreasing order. Pairs without Z come
// last.
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

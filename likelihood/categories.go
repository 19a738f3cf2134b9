package likelihood

import (
	"fmt"
	"math"

	. "github.com/gomlx/gomlx/pkg/core/graph"

	"github.com/transdim/vti/internal/apply"
)

// Categories is the distribution of a response y in one of K categories, 0 to K−1, given M linear
// predictors η of its row and P parameters z shared by all rows. Each z is N(0, 1) a priori.
type Categories interface {
	// Levels returns K, Predictors returns M, and Parameters returns P.
	Levels() int
	Predictors() int
	Parameters() int
	// LogProb returns log p(y | η, z) of n rows [B, n], for y [n], eta [B, M, n] and z [B, P],
	// which is nil if P is 0.
	LogProb(y []float64, eta, z *Node) *Node
	// At returns the distribution given z [P], on the host.
	At(z []float64) CategoriesAt
}

// OrderedCategories are Categories with K−1 cut points. Given the cut points, their distribution is
// [*Cuts].
type OrderedCategories interface {
	Categories
	// Sticks returns the parameters z [K−1] that belong to cut points.
	Sticks(points []float64) []float64
	// Cut returns the distribution given cut points. Its method Expand must not be called, because
	// z is not known.
	Cut(points []float64) *Cuts
}

var _ OrderedCategories = (*ordered)(nil)

// CategoriesAt is the distribution of categories given the parameters z, in float64. The linear
// predictors of n rows are eta [M·n]: the first one of all rows, then the second one of all rows,
// and so on.
type CategoriesAt interface {
	// LogProbs returns Σ_i log p(y_i | η_i) over rows i.
	LogProbs(y, eta []float64) float64
	// Probabilities writes p(k | η) of one row, eta [M], to dst [K].
	Probabilities(eta, dst []float64)
	// Expand writes the second-order expansion of log p(y_i | η_i) in η_i, for each row, into *to.
	Expand(y, eta []float64, to *Expansion)
}

// Expansion is a second-order expansion of Σ_i log p(y_i | η_i, z) in η and z. Curvatures are
// second derivatives of −log p.
type Expansion struct {
	// Slope [M][n] holds the derivatives in each linear predictor of each row. Curvature [M·M][n]
	// holds the second derivatives in two linear predictors of a row, and Cross [M·P][n] the second
	// derivatives in a linear predictor and a parameter.
	Slope, Curvature, Cross [][]float64
	// Gradient [P] holds the derivatives in the parameters, and Information [P·P] the second
	// derivatives. Where log p depends on z through other quantities, such as cut points, Concave
	// [P·P] is Information without the terms with second derivatives of these quantities in z. With
	// Concave in place of Information, the curvature is positive semidefinite where log p is
	// concave in these quantities.
	Gradient, Information, Concave []float64
}

// NewExpansion allocates the expansion of n rows.
func NewExpansion(c Categories, n int) *Expansion {
	m, p := c.Predictors(), c.Parameters()
	rows := func(count int) [][]float64 {
		return apply.UpTo(count, func(int) []float64 { return make([]float64, n) })
	}
	return &Expansion{rows(m), rows(m * m), rows(m * p), make([]float64, p), make([]float64, p*p), make([]float64, p*p)}
}

// NewCategories returns the distribution of a kind with the given number of categories. It panics
// if the kind has no categories, or if levels is below two.
func NewCategories(k Kind, levels int) Categories {
	if levels < 2 {
		panic(fmt.Sprintf("likelihood.NewCategories: got %d categories, want at least 2", levels))
	}
	switch k {
	case CumulativeLogitKind:
		return &ordered{levels, logitCut}
	case CumulativeProbitKind:
		return &ordered{levels, probitCut}
	case CategoricalKind:
		return newUnordered(levels)
	}
	panic(fmt.Sprintf("likelihood.NewCategories: %s has no categories", k))
}

// log1mExp returns log(1 − exp x) for x < 0, without loss of digits.
func log1mExp(x float64) float64 {
	if x > -math.Ln2 {
		return math.Log(-math.Expm1(x))
	}
	return math.Log1p(-math.Exp(x))
}

// log1mExpNode does the same as log1mExp in graphs. It replaces an x above leastGap by leastGap.
func log1mExpNode(x *Node) *Node {
	x = MinScalar(x, leastGap)
	nearZero := GreaterThan(x, ConstAs(x, -math.Ln2))
	return Where(nearZero, Log(Neg(expm1(MaxScalar(x, -math.Ln2)))), Log1P(Neg(Exp(MinScalar(x, -math.Ln2)))))
}

// leastGap replaces 0 as the difference of two log probabilities that are equal in float32.
const leastGap = -1e-35

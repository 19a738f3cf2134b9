package likelihood

import (
	"fmt"
	"math"

	. "github.com/gomlx/gomlx/pkg/core/graph"
)

// Categories is the distribution of a response y in one of K categories, 0 to K−1, given M linear
// predictors η of its row and P parameters z shared by all rows. Each z is N(0, 1) a priori.
type Categories interface {
	// Levels is K, Predictors is M and Parameters is P.
	Levels() int
	Predictors() int
	Parameters() int
	// LogProb is log p(y | η, z) of n rows: y [n], eta [B, M, n] and z [B, P], nil where P is 0, ->
	// [B, n].
	LogProb(y []float64, eta, z *Node) *Node
	// At is the distribution given z [P], on the host.
	At(z []float64) CategoriesAt
}

// OrderedCategories are Categories with K−1 cut points. Given these their distribution is [*Cuts].
type OrderedCategories interface {
	Categories
	// Sticks are the z [K−1] of cut points. Cut is the distribution without z, and so without
	// Expand.
	Sticks(points []float64) []float64
	Cut(points []float64) *Cuts
}

var _ OrderedCategories = (*ordered)(nil)

// CategoriesAt is the distribution of categories given the parameters z, in float64. Predictors of
// n rows are eta [M·n], the n first predictors before the n second ones.
type CategoriesAt interface {
	// LogProbs is Σ_i log p(y_i | η_i).
	LogProbs(y, eta []float64) float64
	// Probabilities writes p(k | η) of one row, eta [M], to dst [K].
	Probabilities(eta, dst []float64)
	// Expand writes the second-order expansion of LogProbs.
	Expand(y, eta []float64, to *Expansion)
}

// Expansion is a second-order expansion of Σ_i log p(y_i | η_i, z) in η and z. Curvatures are
// second derivatives of −log p.
type Expansion struct {
	// Slope [M][n] has the derivatives by each predictor of each row. Curvature [M·M][n] has the
	// second derivatives by two predictors of a row, and Cross [M·P][n] by a predictor and a
	// parameter.
	Slope, Curvature, Cross [][]float64
	// Gradient [P], Information [P·P] and Concave [P·P] are derivatives by the parameters. Concave
	// is Information without the second derivatives of the quantities that z stands for. With it
	// the curvature is positive semidefinite where log p is concave in these quantities.
	Gradient, Information, Concave []float64
}

// NewExpansion allocates the expansion of n rows.
func NewExpansion(c Categories, n int) *Expansion {
	m, p := c.Predictors(), c.Parameters()
	rows := func(count int) [][]float64 {
		planes := make([][]float64, count)
		for i := range planes {
			planes[i] = make([]float64, n)
		}
		return planes
	}
	return &Expansion{rows(m), rows(m * m), rows(m * p), make([]float64, p), make([]float64, p*p), make([]float64, p*p)}
}

// NewCategories returns the distribution of a kind with the given number of categories. It panics
// if the kind has no categories, or there are fewer than two.
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

// log1mExp is log(1 − exp x), x < 0, without loss of digits.
func log1mExp(x float64) float64 {
	if x > -math.Ln2 {
		return math.Log(-math.Expm1(x))
	}
	return math.Log1p(-math.Exp(x))
}

// log1mExpNode is log1mExp in graphs, for x at most leastGap.
func log1mExpNode(x *Node) *Node {
	x = MinScalar(x, leastGap)
	nearZero := GreaterThan(x, ConstAs(x, -math.Ln2))
	return Where(nearZero, Log(Neg(expm1(MaxScalar(x, -math.Ln2)))), Log1P(Neg(Exp(MinScalar(x, -math.Ln2)))))
}

// leastGap stands for zero where float32 finds two probabilities equal.
const leastGap = -1e-35

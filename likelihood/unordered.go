package likelihood

import (
	"math"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/internal/apply"
)

// unordered is multinomial logistic regression: K categories without an order. Their probabilities
// are a softmax of K scores that sum to zero,
//
//	p(k | v) ∝ exp Σ_m C_km v_m,   Cᵀ 1 = 0,   C Cᵀ = ½ (I − 11ᵀ/K).
//
// The K−1 linear predictors v are coordinates of these scores. If the v are independent with
// variance s², the log odds of any two categories have the variance s². A prior that is the same
// for each v therefore treats all categories alike, without a reference category. Two categories
// are logistic regression with the same prior.
type unordered struct {
	contrasts [][]float64 // C [K][K−1]
}

// UnorderedCategories are Categories whose scores are linear in their linear predictors.
type UnorderedCategories interface {
	Categories
	// Contrasts returns C [K][M]: the log odds of category k against category r are Σ_m (C_km −
	// C_rm) v_m for the linear predictors v of a row. The caller must not change C.
	Contrasts() [][]float64
	// LogOdds writes the log odds of the categories 1, 2, … against category 0 to dst [M], which
	// must not overlap v. v [M] holds the linear predictors of a row, or their coefficients.
	LogOdds(v, dst []float64)
	// Coordinates is the inverse of LogOdds: it writes the v with the given log odds to dst [M].
	Coordinates(odds, dst []float64)
	// LogProbSums writes Σ_i t_i log p(y_i | η_i) to sums [S], for S sets of linear predictors eta
	// [S, M, n] of the same rows y [n]. times [n] holds t_i, as in LogDensity.
	LogProbSums(y, times, eta, sums []float64)
	// Newtons writes, for linear predictors eta [M, n], t_i times the slopes of log p(y_i) to slope
	// [M, n], and t_i times the curvatures of −log p(y_i) to curvature [M (M+1)/2, n]. The
	// curvature of linear predictors a ≥ b is in row a (a+1)/2 + b.
	Newtons(y, times, eta, slope, curvature []float64)
}

var (
	_ UnorderedCategories = (*unordered)(nil)
	_ CategoriesAt        = (*unordered)(nil)
)

// noContrasts returns zeros [K][K−1].
func noContrasts(levels int) [][]float64 {
	return apply.UpTo(levels, func(int) []float64 { return make([]float64, levels-1) })
}

// newUnordered returns the distribution with Helmert's contrasts: column m compares category m+1
// with the categories before it.
func newUnordered(levels int) *unordered {
	contrasts := noContrasts(levels)
	for m := range levels - 1 {
		unit := 1 / math.Sqrt(2*float64(m+1)*float64(m+2))
		for k := range m + 1 {
			contrasts[k][m] = -unit
		}
		contrasts[m+1][m] = float64(m+1) * unit
	}
	return &unordered{contrasts}
}

// AgainstFirst returns the distribution of categories without an order whose linear predictors
// [K−1] are the log odds of the categories 1, 2, … against category 0.
func AgainstFirst(levels int) CategoriesAt {
	contrasts := noContrasts(levels)
	for m := range levels - 1 {
		contrasts[m+1][m] = 1
	}
	return &unordered{contrasts}
}

func (u *unordered) Levels() int               { return len(u.contrasts) }
func (u *unordered) Predictors() int           { return len(u.contrasts) - 1 }
func (u *unordered) Parameters() int           { return 0 }
func (u *unordered) Contrasts() [][]float64    { return u.contrasts }
func (u *unordered) At([]float64) CategoriesAt { return u }

// LogOdds implements [UnorderedCategories].
func (u *unordered) LogOdds(v, dst []float64) {
	first := floats.Dot(u.contrasts[0], v)
	for k := range dst {
		dst[k] = floats.Dot(u.contrasts[k+1], v) - first
	}
}

// Coordinates implements [UnorderedCategories]. The columns of C are orthogonal to each other and
// to a constant, so that v = 2 Cᵀ (0, odds).
func (u *unordered) Coordinates(odds, dst []float64) {
	clear(dst)
	for k, o := range odds {
		floats.AddScaled(dst, 2*o, u.contrasts[k+1])
	}
}

// LogProb implements [Categories]. It sums the odds exp d of the other categories against the
// category y of the row. The largest odds are factored out if they are above 1, so that no digits
// are lost if p(y) is near 1:
//
//	−log p = t + log1p(Σ exp(d − t) + exp(−t) − 1),   t = max(0, max d).
func (u *unordered) LogProb(y []float64, eta, _ *Node) *Node {
	rows, levels := len(y), u.Levels()
	observed := make([]bool, levels*rows)
	for i, v := range y {
		observed[int(v)*rows+i] = true
	}
	scores := Einsum("bmn,km->bkn", eta, ConvertDType(Const(eta.Graph(), u.contrasts), eta.DType()))
	is := BroadcastToDims(Reshape(Const(eta.Graph(), observed), 1, levels, rows), scores.Shape().Dimensions...)
	d := Sub(scores, InsertAxes(ReduceSum(Where(is, scores, ZerosLike(scores)), 1), 1)) // score minus the score of y
	top := StopGradient(ReduceAndKeep(d, ReduceMax, 1))
	odds := ReduceSum(Where(is, ZerosLike(d), Exp(Sub(d, top))), 1)
	top = Squeeze(top, 1)
	return Neg(Add(top, Log1P(Add(odds, expm1(Neg(top))))))
}

// score returns Σ_m C_km v_m of row i of n rows, from eta [M·n].
func (u *unordered) score(k int, eta []float64, i, n int) (sum float64) {
	for m, c := range u.contrasts[k] {
		sum += c * eta[m*n+i]
	}
	return sum
}

// probabilities writes p(k) of all categories k in row i to dst [K], and returns log p(y).
func (u *unordered) probabilities(y int, eta []float64, i, n int, dst []float64) (logProb float64) {
	for k := range dst {
		dst[k] = u.score(k, eta, i, n)
	}
	floats.AddConst(-dst[y], dst)
	top := floats.Max(dst) // at least 0, the entry of y
	odds := 0.0
	for k, d := range dst {
		dst[k] = math.Exp(d - top)
		if k != y {
			odds += dst[k]
		}
	}
	floats.Scale(1/(dst[y]+odds), dst)
	return -top - math.Log1p(odds+math.Expm1(-top))
}

// LogProbs implements [CategoriesAt].
func (u *unordered) LogProbs(y, eta []float64) (sum float64) {
	shares := make([]float64, u.Levels())
	for i, v := range y {
		sum += u.probabilities(int(v), eta, i, len(y), shares)
	}
	return sum
}

// Probabilities implements [CategoriesAt].
func (u *unordered) Probabilities(eta, dst []float64) { u.probabilities(0, eta, 0, 1, dst) }

// Expand implements [CategoriesAt].
func (u *unordered) Expand(y, eta []float64, to *Expansion) {
	predictors, row := u.Predictors(), u.newRow()
	for i, v := range y {
		row.expand(int(v), eta, i, len(y))
		for m, slope := range row.slope {
			to.Slope[m][i] = slope
			for other := range m + 1 {
				curvature := row.curvature[m*predictors+other]
				to.Curvature[m*predictors+other][i], to.Curvature[other*predictors+m][i] = curvature, curvature
			}
		}
	}
}

package sparse

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// intercepts returns the rows [M b] of a least squares problem with an intercept of prior standard
// deviation s and group effects of standard deviation t, in units of the noise. It also returns the
// entries of MᵀM.
func intercepts(y []float64, group []int, groups int, s, t float64) (rows *mat.Dense, entries []Entry, values []float64) {
	rows = mat.NewDense(len(y)+groups+1, groups+2, nil)
	for i, g := range group {
		rows.Set(i, 0, s)
		rows.Set(i, 1+g, t)
		rows.Set(i, groups+1, y[i])
	}
	for k := range groups + 1 {
		rows.Set(len(y)+k, k, 1)
	}
	for i := range groups + 1 {
		for j := range i + 1 {
			if product := mat.Dot(rows.ColView(i), rows.ColView(j)); product != 0 {
				entries, values = append(entries, Entry{i, j}), append(values, product)
			}
		}
	}
	return rows, entries, values
}

// TestLeastSquares compares the determinant of P = MᵀM and the residual sum of squares with their
// closed forms for an intercept and groups. They are |P| = (1 + s² w) Π (1 + n_g t²) with w = Σ n_g
// / (1 + n_g t²), and the sum of squares within groups, plus the sum of squares between groups with
// weights n_g / (1 + n_g t²). If group effects are 1e8 times the noise, a factor computed from P
// has lost all digits of the noise, which Rounding must report. LeastSquares keeps eight digits.
func TestLeastSquares(t *testing.T) {
	source := rand.New(rand.NewPCG(5, 6))
	for _, groups := range []int{3, 12, 40} {
		for _, size := range []float64{1, 1e4, 1e8} {
			t.Run(fmt.Sprintf("%d groups, %g", groups, size), func(t *testing.T) {
				var y []float64
				var group []int
				counts, means := make([]float64, groups), make([]float64, groups)
				within := 0.0
				for g := range groups {
					effect := size * source.NormFloat64()
					counts[g] = float64(1 + g%3)
					noise := make([]float64, 1+g%3)
					mean := 0.0
					for k := range noise {
						noise[k] = source.NormFloat64()
						mean += noise[k] / counts[g]
						y, group = append(y, effect+noise[k]), append(group, g)
					}
					for _, e := range noise {
						within += (e - mean) * (e - mean)
					}
					means[g] = effect + mean
				}
				s, tau := 10*size, size
				rows, entries, values := intercepts(y, group, groups, s, tau)
				symbolic := Analyse(groups+1, entries, nil)
				f, x, squares, ok := LeastSquares(rows)
				require.True(t, ok)

				logDet, total, mean, square := 0.0, 0.0, 0.0, 0.0
				for g := range groups {
					weight := counts[g] / (1 + counts[g]*tau*tau)
					logDet += math.Log1p(counts[g] * tau * tau)
					total, mean = total+weight, mean+weight*means[g]
				}
				intercept := s * mean / (1 + s*s*total) // in units of its prior standard deviation
				for g := range groups {
					weight := counts[g] / (1 + counts[g]*tau*tau)
					away := means[g] - s*intercept
					square += weight * away * away
					require.InDelta(t, tau*weight*away, x[1+g], 1e-6)
				}
				logDet += math.Log1p(s * s * total)
				want := within + square + intercept*intercept
				require.InDelta(t, intercept, x[0], 1e-6)
				require.InDelta(t, logDet, f.LogDet(), 1e-6)
				require.InDelta(t, want, squares, 1e-6*math.Max(want, 1))

				products, ok := symbolic.Factorize(values)
				if size == 1e8 {
					require.True(t, !ok || products.Rounding() > 0.1)
					return
				}
				require.True(t, ok)
				require.Less(t, products.Rounding(), 1e-4)
				require.InDelta(t, logDet, products.LogDet(), 100*math.Max(products.Rounding(), 1e-10))
				b := make([]float64, groups+1)
				for i := range b {
					b[i] = source.NormFloat64()
				}
				require.InDeltaSlice(t, products.Solve(b), f.Solve(b), 1e-6, "one factor, two ways")
				inverse := make([]float64, groups+1) // A⁻¹ b = M Mᵀ b with the matrix M of Spread
				for i := range b {
					z := make([]float64, groups+1)
					z[i] = 1
					column := f.Spread(z)
					floats.AddScaled(inverse, floats.Dot(column, b), column)
				}
				require.InDeltaSlice(t, f.Solve(b), inverse, 1e-6)
			})
		}
	}
}

// TestLeastSquaresOfDependentColumns checks that a matrix with linearly dependent columns has no
// factor.
func TestLeastSquaresOfDependentColumns(t *testing.T) {
	_, _, _, ok := LeastSquares(mat.NewDense(3, 3, []float64{1, 0, 1, 1, 0, 2, 1, 0, 3}))
	require.False(t, ok)
}

// In the model y = s u + t v + noise, the level u of one grouping and the level v of another have
// the same n rows, so that only their priors N(0, 1) distinguish them. The least squares are u = s
// c and v = t c with c = n m / (σ² + n (s² + t²)), for the mean m of y and the noise σ. The test
// compares them, and the determinant and squares, with these values. There are three other levels.
// With another order of columns and σ = 1e-10, u would be 2,222 instead of a value below 2.
func TestLeastSquaresOfLevelsWithTheSameRows(t *testing.T) {
	y := []float64{0.7, 0.7, 0.7, -1.3, 0.2, 0.2}
	group := []int{0, 0, 0, 1, 2, 2}
	const first, second = 0.8, 2.3
	for _, sigma := range []float64{1e-2, 1e-6, 1e-8, 1e-10, 1e-12} {
		// The effects are the levels of the first grouping, then the levels of the second. The last
		// two levels of the first grouping belong to one level of the second.
		const levels = 5
		rows := mat.NewDense(len(y)+levels, levels+1, nil)
		for i, g := range group {
			rows.Set(i, g, first/sigma)
			rows.Set(i, 3+min(g, 1), second/sigma)
			rows.Set(i, levels, y[i]/sigma)
		}
		for k := range levels {
			rows.Set(len(y)+k, k, 1)
		}
		f, x, squares, ok := LeastSquares(rows)
		require.True(t, ok)
		total := first*first + second*second
		c := 3 * 0.7 / (sigma*sigma + 3*total)
		require.InDelta(t, first*c, x[0], 1e-5, "σ %g", sigma)
		require.InDelta(t, second*c, x[3], 1e-5, "σ %g", sigma)
		require.Less(t, f.Rounding(), 1e-2)

		// For the last two levels of the first grouping, the covariance of their means is t² +
		// diag(s² + σ²/n).
		a, b, off := first*first+second*second+sigma*sigma, first*first+second*second+sigma*sigma/2, second*second
		det := a*b - off*off
		alone := 2.1 * 2.1 / 3 / (sigma*sigma + 3*total)
		pair := (b*1.3*1.3 + 2*off*1.3*0.2 + a*0.2*0.2) / det
		require.InDelta(t, alone+pair, squares, 1e-4, "σ %g", sigma)
		logDet := math.Log1p(3*total/(sigma*sigma)) + math.Log(det) - 2*math.Log(sigma*sigma) + math.Log(2)
		require.InDelta(t, logDet, f.LogDet(), 1e-6, "σ %g", sigma)
	}
}

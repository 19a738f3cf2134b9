package sparse

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
)

// intercepts are the rows [M b] of a least squares with an intercept, of standard deviation s, and
// group effects, of standard deviation t, in units of the noise; and the entries of MᵀM.
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

// Of an intercept and groups everything is known in closed form: |P| = (1 + s² w) Π (1 + n_g t²)
// with w = Σ n_g / (1 + n_g t²), and the squares are those within groups, and those between them
// with weights n_g / (1 + n_g t²). Group effects 1e8 times the noise leave products no digit of it,
// which is said; orthogonal transformations keep eight.
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
				f, x, squares, ok := symbolic.LeastSquares(rows)
				require.True(t, ok)

				logDet, total, mean, square := 0.0, 0.0, 0.0, 0.0
				for g := range groups {
					weight := counts[g] / (1 + counts[g]*tau*tau)
					logDet += math.Log1p(counts[g] * tau * tau)
					total, mean = total+weight, mean+weight*means[g]
				}
				intercept := s * mean / (1 + s*s*total) // in standard deviations
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
				require.InDeltaSlice(t, products.Spread(b), f.Spread(b), 1e-6)
			})
		}
	}
}

// A matrix whose columns depend on each other has no factor.
func TestLeastSquaresOfDependentColumns(t *testing.T) {
	s := Analyse(2, []Entry{{0, 0}, {1, 1}, {1, 0}}, nil)
	_, _, _, ok := s.LeastSquares(mat.NewDense(3, 3, []float64{1, 0, 1, 1, 0, 2, 1, 0, 3}))
	require.False(t, ok)
}

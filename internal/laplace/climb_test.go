package laplace

import (
	gocontext "context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
)

// TestQuadratic compares the coefficients of a quadratic with values computed by hand, given a
// Hessian and a slope at a point other than the mode. The model uses two of three coordinates.
func TestQuadratic(t *testing.T) {
	hessian := mat.NewSymDense(2, []float64{4, 1, 1, 2})
	center, slope := []float64{1, 9, -1}, []float64{0.5, 0.25}
	precision, linear := quadratic(hessian, center, slope, []int{0, 2})
	require.Equal(t, []float64{4, 0, 1, 0, 1, 0, 1, 0, 2}, precision)
	require.Equal(t, []float64{3 + 0.5, 0, -1 + 0.25}, linear)

	// If the Hessian is not positive definite, only its diagonal is kept. If the log density is
	// convex in a coordinate, there is no quadratic.
	hessian.SetSym(0, 1, 3)
	precision, linear = quadratic(hessian, center, slope, []int{0, 2})
	require.Equal(t, []float64{4, 0, 0, 0, 1, 0, 0, 0, 2}, precision)
	require.Equal(t, []float64{4 + 0.5, 0, -2 + 0.25}, linear)
	hessian.SetSym(1, 1, -2)
	precision, linear = quadratic(hessian, center, slope, []int{0, 2})
	require.Nil(t, precision)
	require.Nil(t, linear)
}

// TestLaplaceCancelled checks that a search evaluates no densities after its context is cancelled.
func TestLaplaceCancelled(t *testing.T) {
	ctx, cancel := gocontext.WithCancel(t.Context())
	calls := 0
	evaluate := func(ctx gocontext.Context, _ []int32, points *mat.Dense) ([]float64, *mat.Dense, error) {
		if calls++; calls == 3 {
			cancel()
		}
		rows, dim := points.Dims()
		values, slopes := make([]float64, rows), mat.NewDense(rows, dim, nil)
		for i := range rows { // a valley that Newton steps follow slowly
			x := points.At(i, 0)
			values[i] = -math.Pow(x-5, 4)
			slopes.Set(i, 0, -4*math.Pow(x-5, 3))
		}
		return values, slopes, ctx.Err()
	}
	_, _, _, err := Surface{surface: gradients(evaluate)}.Climb(ctx, []int32{0}, []int{0}, []float64{0})
	require.ErrorIs(t, err, gocontext.Canceled)
	require.Equal(t, 3, calls)
}

package vti

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
)

// TestQuadratic places a Hessian of two active coordinates, out of three, away from its mode.
func TestQuadratic(t *testing.T) {
	hessian := mat.NewSymDense(2, []float64{4, 1, 1, 2})
	center, slope := []float64{1, 9, -1}, []float64{0.5, 0.25}
	precision, linear := quadratic(hessian, center, slope, []int{0, 2})
	require.Equal(t, []float64{4, 0, 1, 0, 1, 0, 1, 0, 2}, precision)
	require.Equal(t, []float64{3 + 0.5, 0, -1 + 0.25}, linear)

	// Not positive definite: each coordinate for itself. A negative curvature: nothing.
	hessian.SetSym(0, 1, 3)
	precision, linear = quadratic(hessian, center, slope, []int{0, 2})
	require.Equal(t, []float64{4, 0, 0, 0, 1, 0, 0, 0, 2}, precision)
	require.Equal(t, []float64{4 + 0.5, 0, -2 + 0.25}, linear)
	hessian.SetSym(1, 1, -2)
	precision, linear = quadratic(hessian, center, slope, []int{0, 2})
	require.Nil(t, precision)
	require.Nil(t, linear)
}

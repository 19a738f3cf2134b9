package rjmcmc

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
)

// Factors do what gonum's dense matrices do, of every size that the unrolled sums tell apart.
func TestFactorAgainstDense(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	for n := 1; n <= 9; n++ {
		root := mat.NewDense(n, n, nil)
		root.Apply(func(i, j int, _ float64) float64 { return rng.NormFloat64() }, root)
		var precision mat.Dense
		precision.Mul(root, root.T())
		symmetric := mat.NewSymDense(n, precision.RawMatrix().Data)
		var exact mat.Cholesky
		require.True(t, exact.Factorize(symmetric))
		var lower mat.TriDense
		exact.LTo(&lower)

		l := factor(append([]float64{}, symmetric.RawSymmetric().Data...))
		for i := range n { // which nothing may read
			for j := i + 1; j < n; j++ {
				l[i*n+j] = math.NaN()
			}
		}
		require.True(t, cholesky(l, n))
		assert.InDelta(t, exact.LogDet()/2, l.logDet(n), 1e-10)
		x := make([]float64, n)
		for i := range x {
			x[i] = rng.NormFloat64()
		}
		for what, c := range map[string]struct {
			got  func(x []float64)
			want func(dst, x *mat.VecDense)
		}{
			"L⁻¹ x": {l.solveLower, func(dst, x *mat.VecDense) { require.NoError(t, dst.SolveVec(&lower, x)) }},
			"L⁻ᵀ x": {l.solveUpper, func(dst, x *mat.VecDense) { require.NoError(t, dst.SolveVec(lower.T(), x)) }},
			"L x":   {l.multiplyLower, func(dst, x *mat.VecDense) { dst.MulVec(&lower, x) }},
			"Lᵀ x":  {l.multiplyUpper, func(dst, x *mat.VecDense) { dst.MulVec(lower.T(), x) }},
		} {
			var want mat.VecDense
			c.want(&want, mat.NewVecDense(n, append([]float64{}, x...)))
			got := append([]float64{}, x...)
			c.got(got)
			assert.InDeltaSlice(t, want.RawVector().Data, got, 1e-8*(1+mat.Norm(&want, 2)), "%s of %d rows", what, n)
		}
	}
	assert.False(t, cholesky([]float64{1, 0, 2, 1}, 2), "indefinite")
}

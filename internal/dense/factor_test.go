package dense

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/stream"
)

// matrix returns a random positive definite matrix [n·n]. The result lower holds the same matrix
// row by row, but with random numbers above its diagonal, which must not be read.
func matrix(n int, random *rand.Rand) (whole *mat.SymDense, lower []float64) {
	root := mat.NewDense(n, n+2, nil)
	for i := range n {
		for j := range n + 2 {
			root.Set(i, j, random.NormFloat64())
		}
	}
	whole = mat.NewSymDense(n, nil)
	whole.SymOuterK(1, root)
	lower = make([]float64, n*n)
	for i := range n {
		for j := range n {
			if lower[i*n+j] = math.NaN(); j <= i {
				lower[i*n+j] = whole.At(i, j)
			}
		}
	}
	return whole, lower
}

// TestFactor compares all functions with gonum's, for matrices with fewer and with more rows than
// the constant short.
func TestFactor(t *testing.T) {
	random := stream.Rand(1, "dense")
	for _, n := range []int{1, 2, 5, 8, 17, 40} {
		whole, lower := matrix(n, random)
		f, ok := Factorize(lower, n, 0)
		require.True(t, ok)
		require.Equal(t, n, f.Order())
		var want mat.Cholesky
		require.True(t, want.Factorize(whole))
		var l mat.TriDense
		want.LTo(&l)
		require.InDelta(t, want.LogDet(), f.LogDet(), 1e-9)
		for i := range n {
			for j := range i + 1 {
				require.InDelta(t, l.At(i, j), f.At(i, j), 1e-9)
			}
		}
		x := mat.NewVecDense(n, nil)
		for i := range n {
			x.SetVec(i, random.NormFloat64())
		}
		for name, c := range map[string]struct {
			got  func(x []float64)
			want func(to *mat.VecDense) error
		}{
			"solve":       {f.Solve, func(to *mat.VecDense) error { return want.SolveVecTo(to, x) }},
			"solve lower": {f.SolveLower, func(to *mat.VecDense) error { return to.SolveVec(&l, x) }},
			"solve upper": {f.SolveUpper, func(to *mat.VecDense) error { return to.SolveVec(l.T(), x) }},
			"mul lower":   {f.MulLower, func(to *mat.VecDense) error { to.MulVec(&l, x); return nil }},
			"mul upper":   {f.MulUpper, func(to *mat.VecDense) error { to.MulVec(l.T(), x); return nil }},
		} {
			var to mat.VecDense
			require.NoError(t, c.want(&to))
			got := slices.Clone(x.RawVector().Data)
			c.got(got)
			require.InDeltaSlice(t, to.RawVector().Data, got, 1e-7*(1+mat.Norm(&to, 2)), "%s of %d", name, n)
		}
		inverse, got := mat.NewSymDense(n, nil), make([]float64, n*n)
		require.NoError(t, want.InverseTo(inverse))
		f.Inverse(got)
		require.InDeltaSlice(t, mat.DenseCopyOf(inverse).RawMatrix().Data, got, 1e-6)
	}
}

func TestNoFactor(t *testing.T) {
	for name, a := range map[string][]float64{
		"indefinite": {1, 0, 2, 1}, "zero": {0}, "infinite": {math.Inf(1)}, "not a number": {math.NaN()},
	} {
		_, ok := Factorize(a, int(math.Sqrt(float64(len(a)))), 0)
		require.False(t, ok, name)
	}
	nearly := func() []float64 { return []float64{1, 0, 1, 1 + 1e-12} }
	_, ok := Factorize(nearly(), 2, 0)
	require.True(t, ok)
	_, ok = Factorize(nearly(), 2, 1e-10)
	require.False(t, ok, "a pivot of 1e-12 of its entry")
}

// BenchmarkFactorize measures Factorize and gonum's factorisation.
func BenchmarkFactorize(b *testing.B) {
	for _, n := range []int{2, 5, 10, 20, 50} {
		whole, lower := matrix(n, stream.Rand(1, "dense"))
		work, x := make([]float64, len(lower)), make([]float64, n)
		b.Run(fmt.Sprintf("here/%d", n), func(b *testing.B) {
			for b.Loop() {
				copy(work, lower)
				f, _ := Factorize(work, n, 0)
				f.Solve(x)
			}
		})
		b.Run(fmt.Sprintf("gonum/%d", n), func(b *testing.B) {
			right := mat.NewVecDense(n, x)
			for b.Loop() {
				var f mat.Cholesky
				f.Factorize(whole)
				_ = f.SolveVecTo(right, right)
			}
		})
	}
}

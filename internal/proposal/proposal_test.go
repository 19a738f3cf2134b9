package proposal

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"

	"github.com/transdim/vti/internal/dense"
	"github.com/transdim/vti/internal/stream"
)

var (
	mode       = []float64{1, -2, 0.5}
	precision  = []float64{4, 1, 0.5, 1, 2, -0.3, 0.5, -0.3, 1}
	covariance = func() *mat.SymDense {
		var cholesky mat.Cholesky
		cholesky.Factorize(mat.NewSymDense(3, precision))
		var c mat.SymDense
		if err := cholesky.InverseTo(&c); err != nil {
			panic(err)
		}
		return &c
	}()
)

func proposal(t testing.TB, degrees int) T {
	factor, ok := dense.Factorize(append([]float64(nil), precision...), 3, 0)
	require.True(t, ok)
	return New(mode, factor, degrees)
}

// TestAgainstGonum compares log densities with gonum's, at draws and at other points. It also
// checks the mean and covariance of draws.
func TestAgainstGonum(t *testing.T) {
	student, ok := distmv.NewStudentsT(mode, covariance, 7, nil)
	require.True(t, ok)
	normal, ok := distmv.NewNormal(mode, covariance, nil)
	require.True(t, ok)
	for _, c := range []struct {
		degrees int
		want    interface{ LogProb([]float64) float64 }
		scale   float64 // ratio of the covariance to the inverse of the precision
	}{{7, student, 7.0 / 5}, {Normal, normal, 1}} {
		candidate, random := proposal(t, c.degrees), stream.Rand(1, "proposal")
		const n = 40_000
		x, work, mean, squares := make([]float64, 3), make([]float64, 3), make([]float64, 3), mat.NewSymDense(3, nil)
		for range n {
			logDensity := candidate.Draw(random, x)
			require.InDelta(t, c.want.LogProb(x), logDensity, 1e-9)
			require.InDelta(t, logDensity, candidate.LogDensity(x, work), 1e-9)
			difference := mat.NewVecDense(3, nil)
			for a := range x {
				mean[a] += x[a] / n
				difference.SetVec(a, x[a]-mode[a])
			}
			squares.SymRankOne(squares, 1.0/n, difference)
		}
		for a := range 3 {
			sd := math.Sqrt(c.scale * covariance.At(a, a))
			require.InDelta(t, mode[a], mean[a], 5*sd/math.Sqrt(n)) // five standard errors
			for b := range 3 {
				other := math.Sqrt(c.scale * covariance.At(b, b))
				// The kurtosis for 7 degrees of freedom is 5, so standard errors of mean squares
				// are at most 2 sd² / √n.
				require.InDelta(t, c.scale*covariance.At(a, b), squares.At(a, b), 10*sd*other/math.Sqrt(n))
			}
		}
		require.Equal(t, mode, candidate.Mode())
		// For a normal density the Laplace approximation is exact: the log of the integral is 0.
		require.InDelta(t, 0, candidate.LogIntegral(normal.LogProb(mode)), 1e-12)
	}
}

// BenchmarkDraw measures a draw with its density, for this package and for gonum.
func BenchmarkDraw(b *testing.B) {
	x := make([]float64, 3)
	b.Run("here", func(b *testing.B) {
		candidate, random := proposal(b, 5), stream.Rand(1, "draw")
		for b.Loop() {
			candidate.Draw(random, x)
		}
	})
	b.Run("gonum", func(b *testing.B) {
		student, _ := distmv.NewStudentsT(mode, covariance, 5, stream.Rand(1, "draw"))
		for b.Loop() {
			student.LogProb(student.Rand(x))
		}
	})
}

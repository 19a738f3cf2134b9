package exact

import (
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/dense"
)

// Compress replaces the n rows of x [n, D] and y by at most D+1 rows that have the same sum of
// squares for every coefficient vector θ, up to a constant. The QR decomposition of [X y] gives |y
// − Xθ|² = |q − Rθ|² + r². This is exact, and the time of a likelihood is then independent of n.
// The result short is R, and rest is q. The result more is the number of observations that the
// returned rows do not represent, and residual is their sum of squares r², which does not depend on
// coefficients.
func Compress(x *mat.Dense, y []float64) (short *mat.Dense, rest []float64, more int, residual float64) {
	n, dim := x.Dims()
	if n <= dim+1 {
		return x, y, 0, 0
	}
	both := mat.NewDense(n, dim+1, nil)
	both.Slice(0, n, 0, dim).(*mat.Dense).Copy(x)
	both.SetCol(dim, y)
	r := dense.R(both)
	rest = apply.UpTo(dim, func(i int) float64 { return r.At(i, dim) })
	last := r.At(dim, dim)
	return mat.DenseCopyOf(r.Slice(0, dim, 0, dim)), rest, n - dim, last * last
}

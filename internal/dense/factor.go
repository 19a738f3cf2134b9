// Package dense computes Cholesky factors of small dense matrices, in slices that the caller owns.
// gonum's mat.Cholesky also bounds the condition number and allocates memory: it takes fifty times
// the time for five rows and three times the time for fifty. Package internal/sparse factorises
// sparse and large matrices. R is the triangle of a QR decomposition.
package dense

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Factor is the lower triangular L of a positive definite matrix A = L Lᵀ.
//
// It is stored row by row in a slice [n·n], with the reciprocals 1/L_ii on its diagonal. Solving a
// system then multiplies by them, which takes less time than dividing. Entries above the diagonal
// are not read. Copies of a Factor share the slice.
type Factor struct {
	n int
	l []float64
}

// Factorize overwrites the lower triangle of a symmetric matrix [n·n] by its factor. ok is false if
// a pivot is at most the fraction share of its diagonal entry of the matrix, or if the factor is
// not finite. If share is 0, every positive pivot is accepted.
func Factorize(a []float64, n int, share float64) (f Factor, ok bool) {
	f = Factor{n, a}
	for i := range n {
		row := f.row(i)
		for j := range i {
			row[j] = (row[j] - dot(row[:j], a[j*n:])) * a[j*n+j]
		}
		pivot := row[i] - dot(row[:i], row)
		if !(pivot > share*row[i] && pivot > 0 && pivot <= math.MaxFloat64) {
			return f, false
		}
		row[i] = 1 / math.Sqrt(pivot)
	}
	return f, true
}

// FactorOf returns the factor L of rᵀr, for an upper triangular matrix r: the rows of r, with signs
// that make the diagonal positive, are the columns of L.
func FactorOf(r mat.Matrix) Factor {
	n, _ := r.Dims()
	f := Factor{n, make([]float64, n*n)}
	for j := range n {
		sign := math.Copysign(1, r.At(j, j))
		for i := j + 1; i < n; i++ {
			f.l[i*n+j] = sign * r.At(j, i)
		}
		f.l[j*n+j] = sign / r.At(j, j)
	}
	return f
}

// short is the length up to which a loop is faster than a call of floats.Dot.
const short = 16

// dot returns Σ a_i b_i over the elements of a. It adds into four independent sums, which a
// processor can compute at the same time.
func dot(a, b []float64) float64 {
	b = b[:len(a)]
	if len(a) > short {
		return floats.Dot(a, b)
	}
	var s0, s1, s2, s3 float64
	for ; len(a) >= 4 && len(b) >= 4; a, b = a[4:], b[4:] {
		s0 += a[0] * b[0]
		s1 += a[1] * b[1]
		s2 += a[2] * b[2]
		s3 += a[3] * b[3]
	}
	for i, v := range a {
		s0 += v * b[i]
	}
	return (s0 + s1) + (s2 + s3)
}

func (f Factor) row(i int) []float64 { return f.l[i*f.n:][:i+1] }

// Clone returns a copy of the factor in a slice of its own.
func (f Factor) Clone() Factor { return Factor{f.n, slices.Clone(f.l)} }

// Order returns the number of rows.
func (f Factor) Order() int { return f.n }

// At returns L_ij for j ≤ i.
func (f Factor) At(i, j int) float64 {
	if i == j {
		return 1 / f.l[i*f.n+i]
	}
	return f.l[i*f.n+j]
}

// LogDet returns log |A|. Diagonal entries of L are square roots, so that products of two of them
// do not overflow.
func (f Factor) LogDet() (sum float64) {
	for i := 0; i+1 < f.n; i += 2 {
		sum -= math.Log(f.l[i*f.n+i] * f.l[(i+1)*f.n+i+1])
	}
	if f.n%2 == 1 {
		sum -= math.Log(f.l[f.n*f.n-1])
	}
	return 2 * sum
}

// Solve replaces x by A⁻¹ x.
func (f Factor) Solve(x []float64) {
	f.SolveLower(x)
	f.SolveUpper(x)
}

// SolveLower replaces x by L⁻¹ x.
func (f Factor) SolveLower(x []float64) {
	for i := range x {
		row := f.row(i)
		x[i] = (x[i] - dot(x[:i], row)) * row[i]
	}
}

// SolveUpper replaces x by L⁻ᵀ x. It turns standard normal numbers into a draw with precision A.
func (f Factor) SolveUpper(x []float64) {
	for i := len(x) - 1; i >= 0; i-- { // L is read by rows, which are contiguous
		row := f.row(i)
		v := x[i] * row[i]
		x[i] = v
		left := x[:i]
		for k := range left {
			left[k] -= row[k] * v
		}
	}
}

// MulUpper replaces x by Lᵀ x, whose squared norm is xᵀ A x.
func (f Factor) MulUpper(x []float64) {
	for i := range x {
		row, v := f.row(i), x[i]
		for k := range i {
			x[k] += row[k] * v
		}
		x[i] = v / row[i]
	}
}

// MulLower replaces x by L x. It turns standard normal numbers into a draw with covariance A.
func (f Factor) MulLower(x []float64) {
	for i := len(x) - 1; i >= 0; i-- {
		row := f.row(i)
		x[i] = x[i]/row[i] + dot(x[:i], row)
	}
}

// Inverse writes A⁻¹ to a slice [n·n], which must not be the slice of the factor.
func (f Factor) Inverse(to []float64) {
	clear(to)
	for i := range f.n {
		to[i*f.n+i] = 1
		f.Solve(to[i*f.n:][:f.n])
	}
}

// R returns the upper triangular factor R of the QR decomposition of a matrix m, so that RᵀR = mᵀm.
// The number of columns is at most the number of rows, which m and R share. Rows of R beyond the
// number of columns are zero.
func R(m mat.Matrix) *mat.Dense {
	var qr mat.QR
	qr.Factorize(m)
	r := new(mat.Dense)
	qr.RTo(r)
	return r
}

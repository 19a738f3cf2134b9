package sparse

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

// LeastSquares minimises |M x − b|² for the rows [M b] of a matrix [rows, n+1] by orthogonal
// transformations, and returns the factor of A = MᵀM, the minimum x and the squares that are left.
// M is dense, with entries of MᵀM where the pattern has some. It loses half as many digits as
// products do, where rows of M differ by many orders of magnitude: those with the largest entries
// come first (Cox and Higham 1998). False where M does not have full rank in double precision.
func (s *Symbolic) LeastSquares(rows *mat.Dense) (f *Factor, x []float64, squares float64, ok bool) {
	count, columns := rows.Dims()
	if columns != s.n+1 || count < columns {
		panic(fmt.Sprintf("sparse.LeastSquares: got %d rows of %d columns, want %d columns and at least as many rows", count, columns, s.n+1))
	}
	ordered := mat.NewDense(count, columns, nil)
	for i := range count {
		from, to := rows.RawRowView(i), ordered.RawRowView(i)
		for k, old := range s.order {
			to[k] = from[old]
		}
		to[s.n] = from[s.n]
	}
	var qr mat.QR
	qr.Factorize(ordered)
	var r mat.Dense
	qr.RTo(&r)
	f = s.factorOf(&r)
	x = make([]float64, s.n)
	for k := range s.n {
		pivot := r.At(k, k)
		if pivot == 0 || math.IsNaN(pivot) || math.IsInf(pivot, 0) {
			return nil, nil, 0, false
		}
		f.logDet += 2 * math.Log(math.Abs(pivot))
		x[k] = math.Copysign(1, pivot) * r.At(k, s.n)
	}
	left := r.At(s.n, s.n)
	return f, f.backward(x), left * left, true
}

// factorOf is the factor with L = Rᵀ for an upper triangle R in the new order, but for the signs of
// its rows, which make the diagonal of L positive, and without its determinant.
func (s *Symbolic) factorOf(r *mat.Dense) *Factor {
	entry := func(i, j int) float64 { return math.Copysign(1, r.At(j, j)) * r.At(j, i) }
	f := &Factor{
		s: s, diagonal: make([]float64, s.head), rows: make([]int32, s.first[s.head]), values: make([]float64, s.first[s.head]),
	}
	next := append([]int(nil), s.first[:s.head]...)
	for k := range s.n {
		for _, column := range s.columns[k] {
			f.rows[next[column]], f.values[next[column]] = int32(k), entry(k, int(column))
			next[column]++
		}
		if k < s.head {
			f.diagonal[k] = entry(k, k)
		}
	}
	rest := s.n - s.head
	f.dense = blas64.Triangular{N: rest, Stride: max(rest, 1), Data: make([]float64, rest*rest), Uplo: blas.Lower, Diag: blas.NonUnit}
	for i := range rest {
		for j := range i + 1 {
			f.dense.Data[i*rest+j] = entry(s.head+i, s.head+j)
		}
	}
	return f
}

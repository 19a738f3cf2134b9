package sparse

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/rank"
)

// LeastSquares minimises |M x − b|² by reflections, for the rows [M b] of a matrix [rows, n+1]. It
// returns the factor of MᵀM, the minimum x and the residual sum of squares. Rows may differ in size
// by many orders of magnitude. Each row loses only its last digits if the rows with the largest
// entries come first, and if the next column is always the one with the largest remainder (Powell
// and Reid 1969; Cox and Higham 1998). In another order of columns, two columns that are nearly
// equal in the large rows would carry rounding errors into the small rows, although only the small
// rows distinguish the columns. ok is false if M does not have full rank in double precision.
func LeastSquares(rows *mat.Dense) (f *Factor, x []float64, squares float64, ok bool) {
	count, columns := rows.Dims()
	n := columns - 1
	if count < n {
		panic(fmt.Sprintf("sparse.LeastSquares: got %d rows for %d unknowns, want at least as many", count, n))
	}
	r := apply.UpTo(count, func(i int) []float64 { return slices.Clone(rows.RawRowView(i)) })
	largest := func(row []float64) float64 { return floats.Norm(row[:n], math.Inf(1)) }
	slices.SortStableFunc(r, func(a, b []float64) int { return cmp.Compare(largest(b), largest(a)) })
	s := &Symbolic{n: n, order: rank.UpTo(n), first: []int{0}}
	for k := range n {
		longest := longestFrom(r, k, n)
		s.order[k], s.order[longest] = s.order[longest], s.order[k]
		for _, row := range r {
			row[k], row[longest] = row[longest], row[k]
		}
		if !reflect(r, k) {
			return nil, nil, 0, false
		}
	}
	f = &Factor{s: s, dense: blas64.Triangular{N: n, Stride: max(n, 1), Data: make([]float64, n*n), Uplo: blas.Lower, Diag: blas.NonUnit}}
	x = make([]float64, n)
	for k, row := range r[:n] { // L = Rᵀ, with rows negated to make the diagonal positive
		sign := math.Copysign(1, row[k])
		for j := k; j < n; j++ {
			f.dense.Data[j*n+k] = sign * row[j]
		}
		f.logDet += 2 * math.Log(math.Abs(row[k]))
		x[k] = sign * row[n]
	}
	x = f.backward(x)
	for _, row := range r[n:] {
		squares += row[n] * row[n]
	}
	f.rounding = roundingOf(rows, x, squares)
	return f, x, squares, true
}

// longestFrom returns the column, from k to n−1, with the largest Euclidean norm of its entries
// after the first k rows.
func longestFrom(r [][]float64, k, n int) int {
	square := make([]float64, n-k)
	for _, row := range r[k:] {
		for j, value := range row[k:n] {
			square[j] += value * value
		}
	}
	return k + floats.MaxIdx(square)
}

// reflect makes column k zero below row k by a reflection. It returns false if the column is zero
// from row k on.
func reflect(r [][]float64, k int) bool {
	v := apply.UpTo(len(r)-k, func(i int) float64 { return r[k+i][k] })
	length := math.Copysign(floats.Norm(v, 2), v[0])
	if length == 0 || math.IsNaN(length) || math.IsInf(length, 0) {
		return false
	}
	v[0] += length // both numbers have equal signs, so that no digits cancel
	along := make([]float64, len(r[k])-k-1)
	for i, u := range v {
		floats.AddScaled(along, u, r[k+i][k+1:])
	}
	half := v[0] * length
	for i, u := range v {
		floats.AddScaled(r[k+i][k+1:], -u/half, along)
	}
	r[k][k] = -length
	return true
}

// roundingOf returns the approximate effect of the last digits of all rows on half the residual sum
// of squares at x.
func roundingOf(rows *mat.Dense, x []float64, squares float64) float64 {
	count, _ := rows.Dims()
	var last float64 // sum of the squared rounding errors of the rows
	for i := range count {
		row := rows.RawRowView(i)
		size := math.Abs(row[len(x)])
		for j, value := range x {
			size += math.Abs(row[j] * value)
		}
		last += epsilon * size * epsilon * size
	}
	return math.Sqrt(last*squares) + last/2
}

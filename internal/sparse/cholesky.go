package sparse

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
)

// Factor is the Cholesky factor of a sparse matrix. Its first columns, the head, are stored as
// sparse columns, and the remaining columns as a dense triangle.
type Factor struct {
	s        *Symbolic
	diagonal []float64         // diagonal of the head
	values   []float64         // entries below the diagonal of the head, column by column
	dense    blas64.Triangular // the columns after the head
	logDet   float64
	rounding float64
}

// epsilon is the distance of 1 from the next number.
const epsilon = 0x1p-52

// workspace is memory for one factorisation.
type workspace struct {
	next  []int     // for each column of the head, the position of its next entry
	x     []float64 // the current row
	whole []float64 // the diagonal of the matrix, before elimination
	dense denseWorkspace
}

// newWorkspace returns a workspace with the positions of first entries and a row of zeros.
func (s *Symbolic) newWorkspace() *workspace {
	w, ok := s.workspaces.Get().(*workspace)
	if !ok {
		w = &workspace{next: make([]int, s.head), x: make([]float64, s.n), whole: make([]float64, s.n), dense: newDenseWorkspace(s.panels, s.n-s.head)}
	}
	copy(w.next, s.first)
	clear(w.x)
	return w
}

// Factorize returns the factor of the matrix with the given values, in the order of the entries
// given to Analyse. It returns false if the matrix is not positive definite in double precision.
func (s *Symbolic) Factorize(values []float64) (*Factor, bool) {
	f := &Factor{s: s, diagonal: make([]float64, s.head), values: make([]float64, s.first[s.head])}
	rest := s.n - s.head
	schur := make([]float64, rest*rest)
	w := s.newWorkspace()
	defer s.workspaces.Put(w)
	next, x, whole := w.next, w.x, w.whole
	determinant := logProduct{product: 1}
	for k := range s.n {
		for _, e := range s.rows[k] {
			x[e.column] += values[e.value]
		}
		pivot := x[k]
		whole[k] = pivot
		x[k] = 0
		for _, column := range s.columns[k] {
			j := int(column)
			entry := x[j] / f.diagonal[j]
			x[j] = 0
			for p := s.first[j]; p < next[j]; p++ {
				x[s.below[p]] -= f.values[p] * entry
			}
			pivot -= entry * entry
			f.values[next[j]] = entry
			next[j]++
		}
		if k < s.head {
			if !(pivot > 0) || math.IsInf(pivot, 1) {
				return nil, false
			}
			f.diagonal[k] = math.Sqrt(pivot)
			determinant.times(pivot)
			f.rounding += epsilon * whole[k] / pivot
			continue
		}
		row := schur[(k-s.head)*rest:]
		for j := s.head; j < k; j++ {
			row[j-s.head] = x[j]
			x[j] = 0
		}
		row[k-s.head] = pivot
	}
	if rest > 0 {
		var ok bool
		if f.dense, ok = s.factorizeDense(schur, rest, w); !ok {
			return nil, false
		}
		for i := range rest {
			pivot := f.dense.Data[i*rest+i]
			if !(pivot > 0) || math.IsInf(pivot, 1) {
				return nil, false
			}
			determinant.times(pivot)
			determinant.times(pivot)
			f.rounding += epsilon * whole[s.head+i] / (pivot * pivot)
		}
	}
	f.logDet = determinant.log()
	return f, true
}

// logProduct computes the logarithm of a product of positive numbers, with one logarithm for many
// numbers.
type logProduct struct{ product, sum float64 }

func (p *logProduct) times(x float64) {
	if y := p.product * x; y > 0x1p-900 && y < 0x1p900 {
		p.product = y
		return
	}
	p.sum += math.Log(p.product)
	p.product = x
}

func (p *logProduct) log() float64 { return p.sum + math.Log(p.product) }

// LogDet returns the log determinant of the matrix.
func (f *Factor) LogDet() float64 { return f.logDet }

// LogDetOfLast returns the log determinant of the Schur complement of all rows but the last count
// rows in the order of elimination: of the precision matrix of these rows alone, if the matrix is a
// precision matrix.
func (f *Factor) LogDetOfLast(count int) (sum float64) {
	rest := f.s.n - f.s.head
	for k := f.s.n - count; k < f.s.n; k++ {
		if k < f.s.head {
			sum += 2 * math.Log(f.diagonal[k])
		} else {
			at := k - f.s.head
			sum += 2 * math.Log(f.dense.Data[at*rest+at])
		}
	}
	return sum
}

// Rounding returns the approximate error of the log determinant by rounding. Elimination reduces
// each diagonal entry, but its absolute rounding error remains about the last digit of the entry
// before elimination. If the result is below 1e-3, the rounding error does not matter. For a factor
// from [LeastSquares], Rounding returns the approximate effect of the last digits of the rows on
// half the residual sum of squares.
func (f *Factor) Rounding() float64 { return f.rounding }

// Solve returns A⁻¹ b.
func (f *Factor) Solve(b []float64) []float64 {
	x := f.permuted("Solve", b)
	for j := range f.s.head { // L x = b
		x[j] /= f.diagonal[j]
		for p := f.s.first[j]; p < f.s.first[j+1]; p++ {
			x[f.s.below[p]] -= f.values[p] * x[j]
		}
	}
	if rest := f.s.n - f.s.head; rest > 0 {
		blas64.Trsv(blas.NoTrans, f.dense, blas64.Vector{N: rest, Inc: 1, Data: x[f.s.head:]})
	}
	return f.backward(x)
}

// Spread returns M z with M Mᵀ = A⁻¹: for standard normal z, a draw from the normal distribution of
// mean zero and precision A.
func (f *Factor) Spread(z []float64) []float64 { return f.backward(f.permuted("Spread", z)) }

func (f *Factor) permuted(caller string, b []float64) []float64 {
	if len(b) != f.s.n {
		panic(fmt.Sprintf("sparse.Factor.%s: got a vector of length %d, want %d", caller, len(b), f.s.n))
	}
	x := make([]float64, len(b))
	for k, old := range f.s.order {
		x[k] = b[old]
	}
	return x
}

// backward solves Lᵀ y = x and returns y in the original order of rows. It overwrites x.
func (f *Factor) backward(x []float64) []float64 {
	if rest := f.s.n - f.s.head; rest > 0 {
		blas64.Trsv(blas.Trans, f.dense, blas64.Vector{N: rest, Inc: 1, Data: x[f.s.head:]})
	}
	for j := f.s.head - 1; j >= 0; j-- {
		for p := f.s.first[j]; p < f.s.first[j+1]; p++ {
			x[j] -= f.values[p] * x[f.s.below[p]]
		}
		x[j] /= f.diagonal[j]
	}
	y := make([]float64, len(x))
	for k, old := range f.s.order {
		y[old] = x[k]
	}
	return y
}

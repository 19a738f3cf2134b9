package design

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/dense"
	"github.com/transdim/vti/internal/kernel"
	"github.com/transdim/vti/internal/parallel"
)

// Products holds the inner products of the D columns of a design with each other and with the
// response. With them a model of k columns takes about k³ operations, whatever the number of rows.
type Products struct {
	// Inner returns the inner product of two columns, by their numbers. It is faster if the first
	// number stays the same, and after a call of Row for one of the columns. Both may be called
	// from several goroutines.
	Inner func(j, k int) float64
	// Row returns the inner products of a column with all columns, which must not be changed.
	Row func(j int) []float64
	// Stored reports whether all inner products are stored, so that Inner takes no work. Kept
	// reports whether rows are stored as Row returns them, so that a second call takes no work.
	Stored, Kept bool
	// Linear holds the inner products of the columns with the response [D].
	Linear []float64
	// The field squares is the sum of squares of the response in the rows, and beyond the sum of
	// squares of the response outside the rows, which no column can reduce.
	squares, beyond float64
	// leastPivot and leastLeft are the limits below which Model has lost digits and returns false.
	leastPivot, leastLeft float64
}

// rowsPivot and rowsLeft are the limits leastPivot and leastLeft for rows of a table. If a model
// falls below them, a computation from the rows loses fewer digits. Within the limits, a log
// evidence of n rows has an error of at most about n·10⁻¹⁰ nats: the unit roundoff, divided by both
// limits.
const rowsPivot, rowsLeft = 1e-4, 1e-2

const (
	// mostStored is the largest number of inner products, 64 MiB, that are all stored. If there are
	// more, the first rows that are asked for are stored, at most mostKept inner products (1 GiB).
	mostStored = 1 << 23
	mostKept   = 1 << 27
	// rowBlock is the number of rows that are computed at a time. A block takes hardly longer than
	// one row, since all columns are read from memory.
	rowBlock = 16
)

// NewProducts returns the inner products of columns [D][n] and the response y [n]. The argument
// beyond is the sum of squares of the response outside these rows. With more than some thousand
// columns, inner products are computed when they are needed.
func NewProducts(columns [][]float64, y []float64, beyond float64) *Products {
	count, rows := len(columns), len(y)
	p := &Products{Linear: make([]float64, count), Stored: count*count <= mostStored, Kept: count*count <= mostKept, squares: floats.Dot(y, y), beyond: beyond, leastPivot: rowsPivot, leastLeft: rowsLeft}
	for j, column := range columns {
		p.Linear[j] = floats.Dot(column, y)
	}
	if !p.Stored {
		p.storeRows(columns)
		return p
	}
	vectors := kernel.VectorsOf[float64](kernel.Detect())
	all, inner := slices.Concat(columns...), make([]float64, count*count)
	parallel.Run(count, func(j int) { vectors.DotRows(inner[j*count:j*count+j+1], all[:(j+1)*rows], rows, columns[j]) })
	for j := range count {
		for k := range j {
			inner[k*count+j] = inner[j*count+k]
		}
	}
	p.Inner = func(j, k int) float64 { return inner[j*count+k] }
	p.Row = func(j int) []float64 { return inner[j*count : (j+1)*count] }
	return p
}

// storeRows sets Inner and Row for columns of which not all inner products are stored.
func (p *Products) storeRows(columns [][]float64) {
	count, rows, squares := len(columns), make([]atomic.Pointer[[]float64], len(columns)), make([]float64, len(columns))
	for j, column := range columns {
		squares[j] = floats.Dot(column, column)
	}
	all := sync.OnceValue(func() []float64 { return slices.Concat(columns...) })
	var lock sync.Mutex // held while a block of rows is computed
	kept := 0
	p.Inner = func(j, k int) float64 {
		if j == k {
			return squares[j]
		}
		if row := rows[j].Load(); row != nil {
			return (*row)[k]
		}
		if row := rows[k].Load(); row != nil {
			return (*row)[j]
		}
		return floats.Dot(columns[j], columns[k])
	}
	p.Row = func(j int) []float64 {
		if row := rows[j].Load(); row != nil {
			return *row
		}
		lock.Lock()
		defer lock.Unlock()
		if row := rows[j].Load(); row != nil {
			return *row
		}
		width, n := min(rowBlock, count), len(columns[j])
		if kept += width * count; kept > mostKept {
			width = 1
		}
		first := min(j/width*width, count-width)
		plan := kernel.NewProductPlan[float64](kernel.Detect(), count, n, width, nil, nil)
		products, shared, local := make([]float64, count*width), make([]float64, plan.SharedScratch()), make([]float64, plan.LocalScratch())
		block := kernel.Dense(all()[first*n:(first+width)*n], width, n)
		plan.Run(kernel.Dense(products, count, width), kernel.Dense(all(), count, n), block.Transpose(), false, shared, local)
		if kept > mostKept {
			return products
		}
		for k := range width {
			row := apply.UpTo(count, func(i int) float64 { return products[i*width+k] })
			rows[first+k].CompareAndSwap(nil, &row)
		}
		return *rows[j].Load()
	}
}

// factor returns the Cholesky factor L of X'X, where X has the given columns of the design, and
// L⁻¹X'y. ok is false if a pivot is at most the fraction share of its diagonal entry of X'X.
func (p *Products) factor(columns []int, share float64) (factor dense.Factor, y []float64, ok bool) {
	k := len(columns)
	inner, y := make([]float64, k*k), make([]float64, k)
	for a, j := range columns {
		for b, other := range columns[:a+1] {
			inner[a*k+b] = p.Inner(j, other)
		}
		y[a] = p.Linear[j]
	}
	if factor, ok = dense.Factorize(inner, k, share); ok {
		factor.SolveLower(y)
	}
	return factor, y, ok
}

// Beside returns a function that splits a column j of the design into its projection on the given
// columns and the residual. The function writes the projection's coordinates along the
// orthogonalised given columns, divided by the length of the residual, to projected. It returns the
// inner product of the residual, at unit length, with the response, and the length of the residual,
// both times root, the square root of the weight of all rows. Both are 0 if the squares of the
// residual are at most the fraction share of the squares of column j. The function is nil if a
// given column has such a small residual after projection on the columns before it.
func (p *Products) Beside(columns []int, share, root float64) func(j int, projected []float64) (along, length float64) {
	factor, y, ok := p.factor(columns, share)
	if !ok {
		return nil
	}
	return func(j int, projected []float64) (along, length float64) {
		for a, other := range columns {
			projected[a] = p.Inner(j, other)
		}
		factor.SolveLower(projected)
		square := p.Inner(j, j) - floats.Dot(projected, projected)
		if !(square > share*p.Inner(j, j)) {
			return 0, 0
		}
		length = math.Sqrt(square)
		along = root * (p.Linear[j] - floats.Dot(projected, y)) / length
		floats.Scale(1/length, projected)
		return along, root * length
	}
}

// Model replaces the given columns X of the design by few rows with the same inner products: the
// factor R of X = QR, and Q'y. The result left is the residual sum of squares |y − QQ'y|². ok is
// false if, after projection on earlier columns, a column retains at most the fraction leastPivot
// of its squares, or if left and the squares outside the rows are together at most the fraction
// leastLeft of the squares of y. The inner products then have lost digits that the rows still have.
func (p *Products) Model(columns []int) (r [][]float64, y []float64, left float64, ok bool) {
	factor, y, ok := p.factor(columns, p.leastPivot)
	if !ok {
		return nil, nil, 0, false
	}
	numbers := make([]float64, len(columns)*len(columns))
	r = make([][]float64, len(columns))
	for a := range columns {
		r[a] = numbers[a*len(columns) : (a+1)*len(columns)]
		for b := range a + 1 {
			r[a][b] = factor.At(a, b)
		}
	}
	left = math.Max(p.squares-floats.Dot(y, y), 0)
	return r, y, left, left+p.beyond > p.leastLeft*p.squares
}

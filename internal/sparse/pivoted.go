package sparse

import (
	"context"
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/internal/kernel"
	"github.com/transdim/vti/internal/parallel"
)

const (
	// pivotPanel is the number of pivots that are found before all remaining entries of the matrix
	// are updated by one matrix product. With fewer pivots the matrix is read more often; with
	// more, pivots take longer to find. BenchmarkFactorizePivoted takes 1.1 times as long with half
	// this number, and 1.05 times with twice.
	pivotPanel = 128
	// pivotShare is the share of columns that must have become pivots before these are removed from
	// the entries that are updated. With half and twice this share the time differs by less than a
	// twentieth.
	pivotShare = 0.1
)

// FactorizePivoted finds rows U with UᵀU = A for a positive semidefinite matrix [n·n]. The matrix
// is given with both triangles and is overwritten. The pivot of each row is the column with the
// largest remaining variance, and the row is zero in the columns of earlier pivots. The search ends
// when no remaining variance exceeds the argument least. The result left is the largest length of a
// row of A − UᵀU.
func FactorizePivoted(a []float64, n int, least float64) (rows [][]float64, pivots []int, left float64) {
	f := &pivoted{n: n, a: a, least: least}
	for c := range n {
		f.place, f.variance = append(f.place, c), append(f.variance, a[c*n+c])
	}
	for more := true; more && len(f.place) > 0; f.compact() {
		m := len(f.place)
		plan := kernel.NewProductPlan[float64](kernel.Detect(), m, pivotPanel, m, nil, nil)
		panel := make([]float64, pivotPanel*m)
		for taken := 0.0; more && taken <= pivotShare*float64(m); taken += pivotPanel {
			more = f.find(panel)
			f.update(plan, panel)
		}
	}
	for c := range f.place {
		left = math.Max(left, floats.Norm(a[c*n:][:len(f.place)], 2))
	}
	return f.rows, f.pivots, left
}

// pivoted holds the difference between a matrix and the products UᵀU of the rows found so far.
type pivoted struct {
	n      int
	a      []float64 // the difference [m, m], stored in rows of n elements
	least  float64
	place  []int // indices in the whole matrix of the m remaining columns
	rows   [][]float64
	pivots []int
	// variance is the diagonal of the difference a [m], with −∞ in the places of pivots.
	variance []float64
}

// find writes rows of the next pivots to panel, and zeros if there are no more.
func (f *pivoted) find(panel []float64) (more bool) {
	clear(panel)
	m := len(f.place)
	for k := range pivotPanel {
		at := floats.MaxIdx(f.variance)
		if !(f.variance[at] > f.least) {
			return false
		}
		row, whole := panel[k*m:(k+1)*m], make([]float64, f.n)
		copy(row, f.a[at*f.n:])
		for before := range k {
			floats.AddScaled(row, -panel[before*m+at], panel[before*m:(before+1)*m])
		}
		root := math.Sqrt(f.variance[at])
		for c, x := range row {
			switch row[c] = x / root; {
			case c == at:
				row[c] = root
			case math.IsInf(f.variance[c], -1):
				row[c] = 0
			}
			f.variance[c] -= row[c] * row[c]
			whole[f.place[c]] = row[c]
		}
		f.variance[at] = math.Inf(-1)
		f.rows, f.pivots = append(f.rows, whole), append(f.pivots, f.place[at])
	}
	return true
}

// update subtracts the products of the rows in a panel from a.
func (f *pivoted) update(plan *kernel.ProductPlan[float64], panel []float64) {
	m, minus := len(f.place), make([]float64, len(panel))
	floats.AddScaled(minus, -1, panel)
	left := kernel.Matrix[float64]{Data: f.a, Rows: m, Cols: m, RowStride: f.n, ColStride: 1}
	shared := make([]float64, plan.SharedScratch())
	for phase := range plan.Phases() {
		_ = parallel.Each(context.Background(), plan.Tasks(phase), func(int) func(int) error {
			local := make([]float64, plan.LocalScratch())
			return func(task int) error {
				plan.RunTask(phase, task, left, kernel.Dense(minus, pivotPanel, m).Transpose(), kernel.Dense(panel, pivotPanel, m), true, shared, local)
				return nil
			}
		})
	}
}

// compact removes the rows and columns of pivots from a.
func (f *pivoted) compact() {
	m := 0
	var kept []int
	for c, variance := range f.variance {
		if !math.IsInf(variance, -1) {
			kept = append(kept, c)
			f.place[m], f.variance[m] = f.place[c], variance
			m++
		}
	}
	f.place, f.variance = f.place[:m], f.variance[:m]
	for i, from := range kept {
		for j, c := range kept {
			f.a[i*f.n+j] = f.a[from*f.n+c]
		}
	}
}

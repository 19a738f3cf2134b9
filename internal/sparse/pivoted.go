package sparse

import (
	"context"
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/internal/kernel"
	"github.com/transdim/vti/internal/parallel"
)

const (
	// pivotPanel pivots are found before all other entries are updated by one product: fewer read
	// the matrix more often, more take longer to find. Not tuned.
	pivotPanel = 128
	// pivotShare is the share of columns after which pivots are removed from the entries that are
	// updated. Not tuned.
	pivotShare = 0.1
)

// FactorizePivoted finds rows U with U'U = A of a positive semidefinite matrix [n·n], given whole,
// which it overwrites. Each row belongs to the column with the largest variance left, its pivot,
// and is zero in the columns of pivots before, until no variance left exceeds least. left is the
// largest length of a row of A − U'U.
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

// pivoted is the difference of a matrix and the products of the rows so far.
type pivoted struct {
	n      int
	a      []float64 // the difference [m, m], in rows of n
	least  float64
	place  []int // in the whole matrix, of the m columns left
	rows   [][]float64
	pivots []int
	// variance is the diagonal of a [m], −∞ for pivots.
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

// update subtracts the products of the rows of a panel.
func (f *pivoted) update(plan *kernel.ProductPlan[float64], panel []float64) {
	m, minus := len(f.place), make([]float64, len(panel))
	floats.AddScaled(minus, -1, panel)
	left := kernel.Matrix[float64]{Data: f.a, Rows: m, Cols: m, RowStride: f.n, ColStride: 1}
	shared := make([]float64, plan.SharedScratch())
	for phase := range plan.Phases() {
		_ = parallel.Each(context.Background(), plan.Tasks(phase), func(int) func(int) error {
			local := make([]float64, plan.LocalScratch())
			return func(task int) error {
				plan.RunTask(phase, task, left, kernel.Dense(minus, pivotPanel, m).Transpose(), kernel.Dense(panel, pivotPanel, m), true, nil, shared, local)
				return nil
			}
		})
	}
}

// compact removes the rows and columns of pivots.
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

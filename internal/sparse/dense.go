package sparse

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"

	"github.com/transdim/vti/internal/kernel"
)

// denseColumns is the number of columns of the dense part that are factorised at once. With more
// columns, more of the work is done by the slow factorisation of the columns' diagonal block. 32
// was fastest in timings with 1,171 columns.
const denseColumns = 32

// densePanel holds the matrix products for a panel of denseColumns columns.
type densePanel struct {
	update *kernel.ProductPlan[float64] // subtracts products of earlier columns, if there are any
	divide *kernel.ProductPlan[float64] // divides rows below the diagonal block, if there are any
}

func densePanels(n int) (panels []densePanel) {
	for j := 0; j < n; j += denseColumns {
		width := min(denseColumns, n-j)
		var p densePanel
		if j > 0 {
			p.update = kernel.NewProductPlan[float64](kernel.Detect(), n-j, j, width, nil, nil)
		}
		if below := n - j - width; below > 0 {
			p.divide = kernel.NewProductPlan[float64](kernel.Detect(), below, width, width, nil, nil)
		}
		panels = append(panels, p)
	}
	return panels
}

// denseWorkspace is memory for factorizeDense: for copies of rows, for the inverse of a diagonal
// block, and for products.
type denseWorkspace struct{ rows, inverse, shared, local []float64 }

func newDenseWorkspace(panels []densePanel, n int) (w denseWorkspace) {
	if len(panels) < 2 {
		return w
	}
	shared, local := 0, 0
	for _, p := range panels {
		for _, plan := range []*kernel.ProductPlan[float64]{p.update, p.divide} {
			if plan != nil {
				shared, local = max(shared, plan.SharedScratch()), max(local, plan.LocalScratch())
			}
		}
	}
	return denseWorkspace{make([]float64, denseColumns*n), make([]float64, denseColumns*denseColumns), make([]float64, shared), make([]float64, local)}
}

// factorizeDense overwrites the lower triangle of a symmetric matrix [n, n] by its Cholesky factor.
// It takes one panel of columns after the other, and first subtracts the products of the columns
// before the panel. Rows below the panel's diagonal block are multiplied by the inverse of the
// block's factor; this product takes a quarter of the time of a triangular solution. It returns
// false if the matrix is not positive definite.
func (s *Symbolic) factorizeDense(a []float64, n int, w *workspace) (blas64.Triangular, bool) {
	whole := blas64.Triangular{N: n, Stride: max(n, 1), Data: a, Uplo: blas.Lower, Diag: blas.NonUnit}
	work, inverse := w.dense.rows, w.dense.inverse
	run := func(plan *kernel.ProductPlan[float64], to, left, right kernel.Matrix[float64], add bool) {
		plan.Run(to, left, right, add, w.dense.shared[:plan.SharedScratch()], w.dense.local[:plan.LocalScratch()])
	}
	for k, p := range s.panels {
		j := k * denseColumns
		width := min(denseColumns, n-j)
		if p.update != nil {
			minus := kernel.Dense(work[:width*j], width, j)
			for i := range width {
				for k, x := range a[(j+i)*n:][:j] {
					minus.Data[i*j+k] = -x
				}
			}
			panel := kernel.Matrix[float64]{Data: a[j*n+j:], Rows: n - j, Cols: width, RowStride: n, ColStride: 1}
			before := kernel.Matrix[float64]{Data: a[j*n:], Rows: n - j, Cols: j, RowStride: n, ColStride: 1}
			run(p.update, panel, before, minus.Transpose(), true)
		}
		corner, ok := lapack64.Potrf(blas64.Symmetric{N: width, Stride: n, Data: a[j*n+j:], Uplo: blas.Lower})
		if !ok {
			return whole, false
		}
		if p.divide == nil {
			continue
		}
		below := n - j - width
		clear(inverse)
		for i := range width {
			copy(inverse[i*width:][:i+1], corner.Data[i*n:])
		}
		if !lapack64.Trtri(blas64.Triangular{N: width, Stride: width, Data: inverse, Uplo: blas.Lower, Diag: blas.NonUnit}) {
			return whole, false
		}
		rows := kernel.Dense(work[:below*width], below, width)
		for i := range below {
			copy(rows.Data[i*width:][:width], a[(j+width+i)*n+j:])
		}
		panel := kernel.Matrix[float64]{Data: a[(j+width)*n+j:], Rows: below, Cols: width, RowStride: n, ColStride: 1}
		run(p.divide, panel, rows, kernel.Dense(inverse[:width*width], width, width).Transpose(), false)
	}
	return whole, true
}

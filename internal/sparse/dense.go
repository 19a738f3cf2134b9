package sparse

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"

	"github.com/transdim/vti/internal/kernel"
)

// denseColumns is the number of columns of the dense part that are factorised at once: of more,
// more work is left to the slow solution by the triangle of these columns. By hand, on 1,142
// columns: 16 to 64 are within a tenth of each other.
const denseColumns = 32

// densePlans are the products that bring each panel of columns but the first up to date.
func densePlans(n int) (plans []*kernel.ProductPlan[float64]) {
	for j := denseColumns; j < n; j += denseColumns {
		plans = append(plans, kernel.NewProductPlan[float64](kernel.Detect(), n-j, j, min(denseColumns, n-j), nil, nil))
	}
	return plans
}

// factorizeDense overwrites the lower triangle of a symmetric matrix [n, n] by its Cholesky factor,
// panel by panel, each after what the columns before take from it; false if it is not positive
// definite.
func (s *Symbolic) factorizeDense(a []float64, n int) (blas64.Triangular, bool) {
	whole := blas64.Triangular{N: n, Stride: max(n, 1), Data: a, Uplo: blas.Lower, Diag: blas.NonUnit}
	minus := make([]float64, denseColumns*n)
	for j := 0; j < n; j += denseColumns {
		width := min(denseColumns, n-j)
		if j > 0 {
			plan := s.plans[j/denseColumns-1]
			for i := range width {
				for k, x := range a[(j+i)*n:][:j] {
					minus[i*j+k] = -x
				}
			}
			panel := kernel.Matrix[float64]{Data: a[j*n+j:], Rows: n - j, Cols: width, RowStride: n, ColStride: 1}
			before := kernel.Matrix[float64]{Data: a[j*n:], Rows: n - j, Cols: j, RowStride: n, ColStride: 1}
			plan.Run(panel, before, kernel.Dense(minus[:width*j], width, j).Transpose(), true, nil,
				make([]float64, plan.SharedScratch()), make([]float64, plan.LocalScratch()))
		}
		corner, ok := lapack64.Potrf(blas64.Symmetric{N: width, Stride: n, Data: a[j*n+j:], Uplo: blas.Lower})
		if !ok {
			return whole, false
		}
		if below := n - j - width; below > 0 {
			blas64.Trsm(blas.Right, blas.Trans, 1, corner, blas64.General{Rows: below, Cols: width, Stride: n, Data: a[(j+width)*n+j:]})
		}
	}
	return whole, true
}

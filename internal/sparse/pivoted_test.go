package sparse

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/stream"
)

// TestPivoted compares the pivots and the rows with LAPACK's, for matrices of full and of lower
// rank. For an indefinite matrix it compares the result left with the most negative part of the
// matrix.
func TestPivoted(t *testing.T) {
	random := stream.Rand(1, "pivoted")
	for _, c := range []struct{ n, rank int }{{1, 1}, {5, 3}, {128, 128}, {300, 300}, {700, 290}} {
		root := mat.NewDense(c.rank, c.n, nil)
		for i := range c.rank {
			for j := range c.n {
				root.Set(i, j, random.NormFloat64()/math.Sqrt(float64(c.rank)))
			}
		}
		var whole mat.Dense
		whole.Mul(root.T(), root)
		a := whole.RawMatrix().Data
		order := make([]int, c.n)
		want, rank, _ := lapack64.Pstrf(blas64.Symmetric{N: c.n, Stride: c.n, Data: slices.Clone(a), Uplo: blas.Upper}, order, 1e-9, make([]float64, 2*c.n))
		require.Equal(t, c.rank, rank)
		rows, pivots, left := FactorizePivoted(slices.Clone(a), c.n, 1e-9)
		require.Len(t, rows, rank)
		require.Equal(t, order[:rank], pivots)
		require.Less(t, left, 1e-9)
		for k, row := range rows {
			for j := range c.n {
				upper := 0.0
				if j >= k {
					upper = want.Data[k*c.n+j]
				}
				require.InDelta(t, upper, row[order[j]], 1e-9, "row %d, column %d", k, j)
			}
		}
	}
	_, pivots, left := FactorizePivoted([]float64{1, 0, 0, 0, -2, 0.5, 0, 0.5, 0}, 3, 1e-9)
	require.Equal(t, []int{0}, pivots)
	require.InDelta(t, math.Sqrt(4.25), left, 1e-15)
	_, pivots, _ = FactorizePivoted(nil, 0, 1e-9)
	require.Empty(t, pivots)
}

// BenchmarkFactorizePivoted factorises a matrix of 2,000 columns and rank 1,000.
func BenchmarkFactorizePivoted(b *testing.B) {
	const n, rank = 2000, 1000
	random := stream.Rand(1, "pivoted")
	root := mat.NewDense(rank, n, nil)
	for i := range rank {
		for j := range n {
			root.Set(i, j, random.NormFloat64()/math.Sqrt(rank))
		}
	}
	var whole mat.Dense
	whole.Mul(root.T(), root)
	a := make([]float64, n*n)
	for b.Loop() {
		copy(a, whole.RawMatrix().Data)
		FactorizePivoted(a, n, 1e-9)
	}
}

//go:build unix

package kernel

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDotRows compares products of rows with sums in float64. The slices lie next to pages of
// memory that fault at every access. On all instruction sets with fused multiply-adds, the results
// must have the same bits.
func TestDotRows(t *testing.T) {
	t.Run("float32", testDotRows[float32])
	t.Run("float64", testDotRows[float64])
}

func testDotRows[T Float](t *testing.T) {
	const partialBytes = 256
	epsilon := map[int]float64{4: 0x1p-23, 8: 0x1p-52}[sizeOf[T]()]
	rng := rand.New(rand.NewPCG(27, 28))
	from, with := newGuarded(t), newGuarded(t)
	for n := range 160 {
		for rows := range 4 {
			stride := n + rng.IntN(3)
			a, x := slice[T](from, max(0, (rows-1)*stride+n), 0, n%2 == 0), slice[T](with, n, 0, n%3 == 0)
			for i := range a {
				a[i] = T(rng.NormFloat64())
			}
			for i := range x {
				x[i] = T(rng.NormFloat64())
			}
			var once []T // the results on the first instruction set with fused multiply-adds
			for _, isa := range Available() {
				dst := make([]T, rows)
				VectorsOf[T](isa).DotRows(dst, a, stride, x)
				for i, found := range dst {
					want, size := 0.0, 0.0
					for j, v := range x {
						term := float64(a[i*stride+j]) * float64(v)
						want, size = want+term, size+math.Abs(term)
					}
					// Each addition to a partial sum, each of the six additions between partial
					// sums, and the product have a rounding error of up to half a unit in the last
					// place.
					require.InDelta(t, want, float64(found), epsilon*size*(float64(n*sizeOf[T]())/partialBytes+8), "%v: row %d of %d, %d elements", isa, i, rows, n)
				}
				if isa == Portable {
					continue
				}
				if once == nil {
					once = dst
				}
				require.Equal(t, once, dst, "%v: %d elements", isa, n)
			}
		}
	}
}

func TestDotRowsChecksItsOperands(t *testing.T) {
	for _, isa := range Available() {
		dot := VectorsOf[float32](isa).DotRows
		dst := []float32{7, 7}
		dot(dst, nil, 0, nil)
		require.Equal(t, []float32{0, 0}, dst)
		require.Panics(t, func() { dot(dst, make([]float32, 5), 3, make([]float32, 3)) })
		require.Panics(t, func() { dot(dst, make([]float32, 5), -1, make([]float32, 1)) })
		dot(dst[:0], nil, 3, make([]float32, 3))
	}
}

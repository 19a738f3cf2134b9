//go:build unix

package kernel

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSoftplusColumns compares results with a computation in float64 that takes one logarithm per
// row. The slices lie next to pages of memory that fault at every access. The result for each
// column must have the same bits as the result for this column alone.
func TestSoftplusColumns(t *testing.T) {
	forEachISA(t, func(t *testing.T, isa ISA) {
		t.Run("float32", func(t *testing.T) { testSoftplusColumns[float32](t, isa, 0x1p-23) })
		t.Run("float64", func(t *testing.T) { testSoftplusColumns[float64](t, isa, 0x1p-52) })
	})
}

func testSoftplusColumns[T Float](t *testing.T, isa ISA, rounding float64) {
	v := VectorsOf[T](isa)
	rng := rand.New(rand.NewPCG(27, 28))
	to, from := newGuarded(t), newGuarded(t)
	for n := range 19 {
		for _, rows := range []int{0, 1, 2, 5, 25} {
			dst, a := slice[T](to, n, rng.IntN(3), n%2 == 0), slice[T](from, rows*n, 0, n%2 == 0)
			for i := range a {
				a[i] = T(rng.NormFloat64() * math.Pow(10, float64(rng.IntN(4)-1)))
			}
			want := make([]float64, n)
			for j := range dst {
				dst[j] = T(j)
				want[j] = float64(dst[j])
				for i := range rows {
					want[j] += softplus(float64(a[i*n+j]))
				}
			}
			v.SoftplusColumns(dst, a)
			for j := range dst {
				require.InDelta(t, want[j], float64(dst[j]), (want[j]+2)*float64(rows+2)*rounding, "%d rows of %d, column %d", rows, n, j)
				column := make([]T, rows)
				for i := range column {
					column[i] = a[i*n+j]
				}
				alone := []T{T(j)}
				v.SoftplusColumns(alone, column)
				require.True(t, sameBits(alone[0], dst[j]), "%d rows of %d, column %d: %v alone, %v", rows, n, j, alone[0], dst[j])
			}
		}
	}

	const many = 2500 // number of rows, so large that the product of all factors overflows
	zeros, sum := make([]T, 3*many), make([]T, 3)
	v.SoftplusColumns(sum, zeros)
	for _, s := range sum {
		require.InEpsilon(t, many*math.Ln2, float64(s), 30*rounding)
	}

	inf, nan := T(math.Inf(1)), T(math.NaN())
	for _, c := range []struct{ x, want T }{{-inf, 0}, {inf, inf}, {nan, nan}, {-1e30, 0}, {1e30, 1e30}} {
		found := []T{0}
		v.SoftplusColumns(found, []T{c.x})
		require.True(t, sameBits(found[0], c.want), "of %v: want %v, found %v", c.x, c.want, found[0])
	}
	require.Panics(t, func() { v.SoftplusColumns(make([]T, 2), make([]T, 3)) })
}

// softplus returns log(1 + exp x).
func softplus(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

//go:build unix

package kernel

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRows checks that the results of kernels on rows have the same bits as results in plain Go.
// The slices lie next to pages of memory that fault at every access.
func TestRows(t *testing.T) {
	forEachISA(t, func(t *testing.T, isa ISA) {
		t.Run("float32", func(t *testing.T) { testRows[float32](t, isa) })
		t.Run("float64", func(t *testing.T) { testRows[float64](t, isa) })
	})
}

func testRows[T Float](t *testing.T, isa ISA) {
	type kernel struct {
		f        func(dst, a []T)
		portable func(dst, a []T)
		length   func(rows, n int) (dst, a int)
	}
	v, p := VectorsOf[T](isa), portableVectors[T]()
	perRow := func(rows, n int) (int, int) { return rows, rows * n }
	kernels := map[string]kernel{
		"SumRows": {v.SumRows, p.SumRows, perRow},
		"MaxRows": {v.MaxRows, p.MaxRows, perRow},
		"MinRows": {v.MinRows, p.MinRows, perRow},
		"Spread":  {v.Spread, p.Spread, func(rows, n int) (int, int) { return rows * n, rows }},
	}
	rng := rand.New(rand.NewPCG(25, 26))
	to, from := newGuarded(t), newGuarded(t)
	for name, k := range kernels {
		for n := range 75 {
			for rows := range 7 {
				dstLength, aLength := k.length(rows, n)
				if dstLength == 0 || aLength == 0 {
					dstLength, aLength = 0, 0
				}
				dst, a := slice[T](to, dstLength, rng.IntN(3), n%2 == 0), slice[T](from, aLength, 0, n%2 == 0)
				want := make([]T, dstLength)
				for i := range a {
					a[i] = T(rng.NormFloat64())
					if rng.IntN(200) == 0 {
						a[i] = T(math.NaN())
					}
				}
				for i := range dst {
					dst[i] = T(rng.NormFloat64())
					want[i] = dst[i]
				}
				k.f(dst, a)
				k.portable(want, a)
				for i := range dst {
					require.True(t, sameBits(dst[i], want[i]), "%s of %d rows of %d, element %d: want %v, found %v",
						name, rows, n, i, want[i], dst[i])
				}
			}
		}
	}
}

func TestRowsOfNothing(t *testing.T) {
	for _, isa := range Available() {
		v := VectorsOf[float32](isa)
		dst := []float32{7, 7}
		v.SumRows(dst, nil)
		require.Equal(t, []float32{0, 0}, dst)
		v.MaxRows(dst, nil)
		require.Equal(t, float32(math.Inf(-1)), dst[1])
		require.Panics(t, func() { v.SumRows(dst, make([]float32, 5)) })
		require.Panics(t, func() { v.Spread(dst, nil) })
	}
}

// TestNothingIsAllocated checks that products and sines allocate no memory. Some angles are too
// large for the assembly code.
func TestNothingIsAllocated(t *testing.T) {
	for _, isa := range Available() {
		p := NewProductPlan[float32](isa, 130, 300, 70, nil, nil)
		shared, local := make([]float32, p.SharedScratch()), make([]float32, p.LocalScratch())
		a, b, c := newDense[float32](130, 300), newDense[float32](300, 70), newDense[float32](130, 70)
		v := VectorsOf[float32](isa)
		require.Zero(t, testing.AllocsPerRun(5, func() {
			p.Run(c, a, b, false, shared, local)
			v.MulScalar(c.Data, c.Data, 1e6)
			v.Sin(c.Data, c.Data)
		}))
	}
}

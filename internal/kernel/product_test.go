package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// randomMatrix returns a rows × cols matrix of random normal numbers in one of several layouts.
// Elements of its data that do not belong to the matrix are NaN.
func randomMatrix[T Float](rng *rand.Rand, rows, cols, layout int) Matrix[T] {
	x := Matrix[T]{Rows: rows, Cols: cols}
	size := 0
	switch layout % 4 {
	case 0: // by rows
		x.RowStride, x.ColStride, size = cols, 1, rows*cols
	case 1: // by columns
		x.RowStride, x.ColStride, size = 1, rows, rows*cols
	case 2: // by rows with gaps
		x.RowStride, x.ColStride, size = cols+3, 1, rows*(cols+3)
	case 3: // gaps everywhere
		x.RowStride, x.ColStride, size = 2*cols+1, 2, rows*(2*cols+1)
	}
	x.Data = make([]T, size)
	for i := range x.Data {
		x.Data[i] = T(math.NaN())
	}
	for i := range rows {
		for j := range cols {
			*x.element(i, j) = T(rng.NormFloat64())
		}
	}
	return x
}

// exactProduct holds the product a·b in float64 and a bound on the rounding errors of its
// computation in T. The bound is (number of terms + 2) times the unit roundoff times the sum of the
// absolute values of the terms; 2 stands for the start and a margin.
type exactProduct struct {
	value, bound []float64
	roundoff     float64 // unit roundoff times (number of terms + 2)
}

func newExactProduct[T Float](a, b Matrix[T]) exactProduct {
	e := exactProduct{make([]float64, a.Rows*b.Cols), make([]float64, a.Rows*b.Cols), math.Pow(2, -24)}
	if sizeOf[T]() == 8 {
		e.roundoff = math.Pow(2, -53)
	}
	e.roundoff *= float64(a.Cols + 2)
	for i := range a.Rows {
		for p := range a.Cols {
			x := float64(*a.element(i, p))
			for j := range b.Cols {
				y := x * float64(b.Data[p*b.RowStride+j*b.ColStride])
				e.value[i*b.Cols+j] += y
				e.bound[i*b.Cols+j] += math.Abs(y) * e.roundoff
			}
		}
	}
	return e
}

// requireProduct compares c with the sum of start and the exact product. Elements that are not
// needed may be 0.
func requireProduct[T Float](t *testing.T, c, start Matrix[T], exact exactProduct, needed []bool, message string) {
	t.Helper()
	for i := range c.Rows {
		for j := range c.Cols {
			want, bound := exact.value[i*c.Cols+j], exact.bound[i*c.Cols+j]
			if start.Data != nil {
				x := float64(*start.element(i, j))
				want += x
				bound += math.Abs(x) * exact.roundoff
			}
			found := float64(*c.element(i, j))
			if needed != nil && !needed[i*c.Cols+j] && found == 0 {
				continue
			}
			if !(math.Abs(found-want) <= bound) {
				t.Fatalf("%s: element (%d, %d): want %v, found %v", message, i, j, want, found)
			}
		}
	}
}

// runProduct runs the tasks of each phase of a product in random order, with scratch memory that is
// filled with NaN.
func runProduct[T Float](rng *rand.Rand, p *ProductPlan[T], c, a, b Matrix[T], accumulate bool) {
	shared, local := make([]T, p.SharedScratch()), make([]T, p.LocalScratch())
	for i := range shared {
		shared[i] = T(math.NaN())
	}
	for phase := range p.Phases() {
		for _, task := range rng.Perm(p.Tasks(phase)) {
			for i := range local {
				local[i] = T(math.NaN())
			}
			p.RunTask(phase, task, c, a, b, accumulate, shared, local)
		}
	}
}

func forEachISA(t *testing.T, test func(t *testing.T, isa ISA)) {
	for _, isa := range Available() {
		t.Run(isa.String(), func(t *testing.T) { test(t, isa) })
	}
}

func TestProduct(t *testing.T) {
	forEachISA(t, func(t *testing.T, isa ISA) {
		t.Run("float32", func(t *testing.T) { testProduct[float32](t, isa) })
		t.Run("float64", func(t *testing.T) { testProduct[float64](t, isa) })
	})
}

func testProduct[T Float](t *testing.T, isa ISA) {
	rng := rand.New(rand.NewPCG(1, 2))
	sizes := [][3]int{{0, 3, 4}, {3, 0, 4}, {3, 4, 0}, {1, 1, 1}, {1, 300, 70}, {100, 7, 16}, {128, 16, 16}, {37, 16, 33},
		{16, 600, 24}, {61, 257, 129}, {130, 70, 200}, {13, 513, 40}}
	for range 40 {
		sizes = append(sizes, [3]int{rng.IntN(50), rng.IntN(50), rng.IntN(80)})
	}
	for _, s := range sizes {
		m, k, n := s[0], s[1], s[2]
		layout := rng.IntN(16)
		a, b := randomMatrix[T](rng, m, k, layout), randomMatrix[T](rng, k, n, layout/4)
		c := randomMatrix[T](rng, m, n, 2*rng.IntN(2))
		message := fmt.Sprintf("%v, layout %d", s, layout)
		p := NewProductPlan[T](isa, m, k, n, nil, nil)
		require.Equal(t, m*k*n, p.Work())

		exact := newExactProduct(a, b)
		start := c
		start.Data = append([]T(nil), c.Data...)
		runProduct(rng, p, c, a, b, true)
		requireProduct(t, c, start, exact, nil, message+", accumulated")
		runProduct(rng, p, c, a, b, false)
		requireProduct(t, c, Matrix[T]{}, exact, nil, message)
		for i := range m {
			for j := n; j < c.RowStride && i*c.RowStride+j < len(c.Data); j++ {
				if x := c.Data[i*c.RowStride+j]; x == x {
					t.Fatalf("%s: gap written", message)
				}
			}
		}
	}
}

func TestProductMasks(t *testing.T) {
	forEachISA(t, func(t *testing.T, isa ISA) {
		rng := rand.New(rand.NewPCG(3, 4))
		for range 30 {
			m, k, n := 1+rng.IntN(200), 1+rng.IntN(600), 1+rng.IntN(200)
			a, b := randomMatrix[float32](rng, m, k, 0), randomMatrix[float32](rng, k, n, 1)
			rhs, out := make([]bool, k*n), make([]bool, m*n)
			kind := rng.IntN(3)
			for i := range k {
				for j := range n {
					switch kind {
					case 0: // block triangular
						rhs[i*n+j] = i*n/k >= j/7*7
					case 1: // a band; the first columns are 0
						rhs[i*n+j] = j > 40 && i%90 < j/2
					case 2:
						rhs[i*n+j] = rng.IntN(4*n) == 0
					}
					if !rhs[i*n+j] {
						*b.element(i, j) = 0
					}
				}
			}
			for i := range out {
				out[i] = kind != 2 && i%n < i/n || rng.IntN(4000) == 0
			}
			c := randomMatrix[float32](rng, m, n, 0)
			exact := newExactProduct(a, b)
			for _, masks := range [][2][]bool{{rhs, nil}, {nil, out}, {rhs, out}} {
				p := NewProductPlan[float32](isa, m, k, n, masks[0], masks[1])
				require.LessOrEqual(t, p.Work(), m*k*n)
				message := fmt.Sprintf("[%d, %d]·[%d, %d], kind %d", m, k, k, n, kind)
				runProduct(rng, p, c, a, b, false)
				requireProduct(t, c, Matrix[float32]{}, exact, masks[1], message)
			}
		}
	})
}

func TestProductSkipsHalfOfTriangle(t *testing.T) {
	const n = 512
	mask := make([]bool, n*n)
	for i := range mask {
		mask[i] = i/n >= i%n
	}
	forEachISA(t, func(t *testing.T, isa ISA) {
		p := NewProductPlan[float32](isa, n, n, n, mask, nil)
		require.Less(t, p.Work(), n*n*n*6/10)
		p = NewProductPlan[float32](isa, n, n, n, nil, mask)
		require.Less(t, p.Work(), n*n*n*6/10)
	})
}

func TestRunTaskPanics(t *testing.T) {
	p := NewProductPlan[float64](Portable, 2, 3, 4, nil, nil)
	a, b, c := Dense(make([]float64, 6), 2, 3), Dense(make([]float64, 12), 3, 4), Dense(make([]float64, 8), 2, 4)
	local := make([]float64, p.LocalScratch())
	run := func(c, a, b Matrix[float64], local []float64) func() {
		return func() { p.RunTask(0, 0, c, a, b, false, nil, local) }
	}
	require.NotPanics(t, run(c, a, b, local))
	require.Panics(t, run(c, b, a, local))
	require.Panics(t, run(c, a, b, nil))
	short := a
	short.Data = a.Data[:5]
	require.Panics(t, run(c, short, b, local))
	wide := c
	wide.ColStride = 2
	require.Panics(t, run(wide, a, b, local))
	require.Panics(t, func() { NewProductPlan[float64](Portable, 2, 3, 4, make([]bool, 11), nil) })
}

// TestProductIsDeterministic checks that the bits of a product do not depend on how the work is
// divided. It computes blocks of the product separately, so that their elements have other places
// in tiles, panels and tasks, and it runs tasks in another order.
func TestProductIsDeterministic(t *testing.T) {
	forEachISA(t, func(t *testing.T, isa ISA) {
		rng := rand.New(rand.NewPCG(27, 28))
		const m, k, n = 150, 530, 140
		a, b, c := newDense[float32](m, k), newDense[float32](k, n), newDense[float32](m, n)
		runProduct(rng, NewProductPlan[float32](isa, m, k, n, nil, nil), c, a, b, false)
		for range 20 {
			row, col := rng.IntN(m), rng.IntN(n)
			rows, cols := 1+rng.IntN(m-row), 1+rng.IntN(n-col)
			p := NewProductPlan[float32](isa, rows, k, cols, nil, nil)
			block := newDense[float32](rows, cols)
			runProduct(rng, p, block, Matrix[float32]{a.Data[row*k:], rows, k, k, 1},
				Matrix[float32]{b.Data[col:], k, cols, n, 1}, false)
			for i := range rows {
				for j := range cols {
					require.Equal(t, *c.element(row+i, col+j), *block.element(i, j))
				}
			}
		}
	})
}

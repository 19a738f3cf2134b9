//go:build unix

package kernel

import (
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// guarded is a page of memory between two pages that fault at every access.
type guarded struct {
	bytes []byte
}

// window returns the part of guarded memory in which slice places its slices, at the beginning or
// the end of the page.
func (g guarded) window(atEnd bool) []byte {
	const size = 1024
	if atEnd {
		return g.bytes[len(g.bytes)-size:]
	}
	return g.bytes[:size]
}

func newGuarded(t *testing.T) guarded {
	t.Helper()
	page := unix.Getpagesize()
	all, err := unix.Mmap(-1, 0, 3*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, unix.Munmap(all)) })
	require.NoError(t, unix.Mprotect(all[:page], unix.PROT_NONE))
	require.NoError(t, unix.Mprotect(all[2*page:], unix.PROT_NONE))
	return guarded{all[page : 2*page]}
}

// slice returns n elements of guarded memory, a page between pages that fault at every access. The
// elements begin offset elements after the start of the page or, if atEnd is true, end offset
// elements before its end.
func slice[E any](g guarded, n, offset int, atEnd bool) []E {
	size := int(unsafe.Sizeof(*new(E)))
	start := offset * size
	if atEnd {
		start = len(g.bytes) - (n+offset)*size
	}
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*E)(unsafe.Pointer(&g.bytes[start])), n)
}

// TestGuardedMemoryFaults checks that accesses outside of guarded memory fault, so that the tests
// below can fail.
func TestGuardedMemoryFaults(t *testing.T) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	g := newGuarded(t)
	last := slice[float32](g, 4, 0, true)
	require.Panics(t, func() { VectorsOf[float32](Portable).Sum(unsafe.Slice(&last[0], 5)) })
	first := slice[float32](g, 4, 0, false)
	before := (*float32)(unsafe.Add(unsafe.Pointer(&first[0]), -4))
	require.Panics(t, func() { VectorsOf[float32](Portable).Sum(unsafe.Slice(before, 4)) })
}

// canary is the value of bytes of memory to which nothing has been written.
const canary = 0xa5

// TestVectorsStayInside runs all kernels on slices of all short lengths at both ends of guarded
// memory, with different alignments. Bytes with a known value next to the slices (canaries) must
// not change. The results must have the same bits as the results of a call for each element alone.
func TestVectorsStayInside(t *testing.T) {
	forEachISA(t, func(t *testing.T, isa ISA) {
		t.Run("float32", func(t *testing.T) { testVectorsStayInside[float32](t, isa) })
		t.Run("float64", func(t *testing.T) { testVectorsStayInside[float64](t, isa) })
	})
}

func testVectorsStayInside[T Float](t *testing.T, isa ISA) {
	const longest = 70
	rng := rand.New(rand.NewPCG(11, 12))
	memory := make([]guarded, 5)
	for i := range memory {
		memory[i] = newGuarded(t)
	}
	values := make([]T, 2*longest)
	for i := range values {
		values[i] = T(rng.NormFloat64() * 3)
		if i%7 == 0 {
			values[i] = specials[T]()[i/7]
		}
	}
	for name, run := range kernels(VectorsOf[T](isa)) {
		alone := operands[T]{make([]T, longest), values[:longest], values[longest:],
			make([]bool, longest), make([]bool, longest), 1.5}
		for i := range longest {
			alone.cond[i] = rng.IntN(2) == 0
			x := alone
			x.dst, x.a, x.b = alone.dst[i:i+1], alone.a[i:i+1], alone.b[i:i+1]
			x.bools, x.cond = alone.bools[i:i+1], alone.cond[i:i+1]
			run(x)
		}
		reduction := name == "Sum" || name == "MaxOf" || name == "MinOf"
		for n := range longest + 1 {
			for _, offset := range []int{0, 1, 2, 7} {
				for _, atEnd := range []bool{false, true} {
					for _, m := range memory {
						window := m.window(atEnd)
						for i := range window {
							window[i] = canary
						}
					}
					x := operands[T]{slice[T](memory[0], n, offset, atEnd), slice[T](memory[1], n, offset, atEnd),
						slice[T](memory[2], n, offset/2, atEnd), slice[bool](memory[3], n, offset, atEnd),
						slice[bool](memory[4], n, offset, atEnd), alone.s}
					copy(x.a, alone.a)
					copy(x.b, alone.b)
					copy(x.cond, alone.cond)
					run(x)
					where := func() string {
						return fmt.Sprintf("%s, length %d, offset %d, at end %v", name, n, offset, atEnd)
					}
					if !reduction {
						requireResults(t, x, alone, where)
					}
					clear(x.dst)
					clear(x.bools)
					requireCanaries(t, memory[0].window(atEnd), n*sizeOf[T](), where)
					requireCanaries(t, memory[3].window(atEnd), n, where)
				}
			}
		}
	}
}

// requireResults compares the results of a call, in dst or in bools, with the expected results.
func requireResults[T Float](t *testing.T, x, want operands[T], where func() string) {
	t.Helper()
	written := len(x.bools) == 0 || *(*byte)(unsafe.Pointer(&x.bools[0])) == canary
	for i := range x.dst {
		if written && !sameBits(x.dst[i], want.dst[i]) {
			t.Fatalf("%s: element %d: want %v, found %v", where(), i, want.dst[i], x.dst[i])
		}
		if b := *(*byte)(unsafe.Pointer(&x.bools[i])); !written && (b > 1 || x.bools[i] != want.bools[i]) {
			t.Fatalf("%s: element %d: want %v, found byte %d", where(), i, want.bools[i], b)
		}
	}
}

// requireCanaries checks that all bytes of window are canaries, except for some cleared bytes.
func requireCanaries(t *testing.T, window []byte, cleared int, where func() string) {
	t.Helper()
	changed := 0
	for _, b := range window {
		if b != canary {
			changed++
		}
	}
	if changed != cleared {
		t.Fatalf("%s: want %d bytes written, found %d", where(), cleared, changed)
	}
}

// TestProductsStayInside checks that small products access no memory beyond their three matrices.
// The matrices are at both ends of guarded memory, where such an access faults.
func TestProductsStayInside(t *testing.T) {
	forEachISA(t, func(t *testing.T, isa ISA) {
		t.Run("float32", func(t *testing.T) { testProductsStayInside[float32](t, isa) })
		t.Run("float64", func(t *testing.T) { testProductsStayInside[float64](t, isa) })
	})
}

func testProductsStayInside[T Float](t *testing.T, isa ISA) {
	rng := rand.New(rand.NewPCG(13, 14))
	memory := []guarded{newGuarded(t), newGuarded(t), newGuarded(t)}
	for range 300 {
		m, k, n := 1+rng.IntN(14), 1+rng.IntN(12), 1+rng.IntN(34)
		if rng.IntN(3) == 0 {
			n = 16 * (1 + rng.IntN(2)) // whole vectors, read in place
		}
		atEnd := rng.IntN(2) == 0
		c := Dense(slice[T](memory[0], m*n, 0, atEnd), m, n)
		a := Dense(slice[T](memory[1], m*k, 0, atEnd), m, k)
		b := Dense(slice[T](memory[2], k*n, 0, atEnd), k, n)
		for _, x := range [][]T{a.Data, b.Data} {
			for i := range x {
				x[i] = T(rng.NormFloat64())
			}
		}
		p := NewProductPlan[T](isa, m, k, n, nil, nil)
		runProduct(rng, p, c, a, b, false)
		requireProduct(t, c, Matrix[T]{}, newExactProduct(a, b), nil, fmt.Sprintf("%d %d %d", m, k, n))
	}
}

// TestTransposeStaysInside checks that transposing and copying access no memory beyond the
// matrices, which are at both ends of guarded memory.
func TestTransposeStaysInside(t *testing.T) {
	forEachISA(t, func(t *testing.T, isa ISA) {
		t.Run("float32", func(t *testing.T) { testTransposeStaysInside[float32](t, isa) })
		t.Run("float64", func(t *testing.T) { testTransposeStaysInside[float64](t, isa) })
	})
}

func testTransposeStaysInside[T Float](t *testing.T, isa ISA) {
	rng := rand.New(rand.NewPCG(19, 20))
	to, from, copied := newGuarded(t), newGuarded(t), newGuarded(t)
	for range 300 {
		rows, cols := rng.IntN(19), rng.IntN(19)
		dstStride, srcStride := rows+rng.IntN(3), cols+rng.IntN(3)
		atEnd := rng.IntN(2) == 0
		// The slices end with the last element of the last row of each matrix.
		dst := slice[T](to, max(0, (cols-1)*dstStride+rows), 0, atEnd)
		src := slice[T](from, max(0, (rows-1)*srcStride+cols), 0, atEnd)
		for i := range src {
			src[i] = T(rng.NormFloat64())
		}
		for i := range dst {
			dst[i] = -7
		}
		VectorsOf[T](isa).Transpose(dst, dstStride, src, srcStride, rows, cols)
		for k, x := range dst {
			want := T(-7) // the value in a gap between rows
			if j, i := k/max(1, dstStride), k%max(1, dstStride); i < rows {
				want = src[i*srcStride+j]
			}
			require.Equal(t, want, x, "[%d, %d], strides %d, %d, element %d", rows, cols, dstStride, srcStride, k)
		}

		back := slice[T](copied, max(0, (rows-1)*srcStride+cols), 0, atEnd)
		for i := range back {
			back[i] = -7
		}
		VectorsOf[T](isa).CopyRows(back, srcStride, src, srcStride, rows, cols)
		for k, x := range back {
			want := T(-7)
			if k%max(1, srcStride) < cols {
				want = src[k]
			}
			require.Equal(t, want, x, "[%d, %d], stride %d, element %d", rows, cols, srcStride, k)
		}
	}
}

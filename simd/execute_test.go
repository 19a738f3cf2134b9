package simd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/stretchr/testify/require"
)

// compiled builds a computation of float32 parameters of shapes dims with the raw builder.
func compiled(t testing.TB, b *Backend, dims [][]int, f func(b *Builder, in []backends.Op) []backends.Op) backends.Executable {
	builder := b.Builder(t.Name()).(*Builder)
	var in []backends.Op
	for i, d := range dims {
		op, err := builder.Parameter(fmt.Sprint("x", i), shapes.Make(dtypes.Float32, d...), nil)
		require.NoError(t, err)
		in = append(in, op)
	}
	e, err := builder.Compile(f(builder, in), nil)
	require.NoError(t, err)
	return e
}

func must(t testing.TB) func(op backends.Op, err error) backends.Op {
	return func(op backends.Op, err error) backends.Op {
		require.NoError(t, err)
		return op
	}
}

func buffer32(t testing.TB, b *Backend, data []float32, dims ...int) backends.Buffer {
	buffer, err := b.BufferFromFlatData(0, data, shapes.Make(dtypes.Float32, dims...))
	require.NoError(t, err)
	return buffer
}

func data32(t testing.TB, b *Backend, buffer backends.Buffer) []float32 {
	flat, err := b.BufferData(buffer)
	require.NoError(t, err)
	return flat.([]float32)
}

// TestThreadsDoNotChangeResults checks that a training pass gives the same bits with 1, 2, 3 and 8
// threads. The pass has all kinds of steps that divide their work into tasks.
func TestThreadsDoNotChangeResults(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	s := madeSize{2, 2, 64, 5}
	var want []*tensors.Tensor
	for _, procs := range []int{1, 2, 3, 8} {
		runtime.GOMAXPROCS(procs)
		got := execMADE(t, newBackend(t, ""), s)()
		if want == nil {
			want = got
			continue
		}
		for i := range want {
			require.True(t, want[i].Equal(got[i]), "output %d differs with GOMAXPROCS=%d", i, procs)
		}
	}
}

func TestMADEAgainstGo(t *testing.T) {
	reference, err := backends.NewWithConfig("go:ops_sequential")
	require.NoError(t, err)
	s := madeSize{1, 1, 16, 2}
	want := execMADENoSlice(t, reference, s)
	for _, config := range configs() {
		got := execMADENoSlice(t, newBackend(t, config), s)
		for i := range want {
			require.True(t, want[i].InDelta(got[i], 2e-5), "%s: output %d", config, i)
		}
	}
}

// execMADENoSlice computes a loss of two masked layers and its gradients. It uses no slice, since
// the Go backend cannot compute the gradient of a slice.
func execMADENoSlice(t testing.TB, b backends.Backend, s madeSize) []*tensors.Tensor {
	rng := rand.New(rand.NewPCG(1, 1))
	x := make([]float32, 64*s.width)
	w := make([]float32, s.width*s.width)
	for _, data := range [][]float32{x, w} {
		for i := range data {
			data[i] = float32(rng.NormFloat64())
		}
	}
	exec, err := NewExec(b, func(x, w *Node) []*Node {
		degree := func(i int) int { return i / 3 }
		mask := Const(x.Graph(), madeMask(s.width, s.width, degree, degree, false))
		y := Tanh(MatMul(x, Mul(w, mask)))
		loss := ReduceAllMean(Square(MatMul(y, Mul(w, mask))))
		return append([]*Node{loss}, Gradient(loss, x, w)...)
	})
	require.NoError(t, err)
	return exec.MustExec(tensors.FromFlatDataAndDimensions(x, 64, s.width), tensors.FromFlatDataAndDimensions(w, s.width, s.width))
}

// TestMasksAreFound checks that the products of a masked layer and its gradients skip zero blocks.
func TestMasksAreFound(t *testing.T) {
	b := newBackend(t, "threads=1")
	const width = 128
	shares := map[string]float64{}
	b.observe = func(p *program) {
		for _, s := range p.steps {
			if q, ok := s.step.(*productStep[float32]); ok {
				shares[fmt.Sprint(q.m, q.lhs.cols, q.n)+fmt.Sprint(q.rhs.rowStride)] = float64(q.plan.Work()) / float64(q.m*q.lhs.cols*q.n)
			}
		}
	}
	exec, err := NewExec(b, func(x, w *Node) []*Node {
		degree := func(i int) int { return i / 16 }
		mask := Const(x.Graph(), madeMask(width, width, degree, degree, false))
		loss := ReduceAllSum(Square(MatMul(x, Mul(w, mask))))
		return Gradient(loss, x, w)
	})
	require.NoError(t, err)
	exec.MustExec(tensors.FromShape(shapes.Make(dtypes.Float32, 256, width)), tensors.FromShape(shapes.Make(dtypes.Float32, width, width)))
	require.Len(t, shares, 3)
	for name, share := range shares {
		require.Less(t, share, 0.8, name) // more than a half, because blocks on the diagonal are half full
	}
}

// TestNoAllocation checks that an execution after the first ones allocates only its outputs.
func TestNoAllocation(t *testing.T) {
	b := newBackend(t, "threads=1")
	ok := must(t)
	e := compiled(t, b, [][]int{{256, 128}, {128, 64}}, func(b *Builder, in []backends.Op) []backends.Op {
		y := ok(b.Tanh(ok(b.Dot(in[0], in[1]))))
		z := ok(b.Mul(ok(b.Transpose(y, 1, 0)), ok(b.Transpose(y, 1, 0))))
		return []backends.Op{ok(b.ReduceSum(z, 0)), ok(b.ReduceSum(y, 0)), ok(b.Concatenate(0, z, z))}
	})
	in := []backends.Buffer{buffer32(t, b, make([]float32, 256*128), 256, 128), buffer32(t, b, make([]float32, 128*64), 128, 64)}
	execute := func() {
		out, err := e.Execute(in, nil, 0)
		require.NoError(t, err)
		for _, o := range out {
			require.NoError(t, b.BufferFinalize(o))
		}
	}
	execute()
	// Each output needs a buffer and a place in the list of outputs; the memory of its elements is
	// reused.
	require.LessOrEqual(t, testing.AllocsPerRun(100, execute), 8.0)
}

// TestManyExecutions checks results of one computation in many goroutines, and fails on a deadlock.
func TestManyExecutions(t *testing.T) {
	count := 10_000
	if testing.Short() {
		count = 800
	}
	const goroutines = 8
	b := newBackend(t, "threads=4")
	ok := must(t)
	e := compiled(t, b, [][]int{{64, 96}, {96, 80}}, func(b *Builder, in []backends.Op) []backends.Op {
		y := ok(b.Exp(ok(b.Neg(ok(b.Abs(ok(b.Dot(in[0], in[1]))))))))
		return []backends.Op{ok(b.ReduceSum(y)), ok(b.ReduceMax(y, 0)), y}
	})
	rng := rand.New(rand.NewPCG(1, 2))
	var inputs [][]backends.Buffer
	var want [][]float32
	for range goroutines {
		var in []backends.Buffer
		for _, dims := range [][]int{{64, 96}, {96, 80}} {
			data := make([]float32, product(dims))
			for i := range data {
				data[i] = float32(rng.NormFloat64())
			}
			in = append(in, buffer32(t, b, data, dims...))
		}
		out, err := e.Execute(in, nil, 0)
		require.NoError(t, err)
		inputs, want = append(inputs, in), append(want, slices.Clone(data32(t, b, out[2])))
	}
	var group sync.WaitGroup
	for i := range goroutines {
		group.Go(func() {
			for range count / goroutines {
				out, err := e.Execute(inputs[i], nil, 0)
				if err != nil || !slices.Equal(want[i], data32(t, b, out[2])) {
					t.Errorf("goroutine %d: wrong result or error %v", i, err)
					return
				}
				for _, o := range out {
					_ = b.BufferFinalize(o)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { group.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(2 * time.Minute):
		t.Fatal("executions did not end: deadlock")
	}
}

func TestDonation(t *testing.T) {
	b := newBackend(t, "")
	ok := must(t)
	e := compiled(t, b, [][]int{{1000}, {1000}}, func(b *Builder, in []backends.Op) []backends.Op {
		return []backends.Op{ok(b.Add(in[0], in[1]))}
	})
	data := make([]float32, 1000)
	for i := range data {
		data[i] = float32(i)
	}
	x, y := buffer32(t, b, data, 1000), buffer32(t, b, data, 1000)
	memory := &data32(t, b, x)[0]
	out, err := e.Execute([]backends.Buffer{x, y}, []bool{true, false}, 0)
	require.NoError(t, err)
	require.Same(t, memory, &data32(t, b, out[0])[0], "the output takes over the donated input")
	require.Equal(t, float32(2*999), data32(t, b, out[0])[999])
	_, err = b.BufferData(x)
	require.ErrorContains(t, err, "donated")
	_, err = e.Execute([]backends.Buffer{x, y}, nil, 0)
	require.Error(t, err, "a donated buffer is gone")

	// Pass the same buffer as two inputs and donate one of these: it must not be overwritten while
	// it is read, and its memory must not be reused early.
	z := buffer32(t, b, data, 1000)
	out, err = e.Execute([]backends.Buffer{z, z}, []bool{true, false}, 0)
	require.NoError(t, err)
	require.Equal(t, float32(2*999), data32(t, b, out[0])[999])

	shared, flat, err := b.NewSharedBuffer(0, shapes.Make(dtypes.Float32, 1000))
	require.NoError(t, err)
	flat.([]float32)[5] = 7
	out, err = e.Execute([]backends.Buffer{shared, y}, []bool{true, false}, 0)
	require.NoError(t, err)
	require.Equal(t, float32(12), data32(t, b, out[0])[5])
	require.Equal(t, float32(7), flat.([]float32)[5], "shared memory is never overwritten")
}

// TestArena checks that the arena is hardly larger than the temporaries in use at one time.
func TestArena(t *testing.T) {
	b := newBackend(t, "threads=1")
	var p *program
	b.observe = func(compiled *program) { p = compiled }
	execMADE(t, b, madeSize{2, 3, 64, 5})()
	peak := 0
	for i := range p.steps {
		live := 0
		for _, v := range p.values {
			if v.kind == temporary && v.firstStep >= 0 && v.firstStep <= i && i <= v.lastStep {
				live += v.bytes()
			}
		}
		peak = max(peak, live)
	}
	require.LessOrEqual(t, float64(p.arenaSize), 1.3*float64(peak))
}

func TestGradients(t *testing.T) {
	b := newBackend(t, "")
	f := func(x, w *Node) *Node {
		g := x.Graph()
		h := MatMul(x, Mul(w, Const(g, [][]float64{{1, 0, 1}, {1, 1, 0}, {0, 1, 1}, {1, 1, 1}})))
		rows := Const(g, [][]int32{{3}, {0}, {3}, {1}})
		h = Add(Tanh(h), Mul(Gather(h, rows), Exp(Neg(Square(h)))))
		left := Slice(h, AxisRange(), AxisRange(0, 2))
		right := Slice(h, AxisRange(), AxisRange(1, 3))
		h = Concatenate([]*Node{left, Log1P(Square(right)), Transpose(Slice(h, AxisRange(0, 2), AxisRange(0, 2)), 0, 1)}, 0)
		return Add(ReduceAllSum(Mul(h, Logistic(h))), ReduceAllSum(Softmax(h)))
	}
	value, err := NewExec(b, f)
	require.NoError(t, err)
	gradient, err := NewExec(b, func(x, w *Node) []*Node { return Gradient(f(x, w), x, w) })
	require.NoError(t, err)
	rng := rand.New(rand.NewPCG(9, 9))
	args := [2][]float64{make([]float64, 16), make([]float64, 12)}
	for _, a := range args {
		for i := range a {
			a[i] = rng.NormFloat64()
		}
	}
	tensorsOf := func() []any {
		return []any{tensors.FromFlatDataAndDimensions(args[0], 4, 4), tensors.FromFlatDataAndDimensions(args[1], 4, 3)}
	}
	got := gradient.MustExec(tensorsOf()...)
	const h = 1e-5 // step of central differences: their error is about h² = 1e-10, and rounding adds 1e-16/h = 1e-11
	for k := range args {
		analytic := tensors.MustCopyFlatData[float64](got[k])
		for i := range args[k] {
			original := args[k][i]
			args[k][i] = original + h
			above := value.MustExec(tensorsOf()...)[0].Value().(float64)
			args[k][i] = original - h
			below := value.MustExec(tensorsOf()...)[0].Value().(float64)
			args[k][i] = original
			require.InDelta(t, (above-below)/(2*h), analytic[i], 1e-7*math.Max(1, math.Abs(analytic[i])))
		}
	}
}

package simd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/internal/kernel"
)

// randomGraph is a random graph together with the values that the naive interpreter computes for
// its nodes. All its numbers are floats of one type; every operation has a Lipschitz constant of
// about 1, so that rounding does not grow much.
type randomGraph struct {
	rng     *rand.Rand
	dtype   dtypes.DType
	inputs  []array
	steps   []func(b backends.Builder, values []backends.Op) (backends.Op, error)
	values  []array
	outputs []int
}

func newRandomGraph(seed uint64, size int, dtype dtypes.DType) *randomGraph {
	g := &randomGraph{rng: rand.New(rand.NewPCG(seed, 7)), dtype: dtype}
	for range 2 + g.rng.IntN(3) {
		dims := [][]int{{}, {6}, {4, 6}, {4, 1}, {1, 6}, {64, 6}, {2, 3, 4}, {1, 1}, {3, 700}, {3000}}[g.rng.IntN(10)]
		a := newArray(dims...).fill(func([]int) float64 { return float64(float32(g.rng.NormFloat64())) })
		g.inputs = append(g.inputs, a)
		i := len(g.inputs) - 1
		g.push(a, func(_ backends.Builder, v []backends.Op) (backends.Op, error) { return v[i], nil })
	}
	for len(g.values) < size {
		g.grow()
	}
	for i := range g.values {
		if g.rng.IntN(6) == 0 || i == len(g.values)-1 {
			g.outputs = append(g.outputs, i)
		}
	}
	return g
}

func (g *randomGraph) push(a array, build func(b backends.Builder, v []backends.Op) (backends.Op, error)) int {
	g.values = append(g.values, a)
	g.steps = append(g.steps, build)
	return len(g.values) - 1
}

// pick returns a random value. It prefers recent values, so that chains of operations become long.
func (g *randomGraph) pick() int {
	n := len(g.values)
	if g.rng.IntN(3) > 0 {
		return n - 1 - g.rng.IntN(min(n, 5))
	}
	return g.rng.IntN(n)
}

// constant adds a scalar constant.
func (g *randomGraph) constant(x float64) int {
	return g.push(array{nil, []float64{x}}, func(b backends.Builder, _ []backends.Op) (backends.Op, error) {
		return b.Constant(toFlat(array{nil, []float64{x}}, g.dtype))
	})
}

func (g *randomGraph) unary(i int, build func(backends.Builder, backends.Op) (backends.Op, error), f func(float64) float64) int {
	a := naiveMap(func(x []float64) float64 { return f(x[0]) }, g.values[i])
	a.dims = g.values[i].dims
	return g.push(a, func(b backends.Builder, v []backends.Op) (backends.Op, error) { return build(b, v[i]) })
}

func (g *randomGraph) binary(i, j int, build func(b backends.Builder, x, y backends.Op) (backends.Op, error), f func(x, y float64) float64) int {
	a := naiveMap(func(x []float64) float64 { return f(x[0], x[1]) }, g.values[i], g.values[j])
	return g.push(a, func(b backends.Builder, v []backends.Op) (backends.Op, error) { return build(b, v[i], v[j]) })
}

// scaled multiplies value i by a power of two, which is exact.
func (g *randomGraph) scaled(i int, by float64) int {
	return g.binary(i, g.constant(by), backends.Builder.Mul, mul)
}

// partner returns a value that can be broadcast against value i.
func (g *randomGraph) partner(i int) int {
	for range 8 {
		j, fits := g.pick(), true
		a, b := g.values[i].dims, g.values[j].dims
		if len(a) > 0 && len(b) > 0 {
			fits = len(a) == len(b)
			for axis := range a {
				fits = fits && (a[axis] == b[axis] || a[axis] == 1 || b[axis] == 1)
			}
		}
		if fits {
			return j
		}
	}
	return i
}

func (g *randomGraph) grow() {
	i := g.pick()
	a := g.values[i]
	rank, size := len(a.dims), len(a.data)
	switch g.rng.IntN(16) {
	case 0:
		g.unary(i, backends.Builder.Tanh, math.Tanh)
	case 1:
		g.unary(i, backends.Builder.Sin, math.Sin)
	case 2:
		g.unary(i, backends.Builder.Abs, math.Abs)
	case 3:
		g.unary(g.unary(i, backends.Builder.Neg, func(x float64) float64 { return -x }), backends.Builder.Logistic,
			func(x float64) float64 { return 1 / (1 + math.Exp(-x)) })
	case 4:
		g.scaled(g.binary(i, g.partner(i), backends.Builder.Add, add), 0.5)
	case 5:
		j := g.unary(g.partner(i), backends.Builder.Sin, math.Sin)
		g.scaled(g.binary(g.unary(i, backends.Builder.Tanh, math.Tanh), j, backends.Builder.Mul, mul), 0.5)
	case 6:
		g.binary(i, g.partner(i), backends.Builder.Max, naiveMax)
	case 7: // Where on a comparison with a number that no cosine reaches
		j := g.unary(i, backends.Builder.Cos, math.Cos)
		limit := -1.5 + 3*float64(g.rng.IntN(2))
		chosen := i
		if limit < 0 {
			chosen = j
		}
		g.push(g.values[chosen], func(b backends.Builder, v []backends.Op) (backends.Op, error) {
			scalar, err := b.Constant(toFlat(array{nil, []float64{limit}}, g.dtype))
			if err != nil {
				return nil, err
			}
			condition, err := b.LessThan(v[j], scalar)
			if err != nil {
				return nil, err
			}
			return b.Where(condition, v[i], v[j])
		})
	case 8:
		if rank > 0 && size > 0 {
			axes := []int{g.rng.IntN(rank)}
			if g.rng.IntN(3) == 0 {
				axes = iotaInts(rank)
			}
			sum := a.reduce(0, add, axes...)
			j := g.push(sum, func(b backends.Builder, v []backends.Op) (backends.Op, error) { return b.ReduceSum(v[i], axes...) })
			j = g.scaled(j, math.Exp2(-math.Ceil(math.Log2(float64(size)/float64(max(1, len(sum.data)))))))
			g.broadcastBack(j, a.dims, axes)
		}
	case 9:
		if rank > 0 {
			axis := g.rng.IntN(rank)
			j := g.push(a.reduce(math.Inf(-1), naiveMax, axis), func(b backends.Builder, v []backends.Op) (backends.Op, error) { return b.ReduceMax(v[i], axis) })
			g.broadcastBack(j, a.dims, []int{axis})
		}
	case 10:
		p := g.rng.Perm(rank)
		g.push(a.transpose(p...), func(b backends.Builder, v []backends.Op) (backends.Op, error) { return b.Transpose(v[i], p...) })
	case 11:
		dims := []int{size}
		if size%2 == 0 && g.rng.IntN(2) == 0 {
			dims = []int{size / 2, 2}
		}
		g.push(a.reshape(dims...), func(b backends.Builder, v []backends.Op) (backends.Op, error) { return b.Reshape(v[i], dims...) })
	case 12:
		if rank > 0 {
			starts, limits, steps := make([]int, rank), slices.Clone(a.dims), slices.Repeat([]int{1}, rank)
			axis := g.rng.IntN(rank)
			steps[axis] = 1 + g.rng.IntN(2)
			starts[axis] = g.rng.IntN(max(1, a.dims[axis]))
			g.push(a.slice(starts, limits, steps), func(b backends.Builder, v []backends.Op) (backends.Op, error) {
				return b.Slice(v[i], starts, limits, steps)
			})
		}
	case 13:
		if rank > 0 && size < 5000 {
			axis := g.rng.IntN(rank)
			j := g.push(a.reverse(axis), func(b backends.Builder, v []backends.Op) (backends.Op, error) { return b.Reverse(v[i], axis) })
			g.push(naiveConcatenate(axis, a, g.values[j]), func(b backends.Builder, v []backends.Op) (backends.Op, error) { return b.Concatenate(axis, v[i], v[j]) })
		}
	case 14:
		if rank == 2 && size < 5000 { // a·aᵀ, as a matrix product or as a sum of broadcast products
			scale := math.Exp2(-math.Ceil(math.Log2(float64(max(1, a.dims[1]))))) / 2
			bounded := g.unary(i, backends.Builder.Tanh, math.Tanh)
			t := g.values[bounded]
			if a.dims[0] > 100 {
				return
			}
			j := g.push(naiveDotGeneral(t, []int{1}, nil, t, []int{1}, nil), func(b backends.Builder, v []backends.Op) (backends.Op, error) {
				if len(g.steps)%2 == 0 {
					return b.DotGeneral(v[bounded], []int{1}, nil, v[bounded], []int{1}, nil)
				}
				x, _ := b.Reshape(v[bounded], a.dims[0], 1, a.dims[1])
				y, _ := b.BroadcastInDim(v[bounded], shapes.Make(g.dtype, a.dims[0], a.dims[0], a.dims[1]), []int{1, 2})
				terms, err := b.Mul(x, y)
				if err != nil {
					return nil, err
				}
				return b.ReduceSum(terms, 2)
			})
			g.scaled(j, scale)
		}
	case 15:
		if rank > 0 && a.dims[0] > 0 {
			rows := newArray(5, 1).fill(func([]int) float64 { return float64(g.rng.IntN(a.dims[0])) })
			sliceDims := slices.Clone(a.dims)
			sliceDims[0] = 1
			offsets := iotaInts(rank)[1:]
			j := g.push(naiveGather(a, rows, 1, offsets, []int{0}, []int{0}, sliceDims), func(b backends.Builder, v []backends.Op) (backends.Op, error) {
				index, err := b.Constant(toFlat(rows, dtypes.Int32), 5, 1)
				if err != nil {
					return nil, err
				}
				return b.Gather(v[i], index, 1, offsets, []int{0}, []int{0}, sliceDims, false)
			})
			k := g.push(naiveScatter(add, a, rows, g.values[j], 1, offsets, []int{0}, []int{0}), func(b backends.Builder, v []backends.Op) (backends.Op, error) {
				index, err := b.Constant(toFlat(rows, dtypes.Int32), 5, 1)
				if err != nil {
					return nil, err
				}
				return b.ScatterSum(v[i], index, v[j], 1, offsets, []int{0}, []int{0}, false, false)
			})
			g.scaled(k, 0.125)
		}
	}
}

// broadcastBack repeats a reduced value along the axes it lost.
func (g *randomGraph) broadcastBack(j int, dims, axes []int) {
	kept := freeAxes(len(dims), axes, nil)
	g.push(g.values[j].broadcastInDim(dims, kept), func(b backends.Builder, v []backends.Op) (backends.Op, error) {
		return b.BroadcastInDim(v[j], shapes.Make(g.dtype, dims...), kept)
	})
}

// run compiles and executes the graph.
func (g *randomGraph) run(t testing.TB, backend *Backend) []array {
	b := backend.Builder("random")
	var in []backends.Op
	var buffers []backends.Buffer
	for i, a := range g.inputs {
		shape := shapes.Make(g.dtype, a.dims...)
		op, err := b.Parameter(fmt.Sprint("x", i), shape, nil)
		require.NoError(t, err)
		buffer, err := backend.BufferFromFlatData(0, toFlat(a, g.dtype), shape)
		require.NoError(t, err)
		in, buffers = append(in, op), append(buffers, buffer)
	}
	values := slices.Clone(in)
	for i, step := range g.steps {
		op, err := step(b, append(values[:i:i], in[min(i, len(in)):]...))
		require.NoError(t, err)
		values = append(values[:i:i], op)
	}
	var outputs []backends.Op
	for _, i := range g.outputs {
		op, err := b.Identity(values[i])
		require.NoError(t, err)
		outputs = append(outputs, op)
	}
	e, err := b.Compile(outputs, nil)
	require.NoError(t, err)
	var results []array
	for round := range 2 { // the second round finds old numbers in the arena, and donates its inputs
		donate := slices.Repeat([]bool{round == 1}, len(buffers))
		out, err := e.Execute(buffers, donate, 0)
		require.NoError(t, err)
		results = results[:0]
		for i, buffer := range out {
			flat, err := backend.BufferData(buffer)
			require.NoError(t, err)
			results = append(results, fromFlat(flat, e.Outputs()[i].Dimensions))
		}
	}
	return results
}

// check compares results of every instruction set, with and without fusion, with the naive
// interpreter. Results must be the same bits for one and for several threads.
func (g *randomGraph) check(t *testing.T, message string) {
	tolerance := 1e-10
	if g.dtype == dtypes.Float32 {
		tolerance = 2e-3
	}
	for _, isa := range kernel.Available() {
		var first []array
		for _, config := range []string{"threads=1", "threads=3", "threads=2,fuse=off"} {
			got := g.run(t, newBackend(t, fmt.Sprintf("isa=%s,%s", isa, config)))
			for i, j := range g.outputs {
				if d := difference(g.values[j], got[i]); d > tolerance {
					t.Fatalf("%s, %s %s: value %d of shape %v: difference %g", message, isa, config, j, g.values[j].dims, d)
				}
				if config == "threads=3" && difference(first[i], got[i]) != 0 {
					t.Fatalf("%s, %s: value %d depends on the number of threads", message, isa, j)
				}
			}
			if first == nil {
				first = got
			}
		}
	}
}

// TestRandomGraphs compares results of random graphs of 5 to 200 nodes, executed with and without
// fusion, with the results of the naive interpreter. The tolerance, 1e-10 in float64, is far above
// the rounding errors that occur (4e-15) and far below the error from a wrong element.
func TestRandomGraphs(t *testing.T) {
	count := 300
	if testing.Short() {
		count = 30
	}
	for seed := range count {
		rng := rand.New(rand.NewPCG(uint64(seed), 8))
		size, dtype := 5+rng.IntN(196), floats[rng.IntN(2)]
		newRandomGraph(uint64(seed), size, dtype).check(t, fmt.Sprintf("seed %d, size %d, %s", seed, size, dtype))
	}
}

func FuzzGraphs(f *testing.F) {
	f.Add(uint64(1), uint8(20), false)
	f.Add(uint64(2), uint8(200), true)
	f.Fuzz(func(t *testing.T, seed uint64, size uint8, double bool) {
		dtype := dtypes.Float32
		if double {
			dtype = dtypes.Float64
		}
		newRandomGraph(seed, 5+int(size)%196, dtype).check(t, "fuzz")
	})
}

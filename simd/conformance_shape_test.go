package simd

import (
	"fmt"
	"math"
	"slices"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/shapes"
)

func (m *maker) conversions() {
	all := slices.Concat(floats, integers, []dtypes.DType{dtypes.Bool})
	for _, from := range all {
		for _, to := range all {
			in := m.random(from, 5, 13)
			for i := range in.data {
				if isUnsigned(to) {
					in.data[i] = math.Abs(in.data[i])
				}
			}
			want := naiveMap(func(x []float64) float64 {
				switch {
				case to == dtypes.Bool:
					return truth(x[0] != 0)
				case to.IsInt():
					return math.Trunc(x[0])
				}
				return x[0]
			}, in.array)
			m.add(operation{name: describe("ConvertDType "+to.String(), in), in: []typed{in}, want: want,
				build: func(b backends.Builder, x []backends.Op) (backends.Op, error) { return b.ConvertDType(x[0], to) }})
		}
	}
	for _, to := range integers { // values out of range
		low, high := 0.0, math.Pow(2, float64(wordSize(to)))
		if !isUnsigned(to) {
			low, high = -high/2, high/2
		}
		in := typed{array{[]int{4}, []float64{math.NaN(), math.Inf(-1), -1e30, 1e30}}, dtypes.Float64}
		want := array{[]int{4}, []float64{0, low, low, high - 1}}
		m.add(operation{name: describe("ConvertDType out of range "+to.String(), in), in: []typed{in}, want: want, notInGo: true,
			build: func(b backends.Builder, x []backends.Op) (backends.Op, error) { return b.ConvertDType(x[0], to) }})
	}
	for _, to := range integers {
		in := m.random(dtypes.Uint8, 3, to.Size())
		want := newArray(3).fill(func(c []int) float64 {
			var x uint64
			for i := range to.Size() {
				x |= uint64(in.data[c[0]*to.Size()+i]) << (8 * i)
			}
			return wrap(to, int64(x))
		})
		if to.Size() == 1 {
			want = want.reshape(3, 1)
		}
		m.add(operation{name: describe("Bitcast "+to.String(), in), in: []typed{in}, want: want,
			build: func(b backends.Builder, x []backends.Op) (backends.Op, error) { return b.Bitcast(x[0], to) }})
		if to.Size() > 1 && to.Size() < 8 { // a float64 does not hold all integers of 8 bytes
			wide := typed{want, to}
			m.add(operation{name: describe("Bitcast to uint8", wide), in: []typed{wide}, want: in.array,
				build: func(b backends.Builder, x []backends.Op) (backends.Op, error) { return b.Bitcast(x[0], dtypes.Uint8) }})
		}
	}
}

func (m *maker) structures() {
	one := func(name string, in typed, want array, build func(b backends.Builder, x backends.Op) (backends.Op, error)) {
		m.add(operation{name: describe(name, in), in: []typed{in}, want: want, notInGo: name == "Reverse",
			build: func(b backends.Builder, x []backends.Op) (backends.Op, error) { return build(b, x[0]) }})
	}
	for _, dtype := range []dtypes.DType{dtypes.Bool, dtypes.Int16, dtypes.Float32, dtypes.Float64} {
		for _, dims := range elementShapes {
			in := m.random(dtype, dims...)
			size, rank := product(dims), len(dims)
			one("Reshape flat", in, in.reshape(size), func(b backends.Builder, x backends.Op) (backends.Op, error) { return b.Reshape(x, size) })
			permutation := m.rng.Perm(rank)
			one(fmt.Sprint("Transpose", permutation), in, in.transpose(permutation...), func(b backends.Builder, x backends.Op) (backends.Op, error) {
				return b.Transpose(x, permutation...)
			})
			one("Transpose and Reshape", in, in.transpose(permutation...).reshape(size), func(b backends.Builder, x backends.Op) (backends.Op, error) {
				y, err := b.Transpose(x, permutation...)
				if err != nil {
					return nil, err
				}
				return b.Reshape(y, size)
			})
			to, axes := []int{2}, []int{}
			for axis, d := range dims {
				axes = append(axes, len(to))
				if d == 1 {
					d = 3
				}
				to = append(to, d)
				if axis%2 == 0 {
					to = append(to, 2)
				}
			}
			one("BroadcastInDim", in, in.broadcastInDim(to, axes), func(b backends.Builder, x backends.Op) (backends.Op, error) {
				return b.BroadcastInDim(x, shapes.Make(dtype, to...), axes)
			})
			starts, limits, steps := make([]int, rank), make([]int, rank), make([]int, rank)
			pads := make([]backends.PadAxis, rank)
			for axis, d := range dims {
				starts[axis], steps[axis] = m.rng.IntN(max(1, d)), 1+m.rng.IntN(3)
				limits[axis] = starts[axis] + m.rng.IntN(d-min(d, starts[axis])+1)
				pads[axis] = backends.PadAxis{Start: m.rng.IntN(4) - 1, End: m.rng.IntN(4) - 1, Interior: m.rng.IntN(3)}
				if d < 3 {
					pads[axis].Start, pads[axis].End = 1, 2
				}
			}
			one("Slice", in, in.slice(starts, limits, steps), func(b backends.Builder, x backends.Op) (backends.Op, error) {
				return b.Slice(x, starts, limits, steps)
			})
			var reversed []int
			for axis := range dims {
				if m.rng.IntN(2) == 0 {
					reversed = append(reversed, axis)
				}
			}
			one("Reverse", in, in.reverse(reversed...), func(b backends.Builder, x backends.Op) (backends.Op, error) { return b.Reverse(x, reversed...) })
			fill := m.random(dtype)
			m.add(operation{name: describe("Pad", in), in: []typed{in, fill}, want: in.pad(fill.data[0], pads), notInGo: true,
				build: func(b backends.Builder, x []backends.Op) (backends.Op, error) { return b.Pad(x[0], x[1], pads...) }})
			if rank == 0 {
				continue
			}
			axis := m.rng.IntN(rank)
			other := slices.Clone(dims)
			other[axis] = 2
			y := m.random(dtype, other...)
			m.add(operation{name: describe(fmt.Sprint("Concatenate ", axis), in, y), in: []typed{in, y}, want: naiveConcatenate(axis, in.array, y.array, in.array),
				build: func(b backends.Builder, x []backends.Op) (backends.Op, error) {
					return b.Concatenate(axis, x[0], x[1], x[0])
				}})
			if dtype == dtypes.Bool {
				continue
			}
			m.add(operation{name: describe("Iota", in), want: newArray(dims...).fill(func(c []int) float64 { return float64(c[axis]) }),
				build: func(b backends.Builder, _ []backends.Op) (backends.Op, error) {
					return b.Iota(shapes.Make(dtype, dims...), axis)
				}})
		}
	}
}

func (m *maker) reductions() {
	type reduction struct {
		name    string
		build   func(b backends.Builder, x backends.Op, axes ...int) (backends.Op, error)
		start   func(d dtypes.DType) float64
		combine func(x, y float64) float64
		types   []dtypes.DType
	}
	constant := func(x float64) func(dtypes.DType) float64 { return func(dtypes.DType) float64 { return x } }
	lowest := func(d dtypes.DType) float64 { return asFloat(d.LowestValue()) }
	highest := func(d dtypes.DType) float64 { return asFloat(d.HighestValue()) }
	ones := func(d dtypes.DType) float64 { return wrap(d, -1) }
	numbers := slices.Concat(floats, integers)
	bools := []dtypes.DType{dtypes.Bool}
	integer := func(f func(x, y int64) int64) func(x, y float64) float64 {
		return func(x, y float64) float64 {
			if x >= 1<<63 { // a uint64 that float64 rounds up to 2⁶⁴
				x = -1
			}
			return float64(f(int64(x), int64(y)))
		}
	}
	for _, r := range []reduction{
		{"ReduceSum", backends.Builder.ReduceSum, constant(0), add, numbers},
		{"ReduceProduct", backends.Builder.ReduceProduct, constant(1), mul, floats},
		{"ReduceMax", backends.Builder.ReduceMax, lowest, naiveMax, numbers},
		{"ReduceMin", backends.Builder.ReduceMin, highest, naiveMin, numbers},
		{"ReduceBitwiseAnd", backends.Builder.ReduceBitwiseAnd, ones, integer(func(x, y int64) int64 { return x & y }), integers},
		{"ReduceBitwiseOr", backends.Builder.ReduceBitwiseOr, constant(0), integer(func(x, y int64) int64 { return x | y }), integers},
		{"ReduceBitwiseXor", backends.Builder.ReduceBitwiseXor, constant(0), integer(func(x, y int64) int64 { return x ^ y }), integers},
		{"ReduceLogicalAnd", backends.Builder.ReduceLogicalAnd, constant(1), func(x, y float64) float64 { return min(x, y) }, bools},
		{"ReduceLogicalOr", backends.Builder.ReduceLogicalOr, constant(0), func(x, y float64) float64 { return max(x, y) }, bools},
		{"ReduceLogicalXor", backends.Builder.ReduceLogicalXor, constant(0), func(x, y float64) float64 { return math.Abs(x - y) }, bools},
	} {
		for _, dtype := range r.types {
			for _, dims := range append(slices.Clone(elementShapes), []int{5000}, []int{3, 4001}, []int{4001, 3}, []int{3, 2, 2500}) {
				for subset := range min(1<<len(dims), 8) {
					var axes []int
					for axis := range dims {
						if subset>>axis&1 == 1 || subset == 0 {
							axes = append(axes, axis)
						}
					}
					in := m.random(dtype, dims...)
					if r.name == "ReduceMax" || r.name == "ReduceMin" {
						in = m.special(dtype, dims...) // with NaN, which is larger and smaller than all numbers
					}
					if r.name == "ReduceProduct" {
						for i, x := range in.data {
							in.data[i] = float64(float32(1 + x/50))
						}
					}
					want := in.reduce(r.start(dtype), r.combine, axes...)
					if dtype.IsInt() && len(in.data) > 0 {
						for i, x := range want.data {
							want.data[i] = wrap(dtype, int64(x))
						}
					}
					tolerance := rounding(dtype) * math.Sqrt(float64(len(in.data)+1)) * 4
					m.add(operation{name: describe(fmt.Sprint(r.name, axes), in), in: []typed{in}, want: want, tolerance: tolerance,
						build: func(b backends.Builder, x []backends.Op) (backends.Op, error) { return r.build(b, x[0], axes...) }})
				}
			}
		}
	}
}

func asFloat(x any) float64 {
	switch x := x.(type) {
	case float32:
		return float64(x)
	case float64:
		return x
	}
	dtype := dtypes.FromAny(x)
	return loadNumber(dtype, fromScalar(x, dtype), 0)
}

func (m *maker) products() {
	for _, dtype := range []dtypes.DType{dtypes.Float32, dtypes.Float64, dtypes.Int32} {
		for _, p := range []struct {
			a, b []int
			attr productAttr
		}{
			{[]int{5}, []int{5}, productAttr{lhsContract: []int{0}, rhsContract: []int{0}}},
			{[]int{3, 5}, []int{5}, productAttr{lhsContract: []int{1}, rhsContract: []int{0}}},
			{[]int{5}, []int{5, 7}, productAttr{lhsContract: []int{0}, rhsContract: []int{0}}},
			{[]int{3, 5}, []int{5, 7}, productAttr{lhsContract: []int{1}, rhsContract: []int{0}}},
			{[]int{5, 3}, []int{5, 7}, productAttr{lhsContract: []int{0}, rhsContract: []int{0}}},
			{[]int{3, 5}, []int{7, 5}, productAttr{lhsContract: []int{1}, rhsContract: []int{1}}},
			{[]int{65, 70}, []int{70, 33}, productAttr{lhsContract: []int{1}, rhsContract: []int{0}}},
			{[]int{64, 128}, []int{128, 96}, productAttr{lhsContract: []int{1}, rhsContract: []int{0}}},
			{[]int{3, 1}, []int{1, 7}, productAttr{lhsContract: []int{1}, rhsContract: []int{0}}},
			{[]int{3, 0}, []int{0, 7}, productAttr{lhsContract: []int{1}, rhsContract: []int{0}}},
			{[]int{3, 5}, []int{5, 0}, productAttr{lhsContract: []int{1}, rhsContract: []int{0}}},
			{[]int{3, 5}, []int{2, 7}, productAttr{}},
			{[]int{2, 3, 5}, []int{2, 5, 4}, productAttr{lhsContract: []int{2}, lhsBatch: []int{0}, rhsContract: []int{1}, rhsBatch: []int{0}}},
			{[]int{3, 2, 5}, []int{5, 4, 2}, productAttr{lhsContract: []int{2}, lhsBatch: []int{1}, rhsContract: []int{0}, rhsBatch: []int{2}}},
			{[]int{2, 3, 4, 5}, []int{4, 2, 5, 6}, productAttr{lhsContract: []int{3, 2}, lhsBatch: []int{0}, rhsContract: []int{2, 0}, rhsBatch: []int{1}}},
			{[]int{2, 3, 4, 5}, []int{5, 3, 6}, productAttr{lhsContract: []int{1}, rhsContract: []int{1}}},
			{[]int{2, 70, 40}, []int{2, 40, 300}, productAttr{lhsContract: []int{2}, lhsBatch: []int{0}, rhsContract: []int{1}, rhsBatch: []int{0}}},
		} {
			x, y := m.random(dtype, p.a...), m.random(dtype, p.b...)
			a := p.attr
			m.add(operation{name: describe(fmt.Sprint("DotGeneral", a), x, y), in: []typed{x, y}, tolerance: 100 * rounding(dtype),
				notInGo: dtype.IsInt(), // the Go backend crashes on some products of integers
				want:    naiveDotGeneral(x.array, a.lhsContract, a.lhsBatch, y.array, a.rhsContract, a.rhsBatch),
				build: func(b backends.Builder, in []backends.Op) (backends.Op, error) {
					return b.DotGeneral(in[0], a.lhsContract, a.lhsBatch, in[1], a.rhsContract, a.rhsBatch)
				}})
		}
	}
}

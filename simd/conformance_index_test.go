package simd

import (
	"fmt"
	"math"
	"slices"
	"unsafe"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
)

// fromScalar returns a pointer to the value x as an element of type dtype.
func fromScalar(x any, dtype dtypes.DType) unsafe.Pointer {
	b := newBlock(8)
	switch x := x.(type) {
	case int8:
		*(*int8)(b.pointer()) = x
	case int16: // GoMLX returns an int16 for dtype Int8 also
		if dtype == dtypes.Int8 {
			*(*int8)(b.pointer()) = int8(x)
		} else {
			*(*int16)(b.pointer()) = x
		}
	case int32:
		*(*int32)(b.pointer()) = x
	case int64:
		*(*int64)(b.pointer()) = x
	case uint8:
		*(*uint8)(b.pointer()) = x
	case uint16:
		*(*uint16)(b.pointer()) = x
	case uint32:
		*(*uint32)(b.pointer()) = x
	case uint64:
		*(*uint64)(b.pointer()) = x
	}
	return b.pointer()
}

// indices returns an array of integers in [0, limit). If outside is true, −1 and limit may occur.
func (m *maker) indices(dtype dtypes.DType, limit int, outside bool, dims ...int) typed {
	a := newArray(dims...)
	for i := range a.data {
		if a.data[i] = float64(m.rng.IntN(limit)); outside && m.rng.IntN(5) == 0 {
			a.data[i] = float64(m.rng.IntN(2)*(limit+1) - 1)
			if isUnsigned(dtype) {
				a.data[i] = math.Abs(a.data[i])
			}
		}
	}
	return typed{a, dtype}
}

func (m *maker) indexing() {
	cases := []struct {
		array, index                                  []int
		indexAxis                                     int
		offsetAxes, collapsed, indexedAxes, sliceDims []int
	}{
		// single elements
		{[]int{40}, []int{6, 1}, 1, nil, []int{0}, []int{0}, []int{1}},
		// single elements, with an implicit index axis
		{[]int{40}, []int{6}, 1, nil, []int{0}, []int{0}, []int{1}},
		{[]int{9, 5}, []int{6, 1}, 1, []int{1}, []int{0}, []int{0}, []int{1, 5}}, // rows
		// rows, batch of rank 2
		{[]int{9, 5}, []int{2, 3, 1}, 2, []int{2}, []int{0}, []int{0}, []int{1, 5}},
		// rows, laid out as columns
		{[]int{9, 5}, []int{2, 3, 1}, 2, []int{0}, []int{0}, []int{0}, []int{1, 5}},
		// elements of a matrix
		{[]int{9, 5}, []int{6, 2}, 1, nil, []int{0, 1}, []int{0, 1}, []int{1, 1}},
		// elements of a matrix, with transposed indices
		{[]int{9, 5}, []int{2, 6}, 0, nil, []int{0, 1}, []int{1, 0}, []int{1, 1}},
		{[]int{9, 5, 4}, []int{3, 2}, 1, []int{1, 2}, []int{0}, []int{0, 2}, []int{1, 3, 2}},
		{[]int{9, 5, 4}, []int{3, 2, 2}, 1, []int{0, 1, 4}, nil, []int{2, 1}, []int{2, 2, 3}},
		{[]int{3, 4, 5, 2}, []int{4, 1}, 1, []int{1, 2, 3}, []int{2}, []int{2}, []int{3, 4, 1, 2}},
		{[]int{500}, []int{40000, 1}, 1, nil, []int{0}, []int{0}, []int{1}},
	}
	for _, dtype := range []dtypes.DType{dtypes.Float32, dtypes.Float64, dtypes.Int16} {
		for _, indexType := range []dtypes.DType{dtypes.Int32, dtypes.Int64, dtypes.Uint8} {
			for _, c := range cases {
				if c.index[0] > 1000 && indexType == dtypes.Uint8 {
					continue
				}
				x := m.random(dtype, c.array...)
				i := m.indices(indexType, c.array[c.indexedAxes[0]], true, c.index...)
				m.add(operation{name: describe(fmt.Sprint("Gather", c), x, i), in: []typed{x, i},
					want: naiveGather(x.array, i.array, c.indexAxis, c.offsetAxes, c.collapsed, c.indexedAxes, c.sliceDims),
					build: func(b backends.Builder, in []backends.Op) (backends.Op, error) {
						return b.Gather(in[0], in[1], c.indexAxis, c.offsetAxes, c.collapsed, c.indexedAxes, c.sliceDims, false)
					}})
				updates := naiveGather(x.array, i.array, c.indexAxis, c.offsetAxes, c.collapsed, c.indexedAxes, c.sliceDims)
				u := m.random(dtype, updates.dims...)
				for _, s := range []struct {
					name    string
					build   func(b backends.Builder, x, i, u backends.Op) (backends.Op, error)
					combine func(x, y float64) float64
				}{
					{"ScatterSum", func(b backends.Builder, x, i, u backends.Op) (backends.Op, error) {
						return b.ScatterSum(x, i, u, c.indexAxis, c.offsetAxes, c.collapsed, c.indexedAxes, false, false)
					}, add},
					{"ScatterMax", func(b backends.Builder, x, i, u backends.Op) (backends.Op, error) {
						return b.ScatterMax(x, i, u, c.indexAxis, c.offsetAxes, c.collapsed, c.indexedAxes, false, false)
					}, naiveMax},
					{"ScatterMin", func(b backends.Builder, x, i, u backends.Op) (backends.Op, error) {
						return b.ScatterMin(x, i, u, c.indexAxis, c.offsetAxes, c.collapsed, c.indexedAxes, false, false)
					}, naiveMin},
				} {
					want := naiveScatter(s.combine, x.array, i.array, u.array, c.indexAxis, c.offsetAxes, c.collapsed, c.indexedAxes)
					if dtype.IsInt() {
						for j, v := range want.data {
							want.data[j] = wrap(dtype, int64(v))
						}
					}
					m.add(operation{name: describe(fmt.Sprint(s.name, c), x, i, u), in: []typed{x, i, u}, want: want,
						// the Go backend does not skip indices outside of the operand
						tolerance: 100 * rounding(dtype), notInGo: true,
						build: func(b backends.Builder, in []backends.Op) (backends.Op, error) {
							return s.build(b, in[0], in[1], in[2])
						}})
				}
			}
		}
		for _, indexType := range []dtypes.DType{dtypes.Int32, dtypes.Uint64} {
			x, u := m.random(dtype, 7, 5, 3), m.random(dtype, 2, 5, 1)
			i, j, k := m.indices(indexType, 7, true), m.indices(indexType, 5, true), m.indices(indexType, 3, true)
			starts := []array{i.array, j.array, k.array}
			start := make([]int, 3)
			end := make([]int, 3)
			for axis := range start {
				start[axis] = min(max(int(starts[axis].data[0]), 0), x.dims[axis]-u.dims[axis])
				end[axis] = start[axis] + u.dims[axis]
			}
			m.add(operation{name: describe("DynamicSlice", x, i, j, k), in: []typed{x, i, j, k}, notInGo: true,
				want: x.slice(start, end, []int{1, 1, 1}),
				build: func(b backends.Builder, in []backends.Op) (backends.Op, error) {
					return b.DynamicSlice(in[0], in[1:], u.dims)
				}})
			updated := array{x.dims, slices.Clone(x.data)}
			for n, v := range u.data {
				c := u.coordinates(n)
				for axis := range c {
					c[axis] += start[axis]
				}
				updated.data[updated.index(c)] = v
			}
			m.add(operation{name: describe("DynamicUpdateSlice", x, u, i, j, k), in: []typed{x, u, i, j, k}, notInGo: true, want: updated,
				build: func(b backends.Builder, in []backends.Op) (backends.Op, error) {
					return b.DynamicUpdateSlice(in[0], in[1], in[2:])
				}})
		}
	}
	for _, dtype := range slices.Concat(floats, integers) {
		for _, dims := range [][]int{{7}, {1}, {3, 17}, {2, 3, 5}, {67, 77}} {
			for axis := range dims {
				for _, isMin := range []bool{false, true} {
					x := m.special(dtype, dims...)
					outDims := slices.Delete(slices.Clone(dims), axis, axis+1)
					want := newArray(outDims...).fill(func(c []int) float64 {
						best := 0
						for p := range dims[axis] {
							v := x.data[x.index(slices.Insert(slices.Clone(c), axis, p))]
							old := x.data[x.index(slices.Insert(slices.Clone(c), axis, best))]
							if !math.IsNaN(old) && (math.IsNaN(v) || isMin && v < old || !isMin && v > old) {
								best = p
							}
						}
						return float64(best)
					})
					m.add(operation{name: describe(fmt.Sprint("ArgMinMax ", axis, isMin), x), in: []typed{x}, want: want,
						build: func(b backends.Builder, in []backends.Op) (backends.Op, error) {
							return b.ArgMinMax(in[0], axis, dtypes.Int32, isMin)
						}})
				}
			}
		}
	}
}

func (m *maker) windows() {
	for _, dtype := range []dtypes.DType{dtypes.Float32, dtypes.Int32} {
		for _, r := range []struct {
			reduction backends.ReduceOpType
			start     float64
			combine   func(x, y float64) float64
		}{
			{backends.ReduceOpSum, 0, add}, {backends.ReduceOpProduct, 1, mul},
			{backends.ReduceOpMax, asFloat(dtype.LowestValue()), naiveMax}, {backends.ReduceOpMin, asFloat(dtype.HighestValue()), naiveMin},
		} {
			x := m.random(dtype, 7, 6)
			window, steps, base, dilation := []int{3, 2}, []int{2, 1}, []int{1, 2}, []int{1, 3}
			paddings := [][2]int{{1, 2}, {0, 1}}
			out := [2]int{(7+3-3)/2 + 1, (11 + 1 - 4) + 1}
			want := newArray(out[0], out[1]).fill(func(c []int) float64 {
				total := r.start
				for i := range window[0] {
					for j := range window[1] {
						p, q := c[0]*steps[0]+i*dilation[0]-paddings[0][0], c[1]*steps[1]+j*dilation[1]-paddings[1][0]
						if p >= 0 && p < 7 && q >= 0 && q%base[1] == 0 && q/base[1] < 6 {
							total = r.combine(total, x.data[p*6+q/base[1]])
						}
					}
				}
				return total
			})
			m.add(operation{name: describe("ReduceWindow "+r.reduction.String(), x), in: []typed{x}, want: want, tolerance: 10 * rounding(dtype),
				build: func(b backends.Builder, in []backends.Op) (backends.Op, error) {
					return b.ReduceWindow(in[0], r.reduction, window, steps, base, dilation, paddings)
				}})
		}
	}
	for _, dtype := range []dtypes.DType{dtypes.Float32, dtypes.Int16} {
		for _, isMin := range []bool{false, true} {
			x, source := m.random(dtype, 7, 6), m.random(dtype, 4, 3)
			window, steps, paddings := []int{3, 2}, []int{2, 2}, [][2]int{{1, 1}, {0, 0}}
			want := newArray(7, 6)
			for i := range 4 {
				for j := range 3 {
					best := -1
					for p := max(0, 2*i-1); p < min(7, 2*i+2); p++ {
						for q := 2 * j; q < 2*j+2; q++ {
							k := p*6 + q
							if best < 0 || isMin && x.data[k] < x.data[best] || !isMin && x.data[k] > x.data[best] {
								best = k
							}
						}
					}
					want.data[best] += source.data[i*3+j]
				}
			}
			m.add(operation{name: describe(fmt.Sprint("SelectAndScatter ", isMin), x, source), in: []typed{x, source}, want: want, tolerance: 10 * rounding(dtype),
				build: func(b backends.Builder, in []backends.Op) (backends.Op, error) {
					if isMin {
						return b.SelectAndScatterMin(in[0], in[1], window, steps, paddings)
					}
					return b.SelectAndScatterMax(in[0], in[1], window, steps, paddings)
				}})
		}
	}
}

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
)

// typedValue is a node of a random graph with several element types, together with its exact value.
type typedValue struct {
	typed
	build func(b backends.Builder, v []backends.Op) (backends.Op, error)
}

var mixedTypes = []dtypes.DType{dtypes.Int16, dtypes.Int32, dtypes.Uint8, dtypes.Float64}

// mixedGraph returns a random graph whose values are bools and integers in several types, so that
// results must be exact.
func mixedGraph(rng *rand.Rand, size int) (inputs []typed, values []typedValue) {
	dims := [][]int{{7}, {5, 12}, {40, 60}}[rng.IntN(3)]
	for i := range 3 {
		dtype := mixedTypes[i]
		a := newArray(dims...).fill(func([]int) float64 { return wrap(dtype, int64(rng.IntN(100))) })
		inputs = append(inputs, typed{a, dtype})
		values = append(values, typedValue{inputs[i], func(_ backends.Builder, v []backends.Op) (backends.Op, error) { return v[i], nil }})
	}
	// pick returns a recent value for which fits is true.
	pick := func(fits func(typedValue) bool) int {
		for range 50 {
			if i := len(values) - 1 - rng.IntN(min(len(values), 12)); fits(values[i]) {
				return i
			}
		}
		return -1
	}
	push := func(a array, dtype dtypes.DType, build func(b backends.Builder, v []backends.Op) (backends.Op, error)) {
		if dtype.IsInt() {
			for i, x := range a.data {
				a.data[i] = wrap(dtype, int64(x))
			}
		}
		values = append(values, typedValue{typed{a, dtype}, build})
	}
	for len(values) < size {
		i := pick(func(v typedValue) bool { return v.dtype != dtypes.Bool })
		x := values[i]
		j := pick(func(v typedValue) bool { return v.dtype == x.dtype && slices.Equal(v.dims, x.dims) })
		if j < 0 {
			j = i
		}
		y := values[j]
		binary := func(build func(b backends.Builder, x, y backends.Op) (backends.Op, error), f func(x, y float64) float64, dtype dtypes.DType) {
			a := naiveMap(func(v []float64) float64 { return f(v[0], v[1]) }, x.array, y.array)
			push(a, dtype, func(b backends.Builder, v []backends.Op) (backends.Op, error) { return build(b, v[i], v[j]) })
		}
		switch rng.IntN(9) {
		case 0:
			if x.dtype.IsInt() {
				binary(backends.Builder.Add, add, x.dtype)
			}
		case 1:
			binary(backends.Builder.Max, naiveMax, x.dtype)
		case 2:
			if x.dtype.IsInt() {
				binary(backends.Builder.BitwiseXor, func(x, y float64) float64 { return float64(int64(x) ^ int64(y)) }, x.dtype)
			}
		case 3:
			binary(backends.Builder.LessThan, func(x, y float64) float64 { return truth(x < y) }, dtypes.Bool)
		case 4:
			k := pick(func(v typedValue) bool { return v.dtype == dtypes.Bool && slices.Equal(v.dims, x.dims) })
			if k < 0 {
				continue
			}
			a := naiveMap(func(v []float64) float64 {
				if v[0] != 0 {
					return v[1]
				}
				return v[2]
			}, values[k].array, x.array, y.array)
			push(a, x.dtype, func(b backends.Builder, v []backends.Op) (backends.Op, error) { return b.Where(v[k], v[i], v[j]) })
		case 5:
			to := mixedTypes[rng.IntN(len(mixedTypes))]
			if x.dtype == dtypes.Float64 && to.IsInt() { // the conversion saturates
				low, high := wrap(to, 1<<(wordSize(to)-1)), float64(int64(1)<<(wordSize(to)-1)-1)
				if isUnsigned(to) {
					low, high = 0, wrap(to, -1)
				}
				a := naiveMap(func(v []float64) float64 { return min(max(v[0], low), high) }, x.array)
				push(a, to, func(b backends.Builder, v []backends.Op) (backends.Op, error) { return b.ConvertDType(v[i], to) })
				continue
			}
			push(naiveMap(func(v []float64) float64 { return v[0] }, x.array), to, func(b backends.Builder, v []backends.Op) (backends.Op, error) {
				return b.ConvertDType(v[i], to)
			})
		case 6:
			if k := pick(func(v typedValue) bool { return v.dtype == dtypes.Bool }); k >= 0 {
				push(naiveMap(func(v []float64) float64 { return v[0] }, values[k].array), dtypes.Int32, func(b backends.Builder, v []backends.Op) (backends.Op, error) {
					return b.ConvertDType(v[k], dtypes.Int32)
				})
			}
		case 7:
			axis := rng.IntN(len(x.dims))
			a := x.reduce(math.Inf(-1), naiveMax, axis)
			kept := freeAxes(len(x.dims), []int{axis}, nil)
			push(a.broadcastInDim(x.dims, kept), x.dtype, func(b backends.Builder, v []backends.Op) (backends.Op, error) {
				r, err := b.ReduceMax(v[i], axis)
				if err != nil {
					return nil, err
				}
				return b.BroadcastInDim(r, shapes.Make(x.dtype, x.dims...), kept)
			})
		case 8:
			axis := rng.IntN(len(x.dims))
			push(x.reverse(axis), x.dtype, func(b backends.Builder, v []backends.Op) (backends.Op, error) { return b.Reverse(v[i], axis) })
		}
	}
	return inputs, values
}

func TestRandomGraphsOfManyTypes(t *testing.T) {
	count := 200
	if testing.Short() {
		count = 40
	}
	backendsOf := map[string]*Backend{}
	for _, config := range configs() {
		backendsOf[config] = newBackend(t, config)
	}
	for seed := range count {
		rng := rand.New(rand.NewPCG(uint64(seed), 9))
		inputs, values := mixedGraph(rng, 5+rng.IntN(100))
		for config, b := range backendsOf {
			for check := range 4 {
				last := len(values) - 1 - check
				o := operation{name: fmt.Sprint("seed ", seed), in: inputs, want: values[last].array,
					build: func(b backends.Builder, in []backends.Op) (backends.Op, error) {
						ops := slices.Clone(in)
						for i, v := range values[:last+1] {
							op, err := v.build(b, append(ops[:i:i], in[min(i, len(in)):]...))
							if err != nil {
								return nil, err
							}
							ops = append(ops[:i:i], op)
						}
						return ops[last], nil
					}}
				got, err := execute(b, o, false)
				require.NoError(t, err)
				require.Zero(t, difference(o.want, got), "%s, %s, value %d of %s%v", o.name, config, last, values[last].dtype, values[last].dims)
			}
		}
	}
}

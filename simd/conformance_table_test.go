package simd

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/shapes"
)

type maker struct {
	rng  *rand.Rand
	list []operation
}

// conformanceTable returns cases for all operations, element types and shapes.
func conformanceTable() []operation {
	m := &maker{rng: rand.New(rand.NewPCG(3, 4))}
	m.unaries()
	m.binaries()
	m.conversions()
	m.structures()
	m.reductions()
	m.products()
	m.indexing()
	m.windows()
	return m.list
}

// elementShapes holds shapes of ranks 0 to 5. Axes have the sizes 0, 1 and odd numbers, and the
// last shape has more elements than a tile.
var elementShapes = [][]int{{}, {1}, {0}, {7}, {33}, {5, 1}, {3, 17}, {2, 3, 5}, {2, 0, 3}, {1, 3, 1, 5}, {2, 3, 2, 1, 3}, {67, 77}}

var floats = []dtypes.DType{dtypes.Float32, dtypes.Float64}
var integers = []dtypes.DType{dtypes.Int8, dtypes.Int16, dtypes.Int32, dtypes.Int64, dtypes.Uint8, dtypes.Uint16, dtypes.Uint32, dtypes.Uint64}

func isUnsigned(d dtypes.DType) bool { return d.IsUnsigned() }

// random returns random values of type dtype: bools, small integers, or normal floats.
func (m *maker) random(dtype dtypes.DType, dims ...int) typed {
	a := newArray(dims...)
	for i := range a.data {
		switch {
		case dtype == dtypes.Bool:
			a.data[i] = float64(m.rng.IntN(2))
		case isUnsigned(dtype):
			a.data[i] = float64(m.rng.IntN(11))
		case dtype.IsInt():
			a.data[i] = float64(m.rng.IntN(21) - 10)
		default:
			a.data[i] = float64(float32(3 * m.rng.NormFloat64()))
		}
	}
	return typed{a, dtype}
}

func (m *maker) special(dtype dtypes.DType, dims ...int) typed {
	a := m.random(dtype, dims...)
	if dtype.IsFloat() {
		for i, x := range []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), 0.5, 2.5, -2.5, 1, -1} {
			if 3*i < len(a.data) {
				a.data[3*i] = x
			}
		}
	}
	return a
}

func (m *maker) add(o operation) { m.list = append(m.list, o) }

// rounding returns the relative tolerance for the result of a few operations in dtype.
func rounding(dtype dtypes.DType) float64 {
	switch dtype {
	case dtypes.Float32:
		return 1e-6
	case dtypes.Float64:
		return 1e-14
	}
	return 0
}

func describe(name string, in ...typed) string {
	for _, x := range in {
		name += " " + shapes.Make(x.dtype, x.dims...).String()
	}
	return name
}

func wordSize(d dtypes.DType) int { return 8 * d.Size() }

func unsignedBits(d dtypes.DType, x float64) uint64 {
	return uint64(int64(x)) & (^uint64(0) >> (64 - wordSize(d)))
}

// wrap reduces integer x to the range of type d, as an overflow does.
func wrap(d dtypes.DType, x int64) float64 {
	shift := 64 - wordSize(d)
	if isUnsigned(d) {
		return float64(uint64(x) << shift >> shift)
	}
	return float64(x << shift >> shift)
}

func (m *maker) unary(name string, build func(backends.Builder, backends.Op) (backends.Op, error), types []dtypes.DType,
	f func(d dtypes.DType, x float64) float64) {
	for _, dtype := range types {
		for _, dims := range elementShapes {
			in := m.special(dtype, dims...)
			want := naiveMap(func(x []float64) float64 { return f(dtype, x[0]) }, in.array)
			want.dims = in.dims
			m.add(operation{name: describe(name, in), in: []typed{in}, want: want, tolerance: rounding(dtype),
				// the Go backend rounds half away from zero, and gives 0 as the sign of NaN
				notInGo: name == "Round" || name == "Sign",
				build:   func(b backends.Builder, x []backends.Op) (backends.Op, error) { return build(b, x[0]) }})
		}
	}
}

func (m *maker) unaries() {
	f := func(f func(float64) float64) func(dtypes.DType, float64) float64 {
		return func(_ dtypes.DType, x float64) float64 { return f(x) }
	}
	signedTypes := append(slices.Clone(floats), integers[:4]...)
	m.unary("Abs", backends.Builder.Abs, slices.Concat(floats, integers), f(math.Abs))
	m.unary("Neg", backends.Builder.Neg, signedTypes, f(func(x float64) float64 { return -x }))
	m.unary("Sign", backends.Builder.Sign, slices.Concat(floats, integers), f(func(x float64) float64 {
		switch {
		case x > 0:
			return 1
		case x < 0:
			return -1
		}
		return x
	}))
	m.unary("Ceil", backends.Builder.Ceil, floats, f(math.Ceil))
	m.unary("Floor", backends.Builder.Floor, floats, f(math.Floor))
	m.unary("Round", backends.Builder.Round, floats, f(math.RoundToEven))
	m.unary("Exp", backends.Builder.Exp, floats, f(math.Exp))
	m.unary("Expm1", backends.Builder.Expm1, floats, f(math.Expm1))
	m.unary("Log", backends.Builder.Log, floats, f(math.Log))
	m.unary("Log1p", backends.Builder.Log1p, floats, f(math.Log1p))
	m.unary("Tanh", backends.Builder.Tanh, floats, f(math.Tanh))
	m.unary("Erf", backends.Builder.Erf, floats, f(math.Erf))
	m.unary("Sin", backends.Builder.Sin, floats, f(math.Sin))
	m.unary("Cos", backends.Builder.Cos, floats, f(math.Cos))
	m.unary("Sqrt", backends.Builder.Sqrt, floats, f(math.Sqrt))
	m.unary("Rsqrt", backends.Builder.Rsqrt, floats, f(func(x float64) float64 { return 1 / math.Sqrt(x) }))
	m.unary("Logistic", backends.Builder.Logistic, floats, f(func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }))
	m.unary("IsNaN", backends.Builder.IsNaN, floats, f(func(x float64) float64 { return truth(math.IsNaN(x)) }))
	m.unary("IsFinite", backends.Builder.IsFinite, floats, f(func(x float64) float64 {
		return truth(!math.IsNaN(x) && !math.IsInf(x, 0))
	}))
	m.unary("LogicalNot", backends.Builder.LogicalNot, []dtypes.DType{dtypes.Bool}, f(func(x float64) float64 { return 1 - x }))
	m.unary("BitwiseNot", backends.Builder.BitwiseNot, integers, func(d dtypes.DType, x float64) float64 { return wrap(d, ^int64(x)) })
	m.unary("BitCount", backends.Builder.BitCount, integers, func(d dtypes.DType, x float64) float64 {
		return float64(bits.OnesCount64(unsignedBits(d, x)))
	})
	m.unary("Clz", backends.Builder.Clz, integers, func(d dtypes.DType, x float64) float64 {
		return float64(wordSize(d) - bits.Len64(unsignedBits(d, x)))
	})
	m.unary("Identity", backends.Builder.Identity, slices.Concat(floats, integers, []dtypes.DType{dtypes.Bool}), f(func(x float64) float64 { return x }))
}

// broadcasts holds pairs of shapes of the operands of binary operations.
var broadcasts = [][2][]int{{{}, {}}, {{5}, {5}}, {{}, {7}}, {{7}, {}}, {{3, 1}, {3, 5}}, {{1, 5}, {3, 5}}, {{3, 5}, {1, 5}},
	{{3, 1}, {1, 5}}, {{1, 1}, {3, 5}}, {{0, 3}, {1, 3}}, {{2, 1, 3, 1}, {1, 5, 3, 7}}, {{2, 1, 3, 1, 2}, {2, 1, 1, 4, 2}}, {{61, 70}, {61, 70}}, {{61, 70}, {1, 70}}, {{61, 1}, {61, 70}}}

func (m *maker) binary(name string, build func(b backends.Builder, x, y backends.Op) (backends.Op, error), types []dtypes.DType,
	f func(d dtypes.DType, x, y float64) float64, change func(operation) operation) {
	for _, dtype := range types {
		for _, pair := range broadcasts {
			x, y := m.special(dtype, pair[0]...), m.random(dtype, pair[1]...)
			want := naiveMap(func(v []float64) float64 { return f(dtype, v[0], v[1]) }, x.array, y.array)
			o := operation{name: describe(name, x, y), in: []typed{x, y}, want: want, tolerance: rounding(dtype),
				build: func(b backends.Builder, in []backends.Op) (backends.Op, error) { return build(b, in[0], in[1]) }}
			if change != nil {
				o = change(o)
			}
			m.add(o)
		}
	}
}

func (m *maker) binaries() {
	numbers := slices.Concat(floats, integers)
	bools := []dtypes.DType{dtypes.Bool}
	arithmetic := func(ints func(x, y int64) int64, f func(x, y float64) float64) func(dtypes.DType, float64, float64) float64 {
		return func(d dtypes.DType, x, y float64) float64 {
			if d.IsInt() {
				return wrap(d, ints(int64(x), int64(y)))
			}
			return f(x, y)
		}
	}
	m.binary("Add", backends.Builder.Add, numbers, arithmetic(func(x, y int64) int64 { return x + y }, add), nil)
	m.binary("Sub", backends.Builder.Sub, numbers, arithmetic(func(x, y int64) int64 { return x - y }, func(x, y float64) float64 { return x - y }), nil)
	m.binary("Mul", backends.Builder.Mul, numbers, arithmetic(func(x, y int64) int64 { return x * y }, mul), nil)
	// the Go backend panics on x/0
	zeroDivision := func(o operation) operation { o.notInGo = true; return o }
	m.binary("Div", backends.Builder.Div, numbers, arithmetic(func(x, y int64) int64 {
		if y == 0 {
			return -1
		}
		return x / y
	}, func(x, y float64) float64 { return x / y }), zeroDivision)
	m.binary("Rem", backends.Builder.Rem, numbers, arithmetic(func(x, y int64) int64 {
		if y == 0 {
			return x
		}
		return x % y
	}, math.Mod), zeroDivision)
	m.binary("Pow", backends.Builder.Pow, floats, func(_ dtypes.DType, x, y float64) float64 { return math.Pow(x, y) }, nil)
	m.binary("Max", backends.Builder.Max, numbers, func(_ dtypes.DType, x, y float64) float64 { return naiveMax(x, y) }, nil)
	m.binary("Min", backends.Builder.Min, numbers, func(_ dtypes.DType, x, y float64) float64 { return naiveMin(x, y) }, nil)
	integer := func(f func(x, y int64) int64) func(d dtypes.DType, x, y float64) float64 {
		return func(d dtypes.DType, x, y float64) float64 { return wrap(d, f(int64(x), int64(y))) }
	}
	m.binary("BitwiseAnd", backends.Builder.BitwiseAnd, integers, integer(func(x, y int64) int64 { return x & y }), nil)
	m.binary("BitwiseOr", backends.Builder.BitwiseOr, integers, integer(func(x, y int64) int64 { return x | y }), nil)
	m.binary("BitwiseXor", backends.Builder.BitwiseXor, integers, integer(func(x, y int64) int64 { return x ^ y }), nil)
	m.binary("ShiftLeft", backends.Builder.ShiftLeft, integers[4:], integer(func(x, y int64) int64 { return x << y }), nil)
	m.binary("ShiftRightArithmetic", backends.Builder.ShiftRightArithmetic, integers, func(d dtypes.DType, x, y float64) float64 {
		if y < 0 {
			y = 64
		}
		return float64(int64(x) >> int64(y))
	}, nil)
	m.binary("ShiftRightLogical", backends.Builder.ShiftRightLogical, integers, func(d dtypes.DType, x, y float64) float64 {
		if y < 0 {
			y = 64
		}
		return wrap(d, int64(unsignedBits(d, x)>>uint64(y)))
	}, nil)
	logical := func(f func(x, y bool) bool) func(d dtypes.DType, x, y float64) float64 {
		return func(_ dtypes.DType, x, y float64) float64 { return truth(f(x != 0, y != 0)) }
	}
	m.binary("LogicalAnd", backends.Builder.LogicalAnd, bools, logical(func(x, y bool) bool { return x && y }), nil)
	m.binary("LogicalOr", backends.Builder.LogicalOr, bools, logical(func(x, y bool) bool { return x || y }), nil)
	m.binary("LogicalXor", backends.Builder.LogicalXor, bools, logical(func(x, y bool) bool { return x != y }), nil)
	for _, c := range []struct {
		name         string
		build, total func(b backends.Builder, x, y backends.Op) (backends.Op, error)
		f            func(x, y float64) bool
	}{
		{"Equal", backends.Builder.Equal, backends.Builder.EqualTotalOrder, func(x, y float64) bool { return x == y }},
		{"NotEqual", backends.Builder.NotEqual, backends.Builder.NotEqualTotalOrder, func(x, y float64) bool { return x != y }},
		{"LessThan", backends.Builder.LessThan, backends.Builder.LessThanTotalOrder, func(x, y float64) bool { return x < y }},
		{"LessOrEqual", backends.Builder.LessOrEqual, backends.Builder.LessOrEqualTotalOrder, func(x, y float64) bool { return x <= y }},
		{"GreaterThan", backends.Builder.GreaterThan, backends.Builder.GreaterThanTotalOrder, func(x, y float64) bool { return x > y }},
		{"GreaterOrEqual", backends.Builder.GreaterOrEqual, backends.Builder.GreaterOrEqualTotalOrder, func(x, y float64) bool { return x >= y }},
	} {
		m.binary(c.name, c.build, numbers, func(_ dtypes.DType, x, y float64) float64 { return truth(c.f(x, y)) }, nil)
		m.binary(c.name+"TotalOrder", c.total, numbers, func(d dtypes.DType, x, y float64) float64 {
			if d.IsInt() {
				return truth(c.f(x, y))
			}
			return truth(c.f(float64(totalRank(x)), float64(totalRank(y))))
		}, nil)
	}
	for _, dtype := range slices.Concat(numbers, bools) {
		for _, s := range [][3][]int{{{3, 5}, {3, 5}, {3, 5}}, {{}, {3, 5}, {3, 5}}, {{3, 5}, {}, {3, 5}}, {{3, 5}, {3, 5}, {}}, {{3, 5}, {}, {}}, {{}, {}, {}}, {{0}, {0}, {0}}, {{51, 80}, {51, 80}, {51, 80}}} {
			in := []typed{m.random(dtypes.Bool, s[0]...), m.random(dtype, s[1]...), m.random(dtype, s[2]...)}
			m.add(operation{name: describe("Where", in...), in: in,
				build: func(b backends.Builder, x []backends.Op) (backends.Op, error) { return b.Where(x[0], x[1], x[2]) },
				want: naiveMap(func(x []float64) float64 {
					if x[0] != 0 {
						return x[1]
					}
					return x[2]
				}, in[0].array, in[1].array, in[2].array)})
		}
	}
	for _, dtype := range numbers {
		in := []typed{m.random(dtype), m.random(dtype, 7, 9), m.random(dtype)}
		m.add(operation{name: describe("Clamp", in...), in: in,
			build: func(b backends.Builder, x []backends.Op) (backends.Op, error) { return b.Clamp(x[0], x[1], x[2]) },
			want:  naiveMap(func(x []float64) float64 { return min(max(x[0], x[1]), x[2]) }, in[0].array, in[1].array, in[2].array)})
	}
}

// totalRank maps values to numbers in their total order. The only NaN in the tests is the positive
// one that math.NaN returns.
func totalRank(x float64) float64 {
	switch {
	case math.IsNaN(x):
		return 4
	case math.IsInf(x, 1):
		return 3
	case math.IsInf(x, -1):
		return -3
	case x == 0:
		return math.Copysign(1e-9, x)
	}
	return 2 * math.Atan(x) / math.Pi
}

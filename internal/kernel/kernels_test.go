package kernel

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// operands holds operands for all kernels.
type operands[T Float] struct {
	dst, a, b   []T
	bools, cond []bool
	s           T
}

// kernels returns all kernels of v by their names.
func kernels[T Float](v *Vectors[T]) map[string]func(x operands[T]) {
	all := map[string]func(x operands[T]){
		"Select":    func(x operands[T]) { v.Select(x.dst, x.cond, x.a, x.b) },
		"AddScaled": func(x operands[T]) { v.AddScaled(x.dst, x.a, x.b, x.s) },
		"ExpRatio":  func(x operands[T]) { v.ExpRatio(x.dst, x.a, x.b, x.s) },
	}
	for name, f := range unaryKernels(v) {
		all[name] = func(x operands[T]) { f(x.dst, x.a) }
	}
	for name, f := range map[string]func(dst, a, b []T){"Add": v.Add, "Sub": v.Sub, "Mul": v.Mul, "Div": v.Div,
		"Min": v.Min, "Max": v.Max, "Pow": v.Pow} {
		all[name] = func(x operands[T]) { f(x.dst, x.a, x.b) }
	}
	for name, f := range map[string]func(dst, a []T, s T){"AddScalar": v.AddScalar, "SubScalar": v.SubScalar,
		"MulScalar": v.MulScalar, "DivScalar": v.DivScalar, "MinScalar": v.MinScalar, "MaxScalar": v.MaxScalar,
		"ScalarSub": v.ScalarSub, "ScalarDiv": v.ScalarDiv} {
		all[name] = func(x operands[T]) { f(x.dst, x.a, x.s) }
	}
	for name, f := range map[string]func(dst []bool, a, b []T){"Equal": v.Equal, "NotEqual": v.NotEqual, "Less": v.Less,
		"LessEqual": v.LessEqual, "Greater": v.Greater, "GreaterEqual": v.GreaterEqual} {
		all[name] = func(x operands[T]) { f(x.bools, x.a, x.b) }
	}
	for name, f := range map[string]func(dst []bool, a []T, s T){"EqualScalar": v.EqualScalar,
		"NotEqualScalar": v.NotEqualScalar, "LessScalar": v.LessScalar, "LessEqualScalar": v.LessEqualScalar,
		"GreaterScalar": v.GreaterScalar, "GreaterEqualScalar": v.GreaterEqualScalar} {
		all[name] = func(x operands[T]) { f(x.bools, x.a, x.s) }
	}
	for name, f := range map[string]func(a []T) T{"Sum": v.Sum, "MaxOf": v.MaxOf, "MinOf": v.MinOf} {
		all[name] = func(x operands[T]) {
			if len(x.dst) > 0 {
				x.dst[0] = f(x.a)
			} else {
				f(x.a)
			}
		}
	}
	return all
}

func sameBits[T Float](x, y T) bool {
	return math.Float64bits(float64(x)) == math.Float64bits(float64(y)) || x != x && y != y
}

// TestInPlace checks that the kernels give the same results if dst is the same slice as an operand,
// for each operand in turn.
func TestInPlace(t *testing.T) {
	forEachISA(t, func(t *testing.T, isa ISA) {
		t.Run("float32", func(t *testing.T) { testInPlace[float32](t, isa) })
		t.Run("float64", func(t *testing.T) { testInPlace[float64](t, isa) })
	})
}

func testInPlace[T Float](t *testing.T, isa ISA) {
	const n = 101
	rng := rand.New(rand.NewPCG(21, 22))
	fresh := func() operands[T] {
		x := operands[T]{make([]T, n), make([]T, n), make([]T, n), make([]bool, n), make([]bool, n), 0.5}
		for i := range n {
			x.a[i], x.b[i] = T(rng.NormFloat64()), T(rng.NormFloat64())
			x.a[i] *= T(math.Pow(10, float64(rng.IntN(8)))) // large angles included
			x.cond[i] = rng.IntN(2) == 0
		}
		return x
	}
	for name, run := range kernels(VectorsOf[T](isa)) {
		for operand := range 2 {
			want := fresh()
			found := want
			found.dst = append([]T(nil), [][]T{want.a, want.b}[operand]...)
			*[]*[]T{&found.a, &found.b}[operand] = found.dst
			if name == "Sum" || name == "MaxOf" || name == "MinOf" {
				continue
			}
			copy(want.dst, found.dst) // some kernels write to bools and leave dst unchanged
			run(want)
			run(found)
			for i := range n {
				require.True(t, sameBits(found.dst[i], want.dst[i]), "%s, operand %d, element %d: want %v, found %v",
					name, operand, i, want.dst[i], found.dst[i])
			}
		}
	}
}

// TestLengthsMustAgree checks that a kernel panics if an operand has a wrong length, for each
// operand in turn.
func TestLengthsMustAgree(t *testing.T) {
	forEachISA(t, func(t *testing.T, isa ISA) {
		v := VectorsOf[float64](isa)
		long, short := make([]float64, 5), make([]float64, 4)
		yes, no := make([]bool, 5), make([]bool, 4)
		for name, call := range map[string]func(){
			"unary":     func() { v.Exp(long, short) },
			"angles":    func() { v.Sin(long, short) },
			"binary a":  func() { v.Add(long, short, long) },
			"binary b":  func() { v.Add(long, long, short) },
			"scalar":    func() { v.AddScalar(long, short, 1) },
			"scaled":    func() { v.AddScaled(long, long, short, 1) },
			"compare":   func() { v.Less(yes, long, short) },
			"compare s": func() { v.LessScalar(yes, short, 1) },
			"cond":      func() { v.Select(long, no, long, long) },
			"select":    func() { v.Select(long, yes, long, short) },
			"source":    func() { v.Transpose(long, 1, short, 5, 1, 5) },
			"target":    func() { v.Transpose(short, 1, long, 5, 1, 5) },
		} {
			require.Panics(t, call, name)
		}
	})
}

package kernel

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/lab/testkit"
)

// maxUlps is the largest error that Vectors states for the transcendental functions, in units in
// the last place.
const maxUlps = 4

// domains holds the ranges in which functions of one argument are tested, for float32 and float64.
// Outside of its range, a function is almost constant or infinite. The tests include both ends of a
// range, and numbers near each power of two inside.
var domains = map[string][2][2]float64{ // [0] is for float32, [1] for float64
	"Exp":      {{-105, 90}, {-747, 711}},
	"Expm1":    {{-30, 90}, {-50, 711}},
	"Log":      {{0, math.MaxFloat32}, {0, math.MaxFloat64}},
	"Log1p":    {{-1, math.MaxFloat32}, {-1, math.MaxFloat64}},
	"Tanh":     {{-12, 12}, {-25, 25}},
	"Logistic": {{-105, 30}, {-747, 50}},
	"Rsqrt":    {{0, math.MaxFloat32}, {0, math.MaxFloat64}},
	"Sqrt":     {{0, math.MaxFloat32}, {0, math.MaxFloat64}},
	"Erf":      {{-5, 5}, {-6.5, 6.5}},
	"Sin":      {{-math.MaxFloat32, math.MaxFloat32}, {-1e9, 1e9}},
	"Cos":      {{-math.MaxFloat32, math.MaxFloat32}, {-1e9, 1e9}},
}

// points returns arguments from lo to hi. Some of them have a uniform distribution, others a
// uniform logarithm.
func points[T Float](rng *rand.Rand, lo, hi float64, count int) []T {
	x := []T{T(lo), T(hi)}
	least := math.Log(math.SmallestNonzeroFloat64)
	if sizeOf[T]() == 4 {
		least = math.Log(math.SmallestNonzeroFloat32)
	}
	for len(x) < count {
		x = append(x, T(lo+(hi-lo)*rng.Float64()), T(1+rng.NormFloat64()*math.Pow(2, -10*rng.Float64())))
		if size := math.Exp(least + (math.Log(hi)-least)*rng.Float64()); true {
			x = append(x, T(math.Copysign(size, float64(rng.IntN(2))-0.5)))
		}
	}
	inside := x[:0]
	for _, y := range x {
		if float64(y) > lo && float64(y) < hi {
			inside = append(inside, y)
		}
	}
	return inside
}

// ulps returns the difference between found and want in units in the last place of want as a T.
func ulps[T Float](found T, want *big.Float) float64 {
	fraction, least, most := 23, -149, 128
	if sizeOf[T]() == 8 {
		fraction, least, most = 52, -1074, 1024
	}
	exponent := want.MantExp(nil) - 1
	if exponent >= most && math.IsInf(float64(found), want.Sign()) {
		return 0
	}
	if math.IsNaN(float64(found)) || math.IsInf(float64(found), 0) {
		return math.Inf(1)
	}
	unit := max(exponent-fraction, least)
	distance := new(big.Float).Sub(new(big.Float).SetPrec(oracleBits).SetFloat64(float64(found)), want)
	ulps, _ := distance.SetMantExp(distance, -unit).Float64()
	return math.Abs(ulps)
}

func TestAccuracy(t *testing.T) {
	testkit.Slow(t)
	forEachISA(t, func(t *testing.T, isa ISA) {
		for name := range domains {
			t.Run("float32/"+name, func(t *testing.T) {
				f := oracle32[name]
				testAccuracy[float32](t, isa, name, 100_000, func(x float32) *big.Float { return big.NewFloat(f(float64(x))) })
			})
			if f := oracle64[name]; f != nil {
				t.Run("float64/"+name, func(t *testing.T) {
					testAccuracy[float64](t, isa, name, 1000, func(x float64) *big.Float { return f(toBig(x)) })
				})
			}
		}
	})
}

func testAccuracy[T Float](t *testing.T, isa ISA, name string, count int, oracle func(x T) *big.Float) {
	f := unaryKernels(VectorsOf[T](isa))[name]
	domain := domains[name][sizeOf[T]()/4-1]
	x := points[T](rand.New(rand.NewPCG(9, 10)), domain[0], domain[1], count)
	y := make([]T, len(x))
	f(y, x)
	worst, at := 0.0, 0
	for i := range x {
		if u := ulps(y[i], oracle(x[i])); u > worst {
			worst, at = u, i
		}
	}
	t.Logf("%.2f ulp at %v", worst, x[at])
	if worst > maxUlps {
		want, _ := oracle(x[at]).Float64()
		t.Errorf("%g ulp at %v: want %v, found %v", worst, x[at], want, y[at])
	}
}

// unaryKernels returns the kernels of one argument by their names.
func unaryKernels[T Float](v *Vectors[T]) map[string]func(dst, a []T) {
	return map[string]func(dst, a []T){
		"Neg": v.Neg, "Abs": v.Abs, "Sqrt": v.Sqrt, "Rsqrt": v.Rsqrt, "Exp": v.Exp, "Expm1": v.Expm1, "Log": v.Log,
		"Log1p": v.Log1p, "Tanh": v.Tanh, "Logistic": v.Logistic, "Erf": v.Erf, "Sin": v.Sin, "Cos": v.Cos,
		"Floor": v.Floor, "Ceil": v.Ceil, "Round": v.Round, "Sign": v.Sign,
	}
}

// exact holds the names of the functions whose results are the same on every instruction set.
var exact = map[string]bool{"Neg": true, "Abs": true, "Sqrt": true, "Floor": true, "Ceil": true, "Round": true, "Sign": true}

// specials returns arguments with special results, and numbers next to them.
func specials[T Float]() []T {
	least, normal, greatest := T(math.SmallestNonzeroFloat32), T(math.Ldexp(1, -126)), T(math.MaxFloat32)
	if sizeOf[T]() == 8 {
		smallest, largest := math.SmallestNonzeroFloat64, math.MaxFloat64
		least, normal, greatest = T(smallest), T(math.Ldexp(1, -1022)), T(largest)
	}
	x := []T{0, least, 3 * least, normal - least, normal, normal * 1.5, 0.25, 0.5, 1, 1.5, 2, 2.5, 3, 8, 127, 1e4, 1e6, 1e30, greatest,
		T(math.Inf(1))}
	for _, y := range x[:len(x):len(x)] {
		x = append(x, -y)
	}
	return append(x, T(math.NaN()))
}

// TestSpecials compares the results for special arguments with package math: NaN, infinities, zeros
// with their signs, and denormal numbers.
func TestSpecials(t *testing.T) {
	forEachISA(t, func(t *testing.T, isa ISA) {
		t.Run("float32", func(t *testing.T) { testSpecials[float32](t, isa) })
		t.Run("float64", func(t *testing.T) { testSpecials[float64](t, isa) })
	})
}

func testSpecials[T Float](t *testing.T, isa ISA) {
	x := specials[T]()
	found, want := make([]T, len(x)), make([]T, len(x))
	portable := unaryKernels(portableVectors[T]())
	for name, f := range unaryKernels(VectorsOf[T](isa)) {
		f(found, x)
		portable[name](want, x)
		for i := range x {
			requireSame(t, found[i], want[i], exact[name], fmt.Sprintf("%s(%v)", name, x[i]))
		}
	}
}

// requireSame compares two results. Special values and signs of zeros must be the same. Other
// numbers must be equal if exact is true, and within maxUlps of each other otherwise.
func requireSame[T Float](t *testing.T, found, want T, exact bool, label string) {
	t.Helper()
	switch {
	case want != want:
		require.True(t, found != found, "%s: want NaN, found %v", label, found)
	case exact || want == 0 || math.IsInf(float64(want), 0):
		require.True(t, found == want && math.Signbit(float64(found)) == math.Signbit(float64(want)),
			"%s: want %v, found %v", label, want, found)
	default:
		u := ulps(found, big.NewFloat(float64(want)))
		require.LessOrEqual(t, u, maxUlps+1.0, "%s: want %v, found %v", label, want, found)
	}
}

// TestAccuracyEverywhere tests functions at every stride-th bit pattern of float32, which includes
// numbers of all sizes, infinities and NaN.
func TestAccuracyEverywhere(t *testing.T) {
	stride := uint64(2_003)
	if testing.Short() {
		stride = 1_000_003
	}
	var x []float32
	for bits := uint64(0); bits < 1<<32; bits += stride {
		x = append(x, math.Float32frombits(uint32(bits)))
	}
	x = append(x, specials[float32]()...)
	y := make([]float32, len(x))
	forEachISA(t, func(t *testing.T, isa ISA) {
		for name, f := range unaryKernels(VectorsOf[float32](isa)) {
			oracle := oracle32[name]
			if oracle == nil {
				continue
			}
			f(y, x)
			for i := range x {
				if want := oracle(float64(x[i])); ulps32(y[i], want) > maxUlps {
					t.Fatalf("%s(%v): want %v, found %v", name, x[i], want, y[i])
				}
			}
		}
	})
}

// ulps32 is [ulps] for a float32 and an expected float64, which may be NaN or infinite.
func ulps32(found float32, want float64) float64 {
	switch nearest := float64(float32(want)); {
	case nearest == float64(found), want != want && found != found:
		return 0
	case math.IsInf(nearest, 0):
		want = math.Copysign(1<<127*2, want) // the number that would follow the greatest float32
	}
	_, exponent := math.Frexp(want)
	u := math.Abs(float64(found)-want) / math.Ldexp(1, min(max(exponent-24, -149), 104))
	if u != u {
		return math.Inf(1)
	}
	return u
}

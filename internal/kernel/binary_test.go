package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBinary compares all kernels of two operands with the portable ones on all pairs of special
// values and on random numbers. All bits must be equal, except for powers, which have their own
// tolerance, and for the sign of a NaN.
func TestBinary(t *testing.T) {
	forEachISA(t, func(t *testing.T, isa ISA) {
		t.Run("float32", func(t *testing.T) { testBinary[float32](t, isa) })
		t.Run("float64", func(t *testing.T) { testBinary[float64](t, isa) })
	})
}

func testBinary[T Float](t *testing.T, isa ISA) {
	rng := rand.New(rand.NewPCG(17, 18))
	var a, b []T
	for _, x := range specials[T]() {
		for _, y := range specials[T]() {
			a, b = append(a, x), append(b, y)
		}
	}
	for range 2000 {
		a, b = append(a, T(rng.NormFloat64()*10)), append(b, T(math.Round(rng.NormFloat64()*10)/2))
	}
	n := len(a)
	cond := make([]bool, n)
	for i := range n {
		cond[i] = rng.IntN(2) == 0
	}
	portable := kernels(portableVectors[T]())
	for name, run := range kernels(VectorsOf[T](isa)) {
		if _, unary := domains[name]; unary || name == "Sum" || name == "ExpRatio" {
			continue // these kernels have their own tests, with tolerances
		}
		for _, s := range []T{0, 2.5, T(math.NaN()), T(math.Inf(-1))} {
			found := operands[T]{make([]T, n), a, b, make([]bool, n), cond, s}
			want := operands[T]{make([]T, n), a, b, make([]bool, n), cond, s}
			run(found)
			portable[name](want)
			for i := range n {
				if name == "AddScaled" {
					want.dst[i] = fusedMulAdd(isa, s, b[i], a[i])
				}
				if found.bools[i] == want.bools[i] && sameBits(found.dst[i], want.dst[i]) {
					continue
				}
				label := fmt.Sprintf("%s(%v, %v), s = %v", name, a[i], b[i], s)
				if found.bools[i] != want.bools[i] {
					t.Fatalf("%s: want %v, found %v", label, want.bools[i], found.bools[i])
				}
				requireSame(t, found.dst[i], want.dst[i], name != "Pow", label)
			}
		}
	}
}

// TestExpRatio compares ExpRatio with its formula, for exponents up to 700.
func TestExpRatio(t *testing.T) {
	forEachISA(t, func(t *testing.T, isa ISA) {
		rng := rand.New(rand.NewPCG(19, 20))
		const n, s = 1003, 0.75
		a, b, found := make([]float64, n), make([]float64, n), make([]float64, n)
		for i := range n {
			b[i] = math.Exp(20 * rng.Float64())
			a[i] = math.Sqrt(b[i] * 700 / s * rng.Float64())
		}
		VectorsOf[float64](isa).ExpRatio(found, a, b, s)
		for i := range n {
			exponent := s * a[i] * a[i] / b[i]
			want := math.Exp(exponent) / math.Sqrt(b[i])
			require.InEpsilon(t, 1, found[i]/want, 1e-15*(4+4*exponent), "%v, %v", a[i], b[i])
		}
	})
}

// fusedMulAdd returns a·b + c rounded once, or on Portable the value that Go computes.
func fusedMulAdd[T Float](isa ISA, a, b, c T) T {
	switch {
	case isa == Portable:
		return a*b + c
	case sizeOf[T]() == 8:
		return T(math.FMA(float64(a), float64(b), float64(c)))
	}
	return roundedSum[T](float64(a)*float64(b), float64(c)) // the product is exact
}

// roundedSum returns x + y, rounded to T once. It first rounds the sum to odd in float64, after
// which rounding to T gives the correct result.
func roundedSum[T Float](x, y float64) T {
	sum := x + y
	part := sum - x
	rest := (x - (sum - part)) + (y - part)
	if bits := math.Float64bits(sum); rest != 0 && bits&1 == 0 && !math.IsInf(sum, 0) && rest == rest {
		if (rest > 0) == (sum > 0) {
			bits++
		} else {
			bits--
		}
		sum = math.Float64frombits(bits)
	}
	return T(sum)
}

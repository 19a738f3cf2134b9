package spline

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
)

// TestNatural checks the definition of the basis. Over the values that placed the knots, each
// function is orthogonal to all lines, and the squares of all functions add up to 1 on average. For
// a curve f with the coefficients b, ∫ f″² is proportional to Σ b². Beyond the knots the functions
// are lines.
func TestNatural(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	x := make([]float64, 60)
	for i := range x {
		x[i] = 1e6 + random.ExpFloat64() // values far from zero
	}
	s := NewNatural(x, 7)
	require.Equal(t, 5, s.Functions())
	s.Turn(x)
	functionsAt := func(x float64) []float64 {
		values := make([]float64, s.Functions())
		s.At(x, values)
		return values
	}
	sums, alongX, squares := make([]float64, 5), make([]float64, 5), 0.0
	for _, v := range x {
		floats.Add(sums, functionsAt(v))
		floats.AddScaled(alongX, v-1e6, functionsAt(v))
		squares += floats.Dot(functionsAt(v), functionsAt(v)) / float64(len(x))
	}
	require.InDelta(t, 1, squares, 1e-12)
	across := 0.0
	for _, v := range x {
		across += functionsAt(v)[0] * functionsAt(v)[1]
	}
	require.InDelta(t, 0, across, 1e-10)
	for j := range sums {
		require.InDelta(t, 0, sums[j], 1e-8)
		require.InDelta(t, 0, alongX[j], 1e-8)
	}
	low, high := floats.Min(x), floats.Max(x)
	const step = 1e-3
	second := func(x float64, b []float64) float64 {
		return (floats.Dot(b, functionsAt(x-step)) - 2*floats.Dot(b, functionsAt(x)) + floats.Dot(b, functionsAt(x+step))) / (step * step)
	}
	ratio := 0.0
	for range 3 {
		b := make([]float64, 5)
		for j := range b {
			b[j] = random.NormFloat64()
		}
		bend := 0.0
		for u := low - 0.1; u < high+0.1; u += step {
			bend += second(u, b) * second(u, b) * step
		}
		if bend /= floats.Dot(b, b); ratio != 0 {
			require.InEpsilon(t, ratio, bend, 0.01)
		}
		ratio = bend
		for _, outside := range []float64{low - 2, high + 2} {
			require.Less(t, math.Abs(second(outside, b)), 1e-2*math.Sqrt(bend))
		}
	}
	require.Nil(t, NewNatural([]float64{0, 1, 1, 0}, 7), "two values have no curve")
	require.Equal(t, 2, NewNatural([]float64{0, 1, 2, 3}, 7).Functions())
}

package design

import (
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/internal/stream"
)

// TestRounded compares numbers of 12 digits with the same numbers by way of their text, for numbers
// of all sizes, with few and with many digits, and halfway between two numbers of 12 digits.
func TestRounded(t *testing.T) {
	random := stream.Rand(1, "rounded")
	for range 100_000 {
		x := random.NormFloat64() * math.Pow(10, float64(random.IntN(26)-13))
		for _, v := range []float64{x, float64(float32(x)), math.Round(x*1000) / 1000, math.Round(x), rounded(x), rounded(x) * (1 + 5e-12)} {
			text, err := strconv.ParseFloat(strconv.FormatFloat(v, 'e', 11, 64), 64)
			require.NoError(t, err)
			require.Equal(t, text, rounded(v), "%v", v)
		}
	}
	for _, v := range []float64{0, 1, 0.1, 1e-6, 1e9, 999999999999.5, 0.0999999999999, 1 / 3.0, 123456789012.5, 12345.67890125, math.Inf(1)} {
		text, err := strconv.ParseFloat(strconv.FormatFloat(v, 'e', 11, 64), 64)
		require.NoError(t, err)
		require.Equal(t, text, rounded(v), "%v", v)
	}
}

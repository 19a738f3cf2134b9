package formula

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

var smoothed = []float64{1, 3, 2, 5, 4, 7.5, 2, 9, 6, 0.3, 8.1, 4.4}

// The covariance of a curve around its line agrees with R's mgcv 1.8, to 7 digits in its diagonal
// and its first row. In R it is P X S⁻ Xᵀ P over the mean of its diagonal. Here X and S are the
// design and the penalty of smoothCon(s(x, bs = "cr", k), scale.penalty = FALSE), and P is the
// projection that removes lines.
func TestBasisIsThatOfMgcv(t *testing.T) {
	for k, want := range map[int][2][]float64{
		4: {{0.8005218, 0.6407409, 0.08052, 1.321961, 1.189086, 0.1000378, 0.08052, 2.464625, 0.9351328, 2.622622, 0.4738491, 1.290383},
			{0.8005218, -0.6481715, -0.02100781, -0.9755581, -0.9738998, 0.1774894, -0.02100781, 1.314042, -0.6852849, 1.430015, 0.6145886, -1.011727}},
		6: {{0.7671277, 0.5869939, 0.1483946, 1.331727, 1.206707, 0.2076667, 0.1483946, 2.396806, 0.852784, 2.543248, 0.4898688, 1.320281},
			{0.7671277, -0.604662, 0.005106413, -0.9520521, -0.9517872, 0.1910295, 0.005106413, 1.24086, -0.6478828, 1.341851, 0.5985923, -0.9932894}},
	} {
		basis, err := Smooth{Variable{Column: "x"}, k}.Basis(smoothed, len(smoothed))
		require.NoError(t, err)
		var covariance mat.Dense
		covariance.Mul(basis, basis.T())
		for i := range smoothed {
			assert.InDelta(t, want[0][i], covariance.At(i, i), 2e-6)
			assert.InDelta(t, want[1][i], covariance.At(0, i), 2e-6)
		}
		// Later rows have the same functions: a copy of a row has equal values, and outside the
		// knots the functions are lines.
		later, err := Smooth{Variable{Column: "x"}, k}.Basis(append(append([]float64{}, smoothed...), 5, 10, 11, 12), len(smoothed))
		require.NoError(t, err)
		n := len(smoothed)
		for j := range k - 2 {
			assert.InDelta(t, basis.At(3, j), later.At(n, j), 1e-12)
			assert.InDelta(t, later.At(n+3, j)-later.At(n+2, j), later.At(n+2, j)-later.At(n+1, j), 1e-9)
		}
		require.True(t, floats.EqualApprox(mat.Col(nil, 0, basis), mat.Col(nil, 0, later)[:n], 1e-12))
	}
}

func TestSmoothsInFormulas(t *testing.T) {
	for text, want := range map[string]string{
		"y ~ s(x)":                  "y ~ 1 + x + s(x)",
		"y ~ s(x, k=20) + (1|g)":    "y ~ 1 + x + s(x, k=20) + (1 | g)",
		"y ~ s(log(x), k = 10) + x": "y ~ 1 + log(x) + x + s(log(x))",
		"y ~ s":                     "y ~ 1 + s",
	} {
		f, err := Parse(text)
		require.NoError(t, err)
		assert.Equal(t, want, f.String())
		again, err := Parse(f.String())
		require.NoError(t, err)
		assert.Equal(t, f.String(), again.String())
	}
	for text, want := range map[string]string{
		"y ~ s(x, 5)":      "character 10: got \"5\", want the number of knots, as in s(x, k=20)",
		"y ~ s(x, k=2)":    "want a number of knots, 3 to 60",
		"y ~ s(factor(x))": "s() is of a number, not of factor(x)",
		"y ~ s(x) + s(x)":  "character 12: s(x) twice",
		"y ~ s(x) - x":     "character 7: s(x) bends the line of x, which cannot be taken away",
		"y ~ s(x):z":       `got ":", want "+" or the end`,
		"y ~ (s(x) | g)":   `unknown function "s"`,
	} {
		_, err := Parse(text)
		assert.ErrorContains(t, err, want)
	}
	_, err := Smooth{Variable{Column: "x"}, 12}.Basis(smoothed, len(smoothed))
	assert.ErrorContains(t, err, "s(x, k=12): got 11 different values, want at least as many as the 12 knots: write s(x, k=11)")
}

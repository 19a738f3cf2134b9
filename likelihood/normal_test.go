package likelihood

import (
	"math"
	"math/big"
	"testing"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mathext"

	"github.com/transdim/vti/lab/testkit"
)

// bigMills returns Mills' ratio by its continued fraction with 300 bits.
func bigMills(x float64) float64 {
	exact := func(v float64) *big.Float { return new(big.Float).SetPrec(300).SetFloat64(v) }
	rest := exact(x)
	for k := 4000.0; k > 0; k-- {
		rest.Add(exact(x), new(big.Float).Quo(exact(k), rest))
	}
	value, _ := new(big.Float).Quo(exact(1), rest).Float64()
	return value
}

// log Φ keeps its digits: it agrees with math.Erfc near the middle, and with a continued fraction
// in the tail.
func TestLogNormalCDF(t *testing.T) {
	for x := -5.0; x < 8; x += 0.0625 {
		require.InEpsilon(t, math.Erfc(-x/math.Sqrt2)/2, math.Exp(logNormalCDF(x)), 2e-14, "%v", x)
	}
	for _, x := range []float64{1, 1.49, 1.51, 3, 10, 40, 1e3, 1e8} {
		require.InDelta(t, math.Log(bigMills(x)), logMills(x), 1e-14*(1+math.Log(x)), "%v", x)
	}
	require.InEpsilon(t, math.Log1p(-math.Erfc(7/math.Sqrt2)/2), logNormalCDF(7), 1e-13)
}

// Quantiles invert log Φ, and agree with gonum where probabilities are not too small.
func TestNormalQuantile(t *testing.T) {
	for _, x := range []float64{0, -1e-9, -0.3, -1, -4, -12, -40} {
		require.InDelta(t, x, normalQuantile(logNormalCDF(x)), 1e-14*(1+math.Abs(x)), "%v", x)
	}
	for _, p := range []float64{1e-300, 1e-20, 0.01, 0.3, 0.4999} {
		require.InEpsilon(t, mathext.NormalQuantile(p), normalQuantile(math.Log(p)), 1e-12)
	}
}

// The functions log Φ and normalQuantile computed in graphs agree with the functions on the host,
// and their gradients with the derivatives in closed form.
func TestNormalInGraphs(t *testing.T) {
	var xs []float64
	for x := -12.0; x <= 12; x += 0.37 {
		xs = append(xs, x)
	}
	outputs := MustExecOnceN(testkit.Backend(t), func(x *Node) []*Node {
		value := logNormalCDFNode(x)
		p := logNormalCDFNode(Neg(Abs(x)))
		back := normalQuantileNode(p)
		gradient := Gradient(ReduceAllSum(value), x)[0]
		return []*Node{value, gradient, back, Gradient(ReduceAllSum(back), x)[0]}
	}, xs)
	output := func(i int) []float64 { return tensors.MustCopyFlatData[float64](outputs[i]) }
	for i, x := range xs {
		want := logNormalCDF(x)
		require.InDelta(t, want, output(0)[i], 1e-14*(1+math.Abs(want)), "%v", x)
		slope := math.Exp(logNormalPDF(x) - want)
		require.InDelta(t, slope, output(1)[i], 1e-11*(1+slope), "%v", x)
		require.InDelta(t, -math.Abs(x), output(2)[i], 1e-13*(1+math.Abs(x)), "%v", x)
		require.InDelta(t, -math.Copysign(1, x), output(3)[i], 1e-11, "%v", x)
	}
}

package likelihood

import (
	"math"

	. "github.com/gomlx/gomlx/pkg/core/graph"
)

// The functions here compute the logarithm of the standard normal distribution function Φ with all
// digits, also far in its tails. With the normal density φ and Mills' ratio R(x) = Φ(−x)/φ(x), log
// Φ(−x) = log φ(x) + log R(x). For x ≥ 0
//
//	log R(x) = −log(x + millsShift) + a Chebyshev series in t = millsShift / (x + millsShift),
//
// which is smooth from x = 0 (t = 1) to ∞ (t = 0).
const (
	millsShift = 2.5
	millsTerms = 26 // terms of the series, with an error of 10⁻¹⁵
)

// millsSeries holds the coefficients of the series, the first one halved.
var millsSeries = fitMills()

// fitMills returns the coefficients of the series, by interpolation at the Chebyshev nodes.
func fitMills() []float64 {
	const nodes = 2 * millsTerms
	series := make([]float64, millsTerms)
	for i := range nodes {
		angle := math.Pi * (float64(i) + 0.5) / nodes
		t := (math.Cos(angle) + 1) / 2
		x := millsShift / t * (1 - t)
		value := math.Log(mills(x) * millsShift / t)
		for k := range series {
			series[k] += 2.0 / nodes * value * math.Cos(float64(k)*angle)
		}
	}
	series[0] /= 2
	return series
}

// mills returns Φ(−x)/φ(x) for x ≥ 0. For large x it uses the continued fraction of Laplace.
func mills(x float64) float64 {
	if x < 1.5 {
		return math.Erfc(x/math.Sqrt2) / 2 * math.Exp(x*x/2+halfLog2Pi)
	}
	rest := x
	for k := 400.0; k > 0; k-- {
		rest = x + k/rest
	}
	return 1 / rest
}

// logMills returns the log of Mills' ratio, log (Φ(−x)/φ(x)), for x ≥ 0.
func logMills(x float64) float64 {
	t := millsShift / (x + millsShift)
	u, after, next := 2*t-1, 0.0, 0.0
	for k := millsTerms - 1; k > 0; k-- { // Clenshaw
		after, next = 2*u*after-next+millsSeries[k], after
	}
	return u*after - next + millsSeries[0] - math.Log(x+millsShift)
}

// logNormalCDF returns log Φ(x).
func logNormalCDF(x float64) float64 {
	tail := logNormalPDF(x) + logMills(math.Abs(x))
	if x <= 0 {
		return tail
	}
	return math.Log1p(-math.Exp(tail))
}

func logNormalPDF(x float64) float64 { return -x*x/2 - halfLog2Pi }

// normalQuantile returns the x ≤ 0 with log Φ(x) = p. It uses Newton's method from below, which
// converges since log Φ is concave.
func normalQuantile(p float64) float64 {
	x := -math.Sqrt(math.Max(0, -2*(p+math.Ln2)))
	for range 20 {
		tail := logMills(-x)
		step := (logNormalPDF(x) + tail - p) * math.Exp(tail)
		x -= step
		if math.Abs(step) <= 1e-15*math.Abs(x) {
			break
		}
	}
	return math.Min(x, 0)
}

// logMillsNode does the same as logMills in graphs.
func logMillsNode(x *Node) *Node {
	shifted := AddScalar(x, millsShift)
	u := AddScalar(MulScalar(Reciprocal(shifted), 2*millsShift), -1)
	after, next := ZerosLike(u), ZerosLike(u)
	for k := millsTerms - 1; k > 0; k-- {
		after, next = AddScalar(Sub(Mul(MulScalar(u, 2), after), next), millsSeries[k]), after
	}
	return Sub(AddScalar(Sub(Mul(u, after), next), millsSeries[0]), Log(shifted))
}

func logNormalPDFNode(x *Node) *Node { return AddScalar(MulScalar(Square(x), -0.5), -halfLog2Pi) }

// magnitude returns |x|, with the gradient −1 at 0.
func magnitude(x *Node) *Node { return Where(LessOrEqual(x, ZerosLike(x)), Neg(x), x) }

func logNormalCDFNode(x *Node) *Node {
	tail := Add(logNormalPDFNode(x), logMillsNode(magnitude(x)))
	low := LessOrEqual(x, ZerosLike(x))
	return Where(low, tail, Log1P(Neg(Exp(MinScalar(tail, -math.Ln2)))))
}

// quantileSteps is the number of Newton steps for a quantile in graphs. More steps give no more
// digits in float64.
const quantileSteps = 7

// normalQuantileNode does the same as normalQuantile in graphs. The gradient of its last Newton
// step is the exact gradient.
func normalQuantileNode(p *Node) *Node {
	fixed := StopGradient(p)
	x := Neg(Sqrt(MaxScalar(MulScalar(AddScalar(fixed, math.Ln2), -2), 0)))
	for range quantileSteps {
		tail := logMillsNode(Neg(x))
		x = MinScalar(Sub(x, Mul(Sub(Add(logNormalPDFNode(x), tail), fixed), Exp(tail))), 0)
	}
	x = StopGradient(x)
	tail := StopGradient(logMillsNode(Neg(x)))
	return Sub(x, Mul(Sub(Add(logNormalPDFNode(x), tail), p), Exp(tail)))
}

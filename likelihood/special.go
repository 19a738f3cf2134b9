package likelihood

import (
	"math"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
)

// seriesFrom is the least argument of Stirling's series of log Γ and of its derivatives, with an
// error below 10⁻¹²; smaller arguments are shifted up to it (Abramowitz and Stegun 6.1.41).
const seriesFrom = 6

// bernoulli holds the Bernoulli numbers B_2, B_4, …
var bernoulli = []float64{1.0 / 6, -1.0 / 30, 1.0 / 42, -1.0 / 30, 5.0 / 66, -691.0 / 2730, 7.0 / 6}

// stirlingRest returns the remainder of Stirling's formula for log Γ(x), x > 0:
//
//	log Γ(x) − (x − ½) log x + x − ½ log 2π,
//
// which is about 1/(12x) for large x, without loss of digits.
func stirlingRest(x *Node) *Node {
	sum := shiftedSum(x, 0, func(x *Node) *Node { return AddScalar(Mul(AddScalar(x, 0.5), Log1P(Reciprocal(x))), -1) })
	inverse := Reciprocal(AddScalar(x, seriesFrom))
	return Add(sum, Mul(inverse, polynomial(Square(inverse), func(k float64) float64 { return 1 / (2 * k * (2*k - 1)) })))
}

// shiftedSum returns Σ_j term(x + j) over j from first to seriesFrom − 1.
func shiftedSum(x *Node, first int, term func(x *Node) *Node) *Node {
	sum := term(AddScalar(x, float64(first)))
	for j := first + 1; j < seriesFrom; j++ {
		sum = Add(sum, term(AddScalar(x, float64(j))))
	}
	return sum
}

// stirlingRestAt does the same as stirlingRest on the host.
func stirlingRestAt(x float64) (sum float64) {
	for x < seriesFrom {
		sum += (x+0.5)*math.Log1p(1/x) - 1
		x++
	}
	return sum + polynomialAt(1/(x*x), func(k float64) float64 { return 1 / (2 * k * (2*k - 1)) })/x
}

// digammaTimes returns x ψ(x) with the digamma function ψ, which is −1 at 0. squareTrigamma returns
// x² ψ′(x), which is 1 at 0.
func digammaTimes(x *Node) *Node {
	sum := shiftedSum(x, 1, Reciprocal)
	top := AddScalar(x, seriesFrom)
	inverse := Reciprocal(top)
	square := Square(inverse)
	psi := Sub(Log(top), MulScalar(inverse, 0.5))
	psi = Sub(psi, Mul(square, polynomial(square, func(k float64) float64 { return 1 / (2 * k) })))
	return AddScalar(Mul(x, Sub(psi, sum)), -1)
}

func squareTrigamma(x *Node) *Node {
	sum := shiftedSum(x, 1, func(x *Node) *Node { return Square(Reciprocal(x)) })
	inverse := Reciprocal(AddScalar(x, seriesFrom))
	square := Square(inverse)
	psi := Add(inverse, MulScalar(square, 0.5))
	psi = Add(psi, Mul(Mul(square, inverse), polynomial(square, func(float64) float64 { return 1 })))
	return AddScalar(Mul(Square(x), Add(psi, sum)), 1)
}

// digammaTimesAt does the same as digammaTimes on the host, and squareTrigammaAt the same as
// squareTrigamma.
func digammaTimesAt(x float64) float64 {
	sum := 0.0
	for j := 1; j < seriesFrom; j++ {
		sum += 1 / (x + float64(j))
	}
	top := x + seriesFrom
	square := 1 / (top * top)
	psi := math.Log(top) - 0.5/top - square*polynomialAt(square, func(k float64) float64 { return 1 / (2 * k) })
	return x*(psi-sum) - 1
}

func squareTrigammaAt(x float64) float64 {
	sum := 0.0
	for j := 1; j < seriesFrom; j++ {
		sum += 1 / ((x + float64(j)) * (x + float64(j)))
	}
	top := x + seriesFrom
	square := 1 / (top * top)
	psi := 1/top + square/2 + square/top*polynomialAt(square, func(float64) float64 { return 1 })
	return x*x*(psi+sum) + 1
}

// polynomial returns Σ_k B_2k c(k) s^(k−1) with the Bernoulli numbers B_2k. polynomialAt does the
// same on the host.
func polynomial(s *Node, c func(k float64) float64) *Node {
	last := len(bernoulli) - 1
	sum := MulScalar(OnesLike(s), bernoulli[last]*c(float64(last+1)))
	for k := last - 1; k >= 0; k-- {
		sum = AddScalar(Mul(sum, s), bernoulli[k]*c(float64(k+1)))
	}
	return sum
}

func polynomialAt(s float64, c func(k float64) float64) (sum float64) {
	for k := len(bernoulli) - 1; k >= 0; k-- {
		sum = sum*s + bernoulli[k]*c(float64(k+1))
	}
	return sum
}

// logOf returns log y of positive constants, which may have been rounded to 0 or infinity.
func logOf(y *Node) *Node {
	if y.DType() == dtypes.Float32 {
		y = MinScalar(MaxScalar(y, math.SmallestNonzeroFloat32*0x1p23), math.MaxFloat32)
	}
	return Log(y)
}

// cappedExpm1 returns exp x − 1, and its tangent at mostLogRatio for a larger x.
func cappedExpm1(x *Node) *Node {
	excess := expm1(MinScalar(x, mostLogRatio))
	return Add(excess, MulScalar(MaxScalar(AddScalar(x, -mostLogRatio), 0), math.Exp(mostLogRatio)))
}

func cappedExpm1At(x float64) float64 {
	return math.Expm1(math.Min(x, mostLogRatio)) + math.Max(x-mostLogRatio, 0)*math.Exp(mostLogRatio)
}

// cappedExp returns exp x, and exp mostLogRatio for a larger x.
func cappedExp(x *Node) *Node { return Exp(MinScalar(x, mostLogRatio)) }

func cappedExpAt(x float64) float64 { return math.Exp(math.Min(x, mostLogRatio)) }

// climb returns the curvature of a quadratic that touches u − exp u at u and stays below it between
// u and the mode 0. For u > 0 it is the curvature at u, since the curvature is smaller between u
// and 0. For u < 0 the slope of the quadratic is the chord of the concave slope of u − exp u.
func climb(u float64) float64 {
	curvature := cappedExpAt(u)
	if u < 0 {
		curvature = math.Expm1(u) / u
	}
	return curvature
}

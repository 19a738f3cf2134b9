package likelihood

import (
	"math"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
)

// seriesFrom is the least argument of Stirling's series of log Γ and of its derivatives, with an
// error below 10⁻¹²; smaller arguments are shifted up to it (Abramowitz and Stegun 6.1.41).
const seriesFrom = 6

// Terms of the asymptotic series of log Γ and of its first two derivatives: the Bernoulli numbers
// B_2, B_4, … times factors.
var (
	gammaSeries    = bernoulli(func(k float64) float64 { return 1 / (2 * k * (2*k - 1)) })
	digammaSeries  = bernoulli(func(k float64) float64 { return 1 / (2 * k) })
	trigammaSeries = bernoulli(func(float64) float64 { return 1 })
)

// series holds the coefficients of a polynomial, the constant first.
type series [7]float64

// bernoulli returns B_2k factor(k) for k = 1, 2, ….
func bernoulli(factor func(k float64) float64) series {
	numbers := series{1.0 / 6, -1.0 / 30, 1.0 / 42, -1.0 / 30, 5.0 / 66, -691.0 / 2730, 7.0 / 6}
	for i := range numbers {
		numbers[i] *= factor(float64(i + 1))
	}
	return numbers
}

// stirlingRest returns the remainder of Stirling's formula for log Γ(x), x > 0:
//
//	log Γ(x) − (x − ½) log x + x − ½ log 2π,
//
// which is about 1/(12x) for large x, without loss of digits.
func stirlingRest(x *Node) *Node {
	sum := ZerosLike(x)
	for j := range seriesFrom {
		shifted := AddScalar(x, float64(j))
		sum = Add(sum, AddScalar(Mul(AddScalar(shifted, 0.5), Log1P(Reciprocal(shifted))), -1))
	}
	inverse := Reciprocal(AddScalar(x, seriesFrom))
	return Add(sum, Mul(inverse, polynomial(Square(inverse), &gammaSeries)))
}

// stirlingRestAt does the same as stirlingRest on the host.
func stirlingRestAt(x float64) (sum float64) {
	for x < seriesFrom {
		sum += (x+0.5)*math.Log1p(1/x) - 1
		x++
	}
	return sum + polynomialAt(1/(x*x), &gammaSeries)/x
}

// stirlingRests writes stirlingRestAt of each x to rests. Both hold n numbers, and work 2n. An x
// below seriesFrom is shifted by Γ(x + 6) = x (x + 1) … (x + 5) Γ(x).
func stirlingRests(rests, x, work []float64) {
	ratio, product := work[:len(x)], work[len(x):2*len(x)]
	for i, v := range x {
		ratio[i], product[i] = 1, 1
		if v < seriesFrom {
			ratio[i] = 1 + seriesFrom/v
			product[i] = (1 + 1/v) * (1 + 2/v) * (1 + 3/v) * (1 + 4/v) * (1 + 5/v)
		}
	}
	vectors.Log(ratio, ratio)
	vectors.Log(product, product)
	for i, v := range x {
		sum := 0.0
		if v < seriesFrom {
			sum = (v+seriesFrom-0.5)*ratio[i] - product[i] - seriesFrom
			v += seriesFrom
		}
		rests[i] = sum + polynomialAt(1/(v*v), &gammaSeries)/v
	}
}

// polygammasAt returns x ψ(x) with the digamma function ψ, which is −1 at 0, and x² ψ′(x), which is
// 1 at 0, given log(x + seriesFrom).
func polygammasAt(x, logTop float64) (timesDigamma, squareTrigamma float64) {
	var sum, sumOfSquares float64
	for j := 1; j < seriesFrom; j++ {
		r := 1 / (x + float64(j))
		sum += r
		sumOfSquares += r * r
	}
	inverse := 1 / (x + seriesFrom)
	square := inverse * inverse
	digamma := logTop - inverse/2 - square*polynomialAt(square, &digammaSeries) - sum
	trigamma := inverse + square/2 + square*inverse*polynomialAt(square, &trigammaSeries) + sumOfSquares
	return x*digamma - 1, x*x*trigamma + 1
}

// polynomial returns Σ_k c_k s^k. polynomialAt does the same on the host.
func polynomial(s *Node, c *series) *Node {
	sum := MulScalar(OnesLike(s), c[len(c)-1])
	for k := len(c) - 2; k >= 0; k-- {
		sum = AddScalar(Mul(sum, s), c[k])
	}
	return sum
}

func polynomialAt(s float64, c *series) (sum float64) {
	for k := len(c) - 1; k >= 0; k-- {
		sum = sum*s + c[k]
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

// cappedExpm1s writes cappedExpm1At of each x to dst.
func cappedExpm1s(dst, x []float64) {
	vectors.MinScalar(dst, x, mostLogRatio)
	vectors.Expm1(dst, dst)
	for i, v := range x {
		if v > mostLogRatio {
			dst[i] = cappedExpm1At(v)
		}
	}
}

// cappedExp returns exp x, and exp mostLogRatio for a larger x.
func cappedExp(x *Node) *Node { return Exp(MinScalar(x, mostLogRatio)) }

func cappedExpAt(x float64) float64 { return math.Exp(math.Min(x, mostLogRatio)) }

// cappedExps writes cappedExpAt of each x to dst.
func cappedExps(dst, x []float64) {
	vectors.MinScalar(dst, x, mostLogRatio)
	vectors.Exp(dst, dst)
}

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

package varsel

import (
	"math"

	. "github.com/gomlx/gomlx/pkg/core/graph"
)

// likelihood is the density of the responses given linear predictors, summed over rows. Every
// constant is kept, so that the integral over the parameters is the evidence.
type likelihood interface {
	// logDensity returns log p(y | eta, scale) [B]. eta [B,n] is the linear predictor of every row,
	// offset included; logScale [B,1] is the logarithm of the noise scale in the units of y, or nil
	// for a likelihood without one.
	logDensity(eta, logScale *Node) *Node
	// logDensityAt is the same on the host, up to a constant, for one eta [n] and noise scale.
	logDensityAt(eta []float64, scale float64) float64
	// working returns positive weights w and responses ŷ such that −½ Σ w_i (η_i − ŷ_i)² has the
	// gradient of the log density at eta. Its curvature is that of the log density, or for rows in
	// a heavy tail a fifth of what cautious gives; with cautious it is large enough for iterated
	// maximisation to climb.
	working(eta []float64, scale float64, cautious bool) (weights, response []float64)
}

// constant puts values into the graph of like, in its float type.
func constant(like *Node, values []float64, dims ...int) *Node {
	return ConvertDType(Reshape(Const(like.Graph(), values), dims...), like.DType())
}

var halfLog2Pi = math.Log(2*math.Pi) / 2

// gaussian is y_i ~ N(eta_i, σ²).
type gaussian struct {
	y []float64
	// rows is the number of observations and residual the part of their sum of squares that no
	// coefficient can change: both differ from len(y) and 0 when the data were compressed by
	// compressGaussian.
	rows     int
	residual float64
}

func (l gaussian) logDensity(eta, logScale *Node) *Node {
	squares := ReduceSum(Square(Sub(eta, constant(eta, l.y, 1, len(l.y)))), -1)
	squares = AddScalar(squares, l.residual)
	precision := Exp(MulScalar(logScale, -2))
	return rowTotal(MulScalar(Mul(squares, Reshape(precision, -1)), -0.5), logScale, l.rows)
}

// rowTotal subtracts n (log σ + ½ log 2π) from sums [B].
func rowTotal(sums, logScale *Node, n int) *Node {
	return AddScalar(Sub(sums, MulScalar(Reshape(logScale, -1), float64(n))), -float64(n)*halfLog2Pi)
}

// robust is y_i ~ (1 − α) N(eta_i, σ²) + α N(eta_i, (κσ)²) with the mean inside both normals (eq.
// 20 as meant, not as printed).
type robust struct {
	y       []float64
	outlier float64 // α
	ratio   float64 // κ = σ2 / σ1
}

func (l robust) logDensity(eta, logScale *Node) *Node {
	residual := Mul(Sub(eta, constant(eta, l.y, 1, len(l.y))), Exp(Neg(logScale)))
	squares := MulScalar(Square(residual), -0.5)
	inlier := AddScalar(squares, math.Log1p(-l.outlier))
	outlier := AddScalar(MulScalar(squares, 1/(l.ratio*l.ratio)), math.Log(l.outlier)-math.Log(l.ratio))
	return rowTotal(ReduceSum(logAddExp(inlier, outlier), -1), logScale, len(l.y))
}

// logAddExp is log(exp a + exp b) without overflow.
func logAddExp(a, b *Node) *Node {
	return Add(Max(a, b), Log1P(Exp(Neg(Abs(Sub(a, b))))))
}

// student is y_i ~ eta_i + σ t_ν.
type student struct {
	y       []float64
	degrees float64 // ν
}

func (l student) logDensity(eta, logScale *Node) *Node {
	residual := Mul(Sub(eta, constant(eta, l.y, 1, len(l.y))), Exp(Neg(logScale)))
	half := (l.degrees + 1) / 2
	sums := MulScalar(ReduceSum(Log1P(MulScalar(Square(residual), 1/l.degrees)), -1), -half)
	upper, _ := math.Lgamma(half)
	lower, _ := math.Lgamma(l.degrees / 2)
	perRow := upper - lower - math.Log(l.degrees*math.Pi)/2
	n := float64(len(l.y))
	return AddScalar(Sub(sums, MulScalar(Reshape(logScale, -1), n)), n*perRow)
}

// logistic is y_i ~ Bernoulli(1 / (1 + exp −eta_i)).
type logistic struct{ y []float64 }

func (l logistic) logDensity(eta, _ *Node) *Node {
	softplus := Add(MaxScalar(eta, 0), Log1P(Exp(Neg(Abs(eta)))))
	return ReduceSum(Sub(Mul(eta, constant(eta, l.y, 1, len(l.y))), softplus), -1)
}

// poisson is y_i ~ Poisson(exp eta_i).
type poisson struct{ y []float64 }

func (l poisson) logDensity(eta, _ *Node) *Node {
	var factorials float64
	for _, count := range l.y {
		value, _ := math.Lgamma(count + 1)
		factorials += value
	}
	sums := ReduceSum(Sub(Mul(eta, constant(eta, l.y, 1, len(l.y))), Exp(eta)), -1)
	return AddScalar(sums, -factorials)
}

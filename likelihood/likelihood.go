package likelihood

import (
	"math"
	"math/rand/v2"

	. "github.com/gomlx/gomlx/pkg/core/graph"
)

// Likelihood is the density of one response y given its linear predictor η and its noise scale σ,
// or another positive parameter in place of σ (see Kind.Scale). A likelihood without such a
// parameter ignores the arguments scale and logScale; in computation graphs logScale is then nil.
// Graph methods take y [1, n] or [B, n], eta [B, n] and logScale = log σ [B, 1], and work in the
// float type of eta. Their results are finite, with finite gradients, in float32 for |η|, |y| ≤ 10⁴
// and |log σ| ≤ 20.
type Likelihood interface {
	// LogKernel returns log p(y | η, σ) − LogConstant(y) of each row [B, n]. logScale is log σ.
	LogKernel(y, eta, logScale *Node) *Node
	Row
}

// Row computes the log density of one response, its derivatives, moments and draws, in float64 and
// outside of graphs.
type Row interface {
	// LogKernelAt returns log p(y | η, σ) − LogConstant(y).
	LogKernelAt(y, eta, scale float64) float64
	// LogConstant returns the part of the log density that depends neither on η nor on σ.
	LogConstant(y float64) float64
	// NewtonAt returns the slope of log p in η and the curvature of −log p. In a heavy tail, where
	// this curvature is small or negative, it returns a fifth of the curvature of BoundAt instead.
	NewtonAt(y, eta, scale float64) (slope, curvature float64)
	// BoundAt returns the slope, and the curvature of a quadratic that touches log p at η and stays
	// below log p between η and the mode in η. Repeated maximisation of such quadratics never
	// lowers log p.
	BoundAt(y, eta, scale float64) (slope, curvature float64)
	// Mean returns the mean of y, NaN if there is none.
	Mean(eta, scale float64) float64
	// Variance returns the variance of y, +Inf if there is none.
	Variance(eta, scale float64) float64
	// Draw draws a response.
	Draw(eta, scale float64, random *rand.Rand) float64
}

// HeavyTailed is a Row of y = η + σ ε whose log density is not concave.
type HeavyTailed interface {
	Row
	// CurvatureAt returns the slope of log p in η and the curvature of −log p, which is negative in
	// tails.
	CurvatureAt(y, eta, scale float64) (slope, curvature float64)
}

// leastCurvature is the least curvature that NewtonAt returns for a heavy-tailed log density, as a
// share of the curvature of BoundAt. At an outlier the curvature itself is small or negative. Half
// or twice this share give the same answers (docs/benchmarks/constants.md).
const leastCurvature = 0.2

var halfLog2Pi = math.Log(2*math.Pi) / 2

// LogDensity returns Σ_i t_i log p(y_i | η_i, σ) [B], including all constants, summed in the float
// type of eta. times [n] holds t_i, the number of rows that each response of y [n] stands for;
// times is nil if each response stands for one row. eta is [B, n], and logScale [B, 1] or nil.
func LogDensity(l Likelihood, y, times []float64, eta, logScale *Node) *Node {
	row := func(values []float64) *Node {
		return ConvertDType(Reshape(Const(eta.Graph(), values), 1, len(y)), eta.DType())
	}
	kernel := l.LogKernel(row(y), eta, logScale)
	if times != nil {
		kernel = Mul(kernel, row(times))
	}
	return AddScalar(ReduceSum(kernel, -1), LogConstants(l, y, times))
}

// tailShare is the curvature that SlopeAndCurvature returns in heavy tails, as a share of the
// square of the slope. Quadrature around the mode corrects what the curvature lacks.
const tailShare = 0.2

// SlopeAndCurvature returns, for each row [B, n], the slope of log p in η and the curvature of −log
// p, at least 0. In a heavy tail the curvature is at least a share of the square of the slope,
// which is the information in one row. Where the curvature overflows it is 0. The arguments are as
// in Likelihood. No gradient passes through the results.
func SlopeAndCurvature(l Likelihood, y, eta, logScale *Node) (slope, curvature *Node) {
	eta = Identity(StopGradient(eta)) // a copy, since Gradient would stop at η itself
	slope = Gradient(ReduceAllSum(l.LogKernel(y, eta, logScale)), eta)[0]
	curvature = MaxScalar(Neg(Gradient(ReduceAllSum(slope), eta)[0]), 0)
	if _, heavy := l.(HeavyTailed); heavy {
		curvature = Max(curvature, MulScalar(Square(slope), tailShare))
	}
	curvature = Where(IsFinite(curvature), curvature, ZerosLike(curvature))
	return StopGradient(slope), StopGradient(curvature)
}

// LogConstants returns Σ_i t_i LogConstant(y_i), with times [n] as in LogDensity.
func LogConstants(l Row, y, times []float64) (sum float64) {
	for i, v := range y {
		sum += timesOf(times, i) * l.LogConstant(v)
	}
	return sum
}

// LogDensityAt does the same as LogDensity on the host, for one η [n] and σ.
func LogDensityAt(l Row, y, times, eta []float64, scale float64) (sum float64) {
	return LogKernels(l, y, times, eta, scale) + LogConstants(l, y, times)
}

// logAddExp returns log(exp a + exp b) without overflow.
func logAddExp(a, b *Node) *Node { return Add(Max(a, b), Log1P(Exp(Neg(Abs(Sub(a, b)))))) }

func logAddExpAt(a, b float64) float64 {
	return math.Max(a, b) + math.Log1p(math.Exp(-math.Abs(a-b)))
}

// standardise returns (y − η)/σ.
func standardise(y, eta, logScale *Node) *Node { return Mul(Sub(y, eta), Exp(Neg(logScale))) }

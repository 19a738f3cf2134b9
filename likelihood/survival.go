package likelihood

import (
	"math"
	"math/rand/v2"

	. "github.com/gomlx/gomlx/pkg/core/graph"
)

// weibull is a time with mean exp η and hazard ∝ t^(k−1). With u = k (log t − η + log Γ(1 + 1/k))
// its log density is log k − log t + u − exp u, and the log probability of a longer time −exp u. A
// time that is only known to be longer than t is written −t.
type weibull struct{}

func (weibull) LogKernel(y, eta, logShape *Node) *Node {
	shape := Exp(logShape)
	inverse := Exp(Neg(logShape))
	// log Γ(1 + x) = (x + ½) log(1 + x) − x − 1 + ½ log 2π + c(1 + x)
	logGamma := Add(Mul(AddScalar(inverse, 0.5), Log1P(inverse)), AddScalar(Sub(stirlingRest(AddScalar(inverse, 1)), inverse), halfLog2Pi-1))
	ended := ConvertDType(GreaterThan(y, ZerosLike(y)), eta.DType())
	u := Mul(shape, Add(Sub(logOf(Abs(y)), eta), logGamma))
	excess := cappedExpm1(u)
	return Add(Sub(Mul(ended, Add(u, logShape)), excess), Mul(AddScalar(ended, -1), OnesLike(u)))
}

func (l weibull) Newton(y, eta, logShape *Node) (slope, curvature *Node) {
	shape := Exp(logShape)
	inverse := Exp(Neg(logShape))
	logGamma := Add(Mul(AddScalar(inverse, 0.5), Log1P(inverse)), AddScalar(Sub(stirlingRest(AddScalar(inverse, 1)), inverse), halfLog2Pi-1))
	ended := ConvertDType(GreaterThan(y, ZerosLike(y)), eta.DType())
	hazard := cappedExp(Mul(shape, Add(Sub(logOf(Abs(y)), eta), logGamma)))
	return Mul(shape, Sub(hazard, ended)), Mul(Square(shape), hazard)
}

// cumulated returns u of a time, and 1 if it is the end of it, 0 if it is only known to be longer.
func (weibull) cumulated(y, eta, shape float64) (u, ended float64) {
	logGamma, _ := math.Lgamma(1 + 1/shape)
	if y > 0 {
		ended = 1
	}
	return shape * (math.Log(math.Abs(y)) - eta + logGamma), ended
}

func (l weibull) LogKernelAt(y, eta, shape float64) float64 {
	u, ended := l.cumulated(y, eta, shape)
	return ended*(u+math.Log(shape)) - cappedExpm1At(u) + ended - 1
}

// LogConstant is −log t − 1 of a time that ended, where the kernel is largest at u = 0, and 0 else.
func (weibull) LogConstant(y float64) float64 {
	if y > 0 {
		return -math.Log(y) - 1
	}
	return 0
}

func (l weibull) NewtonAt(y, eta, shape float64) (slope, curvature float64) {
	u, ended := l.cumulated(y, eta, shape)
	return shape * (cappedExpAt(u) - ended), shape * shape * math.Max(cappedExpAt(u), leastPoissonCurvature)
}

func (l weibull) BoundAt(y, eta, shape float64) (slope, curvature float64) {
	slope, curvature = l.NewtonAt(y, eta, shape)
	if y > 0 {
		u, _ := l.cumulated(y, eta, shape)
		curvature = shape * shape * climb(u)
	}
	return slope, curvature
}

func (weibull) Mean(eta, _ float64) float64 { return math.Exp(eta) }

func (weibull) Variance(eta, shape float64) float64 {
	one, _ := math.Lgamma(1 + 1/shape)
	two, _ := math.Lgamma(1 + 2/shape)
	return math.Exp(2*eta) * math.Expm1(two-2*one)
}

// Draw draws a time, to its end.
func (weibull) Draw(eta, shape float64, random *rand.Rand) float64 {
	logGamma, _ := math.Lgamma(1 + 1/shape)
	log := eta - logGamma + math.Log(random.ExpFloat64())/shape
	return math.Max(math.Exp(math.Min(log, 700)), leastPositive)
}

// exponential is weibull with k = 1.
type exponential struct{}

func (exponential) LogKernel(y, eta, _ *Node) *Node {
	ended := ConvertDType(GreaterThan(y, ZerosLike(y)), eta.DType())
	u := Sub(logOf(Abs(y)), eta)
	return Add(Sub(Mul(ended, u), cappedExpm1(u)), Mul(AddScalar(ended, -1), OnesLike(u)))
}

func (exponential) Newton(y, eta, _ *Node) (slope, curvature *Node) {
	ended := ConvertDType(GreaterThan(y, ZerosLike(y)), eta.DType())
	hazard := cappedExp(Sub(logOf(Abs(y)), eta))
	return Sub(hazard, ended), hazard
}

func (exponential) LogKernelAt(y, eta, _ float64) float64 { return weibull{}.LogKernelAt(y, eta, 1) }

func (exponential) LogConstant(y float64) float64 { return weibull{}.LogConstant(y) }

func (exponential) NewtonAt(y, eta, _ float64) (slope, curvature float64) {
	return weibull{}.NewtonAt(y, eta, 1)
}

func (exponential) BoundAt(y, eta, _ float64) (slope, curvature float64) {
	return weibull{}.BoundAt(y, eta, 1)
}

func (exponential) Mean(eta, _ float64) float64 { return math.Exp(eta) }

func (exponential) Variance(eta, _ float64) float64 { return math.Exp(2 * eta) }

func (exponential) Draw(eta, _ float64, random *rand.Rand) float64 {
	return weibull{}.Draw(eta, 1, random)
}

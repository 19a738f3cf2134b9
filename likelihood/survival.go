package likelihood

import (
	"math"
	"math/rand/v2"

	. "github.com/gomlx/gomlx/pkg/core/graph"

	"github.com/transdim/vti/internal/logsum"
)

// weibull is the likelihood of a time with mean exp η and hazard ∝ t^(k−1). With u = k (log t − η +
// log Γ(1 + 1/k)) its log density is log k − log t + u − exp u, and the log probability of a longer
// time is −exp u. A response −t stands for a time longer than t.
type weibull struct {
	// constant is set if the hazard is constant. Then k is 1 and shape arguments are ignored.
	constant bool
}

// nodes returns u, the log of the cumulative hazard at the time |y|, the flags ended, which are 1
// for observed times and 0 for lower bounds, and the shape k, nil for constant hazards.
func (l weibull) nodes(y, eta, logShape *Node) (u, ended, shape *Node) {
	ended = ConvertDType(GreaterThan(y, ZerosLike(y)), eta.DType())
	u = Sub(logOf(Abs(y)), eta)
	if l.constant {
		return u, ended, nil
	}
	shape = Exp(logShape)
	inverse := Exp(Neg(logShape))
	// log Γ(1 + x) = (x + ½) log(1 + x) − x − 1 + ½ log 2π + c(1 + x), c Stirling's remainder
	logGamma := Add(Mul(AddScalar(inverse, 0.5), Log1P(inverse)), AddScalar(Sub(stirlingRest(AddScalar(inverse, 1)), inverse), halfLog2Pi-1))
	return Mul(shape, Add(u, logGamma)), ended, shape
}

func (l weibull) LogKernel(y, eta, logShape *Node) *Node {
	u, ended, shape := l.nodes(y, eta, logShape)
	excess, gain := cappedExpm1(u), u
	if shape != nil {
		gain = Add(u, logShape)
	}
	return Add(Sub(Mul(ended, gain), excess), Mul(AddScalar(ended, -1), OnesLike(u)))
}

// shape returns k: 1 if the hazard is constant, and otherwise the argument parameter.
func (l weibull) shape(parameter float64) float64 {
	if l.constant {
		return 1
	}
	return parameter
}

// cumulated returns u, which is the log of the cumulative hazard at the time |y|, the number ended,
// which is 1 for an observed time and 0 for a lower bound, and the shape k.
func (l weibull) cumulated(y, eta, parameter float64) (u, ended, shape float64) {
	shape = l.shape(parameter)
	if y > 0 {
		ended = 1
	}
	return shape * (math.Log(math.Abs(y)) - eta + logsum.Gamma(1+1/shape)), ended, shape
}

func (l weibull) LogKernelAt(y, eta, shape float64) float64 {
	u, ended, shape := l.cumulated(y, eta, shape)
	return ended*(u+math.Log(shape)) - cappedExpm1At(u) + ended - 1
}

// logHazards writes u of each row, as cumulated returns it, to u [n], and returns the shape.
func (l weibull) logHazards(u, y, eta []float64, parameter float64) (shape float64) {
	shape = l.shape(parameter)
	vectors.Abs(u, y)
	vectors.Log(u, u)
	vectors.Sub(u, u, eta)
	vectors.AddScalar(u, u, logsum.Gamma(1+1/shape))
	vectors.MulScalar(u, u, shape)
	return shape
}

// kernels computes the terms of the shape once.
func (l weibull) kernels(y, eta []float64, parameter float64, kernels []float64) {
	withBuffer(len(y), func(u []float64) {
		ended := math.Log(l.logHazards(u, y, eta, parameter)) + 1
		cappedExpm1s(kernels, u)
		for i, excess := range kernels {
			kernels[i] = -excess - 1
			if y[i] > 0 {
				kernels[i] += u[i] + ended
			}
		}
	})
}

func (l weibull) newtons(y, eta []float64, parameter float64, slope, curvature []float64) {
	withBuffer(len(y), func(hazard []float64) {
		shape := l.logHazards(hazard, y, eta, parameter)
		cappedExps(hazard, hazard)
		for i, v := range hazard {
			slope[i], curvature[i] = shape*v, shape*shape*max(v, leastPoissonCurvature)
			if y[i] > 0 {
				slope[i] -= shape
			}
		}
	})
}

func (l weibull) bounds(y, eta []float64, parameter float64, slope, curvature []float64) {
	l.newtons(y, eta, parameter, slope, curvature)
	withBuffer(len(y), func(u []float64) {
		shape := l.logHazards(u, y, eta, parameter)
		for i, v := range u {
			if y[i] > 0 {
				curvature[i] = shape * shape * climb(v)
			}
		}
	})
}

// LogConstant returns −log t − 1 for an observed time t, whose log density is log k + u − exp(u) −
// log t. The kernel is this log density without −log t and with 1 added. For a lower bound of a
// time it returns 0, since the kernel is −exp(u), the log probability of a longer time.
func (weibull) LogConstant(y float64) float64 {
	if y > 0 {
		return -math.Log(y) - 1
	}
	return 0
}

func (l weibull) NewtonAt(y, eta, shape float64) (slope, curvature float64) {
	u, ended, shape := l.cumulated(y, eta, shape)
	return shape * (cappedExpAt(u) - ended), shape * shape * math.Max(cappedExpAt(u), leastPoissonCurvature)
}

func (l weibull) BoundAt(y, eta, shape float64) (slope, curvature float64) {
	slope, curvature = l.NewtonAt(y, eta, shape)
	if y > 0 {
		u, _, shape := l.cumulated(y, eta, shape)
		curvature = shape * shape * climb(u)
	}
	return slope, curvature
}

func (weibull) Mean(eta, _ float64) float64 { return math.Exp(eta) }

func (l weibull) Variance(eta, shape float64) float64 {
	shape = l.shape(shape)
	return math.Exp(2*eta) * math.Expm1(logsum.Gamma(1+2/shape)-2*logsum.Gamma(1+1/shape))
}

// Draw draws a time that is not censored.
func (l weibull) Draw(eta, shape float64, random *rand.Rand) float64 {
	shape = l.shape(shape)
	log := eta - logsum.Gamma(1+1/shape) + math.Log(random.ExpFloat64())/shape
	return math.Max(math.Exp(math.Min(log, 700)), leastPositive)
}

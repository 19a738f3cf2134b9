package likelihood

import (
	"math"
	"math/rand/v2"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/transdim/vti/internal/logsum"
)

// poisson is y ~ Poisson(exp η). Its kernel is minus half the deviance: with δ = η − log y
//
//	y (δ − (exp δ − 1)),  and −exp η where y is 0.
//
// For a count of 10⁶ whose fitted mean has four correct digits, the kernel is of size 1 or less,
// while y η − exp η is of size 10⁷.
type poisson struct{}

// mostLogRatio is the δ above which the tangent of exp δ at mostLogRatio replaces exp δ, so that
// nothing overflows. The density of such a count is below exp(−10¹⁷).
const mostLogRatio = 40

// leastPoissonCurvature replaces smaller curvatures, of rows with tiny rates. Half and twice this
// value give the same answers (docs/benchmarks/constants.md).
const leastPoissonCurvature = 1e-6

func (poisson) LogKernel(y, eta, _ *Node) *Node {
	counted := ConvertDType(GreaterThan(y, ZerosLike(y)), eta.DType())
	base := MaxScalar(y, 1) // y, or 1 where y is 0; δ is η − log base
	ratio := Sub(eta, Log(base))
	excess := cappedExpm1(ratio)
	none := AddScalar(Neg(counted), 1)
	return Sub(Mul(base, Sub(Mul(counted, ratio), excess)), none)
}

// expm1 returns exp x − 1, without loss of digits near zero. GoMLX has no gradient of Expm1. The
// function therefore adds a term with the value zero and the gradient of exp.
func expm1(x *Node) *Node {
	exp := Exp(x)
	return Add(StopGradient(Expm1(x)), Sub(exp, StopGradient(exp)))
}

func (poisson) LogKernelAt(y, eta, _ float64) float64 {
	base := math.Max(y, 1)
	ratio := eta - math.Log(base)
	excess := cappedExpm1At(ratio)
	if y == 0 {
		return -excess - 1
	}
	return y * (ratio - excess)
}

// smallCount is the largest count for which the form y η − exp η is used, which takes a single
// exponential. Its error is then below 10⁻¹¹.
const smallCount = 1000

// logCounts holds the logarithms of small counts; the entry of 0 is not used.
var logCounts = func() (logs [smallCount + 1]float64) {
	for y := 1; y <= smallCount; y++ {
		logs[y] = math.Log(float64(y))
	}
	return logs
}()

func (p poisson) kernels(y, eta []float64, _ float64, kernels []float64) {
	vectors.Exp(kernels, eta)
	for i, v := range y {
		if x := eta[i]; v > smallCount || x > mostLogRatio {
			kernels[i] = p.LogKernelAt(v, x, 1)
		} else {
			kernels[i] = v*(x-logCounts[int(v)]+1) - kernels[i]
		}
	}
}

// kernelOf returns LogKernelAt, given the rate exp η. In the loop of sumKernels a call of this
// function would take twice the time.
func (p poisson) kernelOf(y, eta, rate float64) float64 {
	if y > smallCount || eta > mostLogRatio {
		return p.LogKernelAt(y, eta, 1)
	}
	return y*(eta-logCounts[int(y)]+1) - rate
}

func (poisson) newtons(y, eta []float64, _ float64, slope, curvature []float64) {
	withBuffer(len(eta), func(rate []float64) {
		cappedExps(rate, eta)
		for i, v := range y {
			slope[i], curvature[i] = v-rate[i], max(rate[i], leastPoissonCurvature)
		}
	})
}

// LogConstant returns log p(y | η = log y) = y log y − y − log y!. For large y it uses three terms
// of Stirling's series, with an error below 10⁻¹⁵ (Loader 2000).
func (poisson) LogConstant(y float64) float64 {
	const large = 100
	switch {
	case y == 0:
		return 0
	case y < large:
		return y*math.Log(y) - y - logsum.Gamma(y+1)
	}
	return -(halfLog2Pi + math.Log(y)/2) - (1.0/12-(1.0/360-1.0/(1260*y*y))/(y*y))/y
}

func (poisson) NewtonAt(y, eta, _ float64) (slope, curvature float64) {
	rate := cappedExpAt(eta)
	return y - rate, math.Max(rate, leastPoissonCurvature)
}

// BoundAt returns, if the rate exp η is below y, the curvature with which a Newton step leads to η
// = log y at once. The slope is concave in η, so that it lies above its chord and the step raises
// log p. If the rate is above y, BoundAt returns the curvature of NewtonAt.
func (l poisson) BoundAt(y, eta, scale float64) (slope, curvature float64) {
	slope, curvature = l.NewtonAt(y, eta, scale)
	return slope, poissonBound(y, slope, curvature)
}

func (l poisson) bounds(y, eta []float64, scale float64, slope, curvature []float64) {
	l.newtons(y, eta, scale, slope, curvature)
	for i, v := range y {
		curvature[i] = poissonBound(v, slope[i], curvature[i])
	}
}

// poissonBound returns the curvature of BoundAt, given the results of NewtonAt.
func poissonBound(y, slope, curvature float64) float64 {
	if rate := y - slope; slope > 0 && rate > 0 {
		curvature = slope / math.Log1p(slope/rate)
	}
	return max(curvature, leastPoissonCurvature)
}

func (poisson) Mean(eta, _ float64) float64 { return math.Exp(eta) }

func (poisson) Variance(eta, _ float64) float64 { return math.Exp(eta) }

func (poisson) Draw(eta, _ float64, random *rand.Rand) float64 {
	return distuv.Poisson{Lambda: cappedExpAt(eta), Src: random}.Rand()
}

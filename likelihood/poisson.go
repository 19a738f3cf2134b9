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
// For counts of 10⁶ that fit to four digits it is of size 1, where y η − exp η is of size 10⁷.
type poisson struct{}

// mostLogRatio is the δ above which exp δ is continued by its tangent, so that nothing overflows.
// The density there is below exp(−10¹⁷).
const mostLogRatio = 40

// leastPoissonCurvature is the least curvature, for rows of tiny rates. Half and twice give the
// same answers (docs/benchmarks/constants.md).
const leastPoissonCurvature = 1e-6

func (poisson) LogKernel(y, eta, _ *Node) *Node {
	counted := ConvertDType(GreaterThan(y, ZerosLike(y)), eta.DType())
	base := MaxScalar(y, 1) // of the rate: y, or 1 where y is 0
	ratio := Sub(eta, Log(base))
	excess := cappedExpm1(ratio)
	none := AddScalar(Neg(counted), 1)
	return Sub(Mul(base, Sub(Mul(counted, ratio), excess)), none)
}

// expm1 returns exp x − 1 with its digits near zero. GoMLX has no gradient of Expm1, so that the
// gradient of exp is added, with the value zero.
func expm1(x *Node) *Node {
	exp := Exp(x)
	return Add(StopGradient(Expm1(x)), Sub(exp, StopGradient(exp)))
}

func (poisson) Newton(y, eta, _ *Node) (slope, curvature *Node) {
	rate := cappedExp(eta)
	return Sub(y, rate), rate
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

// smallCount is the largest count for which y η − exp η is used. That form takes one exponential,
// fewer than the form with all digits, and its error is below 10⁻¹¹.
const smallCount = 1000

// logCounts holds the logarithms of small counts; the entry of 0 is not used.
var logCounts = func() (logs [smallCount + 1]float64) {
	for y := 1; y <= smallCount; y++ {
		logs[y] = math.Log(float64(y))
	}
	return logs
}()

func (p poisson) sumKernels(y, times, eta []float64, _ float64, sums []float64) {
	withBuffer(len(eta), func(rate []float64) {
		vectors.Exp(rate, eta)
		for k := range sums {
			sum, rate := 0.0, rate[k*len(y):]
			for i, x := range eta[k*len(y):][:len(y)] {
				v, t := y[i], 1.0
				if times != nil {
					t = times[i]
				}
				if v > smallCount || x > mostLogRatio {
					sum += t * p.LogKernelAt(v, x, 1)
				} else {
					sum += t * (v*(x-logCounts[int(v)]+1) - rate[i])
				}
			}
			sums[k] = sum
		}
	})
}

func (poisson) newtons(y, eta, slope, curvature []float64) {
	withBuffer(len(eta), func(rate []float64) {
		vectors.Exp(rate, eta)
		for i, v := range y {
			if eta[i] > mostLogRatio {
				rate[i] = cappedExpAt(eta[i])
			}
			slope[i], curvature[i] = v-rate[i], max(rate[i], leastPoissonCurvature)
		}
	})
}

// LogConstant returns log p(y | log y) = y log y − y − log y!. For large y it uses Stirling's
// series; three terms leave less than 10⁻¹⁵ (Loader 2000).
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

// BoundAt returns, if the rate is too small, the curvature with which a step takes η to log y at
// once: the slope is concave, and its chord lies below it. If the rate is too large, it returns the
// curvature of NewtonAt.
func (l poisson) BoundAt(y, eta, scale float64) (slope, curvature float64) {
	slope, curvature = l.NewtonAt(y, eta, scale)
	if rate := y - slope; slope > 0 && rate > 0 {
		curvature = slope / math.Log1p(slope/rate)
	}
	return slope, math.Max(curvature, leastPoissonCurvature)
}

func (poisson) Mean(eta, _ float64) float64 { return math.Exp(eta) }

func (poisson) Variance(eta, _ float64) float64 { return math.Exp(eta) }

func (poisson) Draw(eta, _ float64, random *rand.Rand) float64 {
	return distuv.Poisson{Lambda: cappedExpAt(eta), Src: random}.Rand()
}

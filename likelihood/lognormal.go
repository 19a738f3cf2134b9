package likelihood

import (
	"math"
	"math/rand/v2"

	. "github.com/gomlx/gomlx/pkg/core/graph"
)

// logNormal is log y ~ N(η, σ²).
type logNormal struct{}

func (logNormal) LogKernel(y, eta, logScale *Node) *Node {
	return gaussian{}.LogKernel(logOf(y), eta, logScale)
}

func (logNormal) LogKernelAt(y, eta, scale float64) float64 {
	return gaussian{}.LogKernelAt(math.Log(y), eta, scale)
}

func (logNormal) LogConstant(y float64) float64 { return -math.Log(y) - halfLog2Pi }

func (logNormal) NewtonAt(y, eta, scale float64) (slope, curvature float64) {
	return gaussian{}.NewtonAt(math.Log(y), eta, scale)
}

func (logNormal) BoundAt(y, eta, scale float64) (slope, curvature float64) {
	return gaussian{}.NewtonAt(math.Log(y), eta, scale)
}

func (logNormal) Mean(eta, scale float64) float64 { return math.Exp(eta + scale*scale/2) }

func (logNormal) Variance(eta, scale float64) float64 {
	return math.Exp(2*eta+scale*scale) * math.Expm1(scale*scale)
}

func (logNormal) Draw(eta, scale float64, random *rand.Rand) float64 {
	drawn := math.Exp(math.Min(gaussian{}.Draw(eta, scale, random), 700))
	return math.Max(drawn, leastPositive)
}

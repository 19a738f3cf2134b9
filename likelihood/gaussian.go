package likelihood

import (
	"math"
	"math/rand/v2"

	. "github.com/gomlx/gomlx/pkg/core/graph"
)

// gaussian is y ~ N(η, σ²).
type gaussian struct{}

func (gaussian) LogKernel(y, eta, logScale *Node) *Node {
	return Sub(MulScalar(Square(standardise(y, eta, logScale)), -0.5), logScale)
}

func (gaussian) LogKernelAt(y, eta, scale float64) float64 {
	r := (y - eta) / scale
	return -r*r/2 - math.Log(scale)
}

func (gaussian) kernels(y, eta []float64, scale float64, kernels []float64) {
	inverse, logScale := 1/scale, math.Log(scale)
	for i, x := range eta {
		r := (y[i] - x) * inverse
		kernels[i] = -r*r/2 - logScale
	}
}

func (gaussian) LogConstant(float64) float64 { return -halfLog2Pi }

func (gaussian) NewtonAt(y, eta, scale float64) (slope, curvature float64) {
	return (y - eta) / scale / scale, 1 / scale / scale
}

func (l gaussian) BoundAt(y, eta, scale float64) (slope, curvature float64) {
	return l.NewtonAt(y, eta, scale)
}

func (gaussian) Mean(eta, _ float64) float64 { return eta }

func (gaussian) Variance(_, scale float64) float64 { return scale * scale }

func (gaussian) Draw(eta, scale float64, random *rand.Rand) float64 {
	return eta + scale*random.NormFloat64()
}

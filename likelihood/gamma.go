package likelihood

import (
	"math"
	"math/rand/v2"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"gonum.org/v1/gonum/stat/distuv"
)

// gamma is the likelihood of a response with mean μ = exp η, shape α and variance μ²/α. With δ =
// log y − η and c the remainder of Stirling's formula for log Γ, its log density is
//
//	α (δ − (exp δ − 1)) + ½ log α − c(α) − log y − ½ log 2π.
type gamma struct{}

func (gamma) LogKernel(y, eta, logShape *Node) *Node {
	shape := Exp(logShape)
	ratio := Sub(logOf(y), eta)
	return Add(Mul(shape, Sub(ratio, cappedExpm1(ratio))), Sub(MulScalar(logShape, 0.5), stirlingRest(shape)))
}

func (gamma) LogKernelAt(y, eta, shape float64) float64 {
	ratio := math.Log(y) - eta
	return shape*(ratio-cappedExpm1At(ratio)) + math.Log(shape)/2 - stirlingRestAt(shape)
}

// kernels computes the terms of the shape once.
func (gamma) kernels(y, eta []float64, shape float64, kernels []float64) {
	ofShape := math.Log(shape)/2 - stirlingRestAt(shape)
	withBuffer(len(y), func(growth []float64) {
		vectors.Log(kernels, y)
		vectors.Sub(kernels, kernels, eta)
		cappedExpm1s(growth, kernels)
		for i, ratio := range kernels {
			kernels[i] = shape*(ratio-growth[i]) + ofShape
		}
	})
}

func (gamma) LogConstant(y float64) float64 { return -math.Log(y) - halfLog2Pi }

func (gamma) NewtonAt(y, eta, shape float64) (slope, curvature float64) {
	share := cappedExpAt(math.Log(y) - eta)
	return shape * (share - 1), shape * math.Max(share, leastPoissonCurvature)
}

func (gamma) newtons(y, eta []float64, shape float64, slope, curvature []float64) {
	withBuffer(len(y), func(share []float64) {
		vectors.Log(share, y)
		vectors.Sub(share, share, eta)
		cappedExps(share, share)
		for i, v := range share {
			slope[i], curvature[i] = shape*(v-1), shape*max(v, leastPoissonCurvature)
		}
	})
}

func (l gamma) BoundAt(y, eta, shape float64) (slope, curvature float64) {
	slope, _ = l.NewtonAt(y, eta, shape)
	return slope, shape * climb(math.Log(y)-eta)
}

func (gamma) Mean(eta, _ float64) float64 { return math.Exp(eta) }

func (gamma) Variance(eta, shape float64) float64 { return math.Exp(2*eta) / shape }

func (gamma) Draw(eta, shape float64, random *rand.Rand) float64 {
	drawn := distuv.Gamma{Alpha: shape, Beta: 1, Src: random}.Rand() / shape * cappedExpAt(eta)
	return math.Max(drawn, leastPositive) // with a small shape the draw may underflow to 0
}

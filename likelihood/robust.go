package likelihood

import (
	"math"
	"math/rand/v2"

	. "github.com/gomlx/gomlx/pkg/core/graph"
)

// robust is y ~ (1 − ε) N(η, σ²) + ε N(η, (κσ)²).
type robust struct {
	logInlier, logOutlier float64 // log(1 − ε) and log(ε/κ)
	outlier, ratio        float64 // ε and κ
}

func newRobust(shape Shape) Likelihood {
	return robust{math.Log1p(-shape.Outlier), math.Log(shape.Outlier / shape.Ratio), shape.Outlier, shape.Ratio}
}

// wide returns the precision of an outlier divided by the precision of other rows.
func (l robust) wide() float64 { return 1 / (l.ratio * l.ratio) }

func (l robust) LogKernel(y, eta, logScale *Node) *Node {
	squares := MulScalar(Square(standardise(y, eta, logScale)), -0.5)
	inlier := AddScalar(squares, l.logInlier)
	outlier := AddScalar(MulScalar(squares, l.wide()), l.logOutlier)
	return Sub(logAddExp(inlier, outlier), logScale)
}

func (l robust) LogKernelAt(y, eta, scale float64) float64 {
	r := (y - eta) / scale
	return logAddExpAt(l.logInlier-r*r/2, l.logOutlier-r*r/2*l.wide()) - math.Log(scale)
}

// sumKernels takes the logarithm of a product over many rows. The factor of a row is 1 + min(odds,
// 1/odds), where odds are the odds that the row is an outlier. It is at most 2.
func (l robust) sumKernels(y, times, eta []float64, scale float64, sums []float64) {
	withBuffer(len(eta), func(work []float64) {
		wide, inverse, logScale := l.wide(), 1/scale, math.Log(scale)
		for k := range sums {
			sum, exponents := 0.0, work[k*len(y):][:len(y)]
			for i, x := range eta[k*len(y):][:len(y)] {
				r := (y[i] - x) * inverse
				half := r * r / 2
				inlier, outlier := l.logInlier-half, l.logOutlier-half*wide
				sum += timesOf(times, i) * (max(inlier, outlier) - logScale)
				exponents[i] = -math.Abs(inlier - outlier)
			}
			sums[k] = sum
		}
		vectors.Exp(work, work)
		if times != nil {
			vectors.Log1p(work, work)
		}
		for k := range sums {
			exponents := work[k*len(y):][:len(y)]
			if times == nil {
				sums[k] += logProduct(exponents)
				continue
			}
			for i, t := range times {
				sums[k] += t * exponents[i]
			}
		}
	})
}

func (robust) LogConstant(float64) float64 { return -halfLog2Pi }

// precision returns the mean precision of a row given its residual r in units of σ, and the excess
// of the mean precision over the curvature.
func (l robust) precision(r float64) (mean, lack float64) {
	outlier := 1 / (1 + math.Exp(l.logInlier-l.logOutlier-r*r/2*(1-l.wide())))
	mean = 1 - outlier*(1-l.wide())
	if variance := outlier * (1 - outlier) * (1 - l.wide()) * (1 - l.wide()); variance > 0 {
		lack = variance * r * r
	}
	return mean, lack
}

func (l robust) NewtonAt(y, eta, scale float64) (slope, curvature float64) {
	r := (y - eta) / scale
	mean, lack := l.precision(r)
	return mean * r / scale, math.Max(mean-lack, leastCurvature*mean) / scale / scale
}

func (l robust) CurvatureAt(y, eta, scale float64) (slope, curvature float64) {
	r := (y - eta) / scale
	mean, lack := l.precision(r)
	return mean * r / scale, (mean - lack) / scale / scale
}

func (l robust) BoundAt(y, eta, scale float64) (slope, curvature float64) {
	r := (y - eta) / scale
	mean, _ := l.precision(r)
	return mean * r / scale, mean / scale / scale
}

func (robust) Mean(eta, _ float64) float64 { return eta }

func (l robust) Variance(_, scale float64) float64 {
	return scale * scale * (1 - l.outlier + l.outlier*l.ratio*l.ratio)
}

func (l robust) Draw(eta, scale float64, random *rand.Rand) float64 {
	if random.Float64() < l.outlier {
		scale *= l.ratio
	}
	return eta + scale*random.NormFloat64()
}

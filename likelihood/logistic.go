package likelihood

import (
	"math"
	"math/rand/v2"

	. "github.com/gomlx/gomlx/pkg/core/graph"
)

// logistic is y ~ Bernoulli(1 / (1 + exp −η)). Its saturated model has probability 1, so the kernel
// is the log density: −log(1 + exp(−η)) where y is 1 and −log(1 + exp η) where it is 0.
type logistic struct{}

// leastLogisticCurvature replaces smaller curvatures, of rows whose fitted probability is near 0 or
// 1. Half and twice this value give the same answers (docs/benchmarks/constants.md).
const leastLogisticCurvature = 1e-6

func (logistic) LogKernel(y, eta, _ *Node) *Node {
	against := Mul(eta, AddScalar(MulScalar(y, -2), 1)) // −η where y is 1, η where it is 0
	return Neg(Add(MaxScalar(against, 0), Log1P(Exp(Neg(Abs(against))))))
}

func (logistic) LogKernelAt(y, eta, _ float64) float64 {
	against := (1 - 2*y) * eta
	return -math.Max(against, 0) - math.Log1p(math.Exp(-math.Abs(against)))
}

// sumKernels sums log(1 + exp(−|η|)) as the log of a product of many factors between 1 and 2.
func (l logistic) sumKernels(y, times, eta []float64, _ float64, sums []float64) {
	if times != nil {
		l.sumRepeated(y, times, eta, sums)
		return
	}
	withBuffer(len(eta), func(work []float64) {
		for k := range sums {
			sum, exponents := 0.0, work[k*len(y):][:len(y)]
			for i, x := range eta[k*len(y):][:len(y)] {
				size := math.Abs(x)
				sum += (1-2*y[i])*x + size // twice the positive part, without a branch
				exponents[i] = -size
			}
			sums[k] = -sum / 2
		}
		vectors.Exp(work, work)
		for k := range sums {
			sums[k] -= logProduct(work[k*len(y):][:len(y)])
		}
	})
}

// sumRepeated does the same as sumKernels for repeated rows, with a logarithm for each row.
func (logistic) sumRepeated(y, times, eta, sums []float64) {
	withBuffer(2*len(eta), func(work []float64) {
		log, against := work[:len(eta)], work[len(eta):]
		for k := range sums {
			for i, x := range eta[k*len(y):][:len(y)] {
				signed := (1 - 2*y[i]) * x
				against[k*len(y)+i], log[k*len(y)+i] = max(signed, 0), -math.Abs(signed)
			}
		}
		vectors.Exp(log, log)
		vectors.Log1p(log, log)
		for k := range sums {
			sum := 0.0
			for i, t := range times {
				sum -= t * (against[k*len(y)+i] + log[k*len(y)+i])
			}
			sums[k] = sum
		}
	})
}

func (logistic) newtons(y, eta []float64, _ float64, slope, curvature []float64) {
	withBuffer(len(eta), func(work []float64) {
		for i, x := range eta {
			work[i] = -math.Abs(x)
		}
		vectors.Exp(work, work)
		for i, q := range work {
			d := 1 / (1 + q)
			p := d
			if eta[i] < 0 {
				p = q * d
			}
			slope[i], curvature[i] = y[i]-p, max(q*d*d, leastLogisticCurvature)
		}
	})
}

func (logistic) LogConstant(float64) float64 { return 0 }

func (l logistic) NewtonAt(y, eta, _ float64) (slope, curvature float64) {
	q := math.Exp(-math.Abs(eta))
	d := 1 / (1 + q)
	p := d
	if eta < 0 {
		p = q * d
	}
	return y - p, math.Max(q*d*d, leastLogisticCurvature)
}

// BoundAt returns the curvature of the quadratic lower bound of Jaakkola and Jordan (2000).
func (l logistic) BoundAt(y, eta, scale float64) (slope, curvature float64) {
	slope, _ = l.NewtonAt(y, eta, scale)
	return slope, logisticBound(eta)
}

func (l logistic) bounds(y, eta []float64, scale float64, slope, curvature []float64) {
	l.newtons(y, eta, scale, slope, curvature)
	logisticBounds(curvature, eta)
}

// logisticBounds writes logisticBound of each η to bounds.
func logisticBounds(bounds, eta []float64) {
	vectors.MulScalar(bounds, eta, 0.5)
	vectors.Tanh(bounds, bounds)
	for i, x := range eta {
		if bounds[i] /= 2 * x; math.Abs(x) < smallLinear {
			bounds[i] = 0.25
		}
	}
}

// smallLinear is the |η| below which the bound of logisticBound is ¼ to all digits of float64.
const smallLinear = 1e-8

// logisticBound returns the curvature of the quadratic lower bound of Jaakkola and Jordan (2000)
// for one 0/1 response.
func logisticBound(eta float64) float64 {
	if math.Abs(eta) < smallLinear {
		return 0.25
	}
	return math.Tanh(eta/2) / (2 * eta)
}

func (logistic) Mean(eta, _ float64) float64 { return LogitLink.Mean(eta) }

func (logistic) Variance(eta, _ float64) float64 { return LogitLink.Mean(eta) * LogitLink.Mean(-eta) }

func (logistic) Draw(eta, _ float64, random *rand.Rand) float64 {
	if random.Float64() < LogitLink.Mean(eta) {
		return 1
	}
	return 0
}

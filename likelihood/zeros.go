package likelihood

import (
	"math"
	"math/rand/v2"

	. "github.com/gomlx/gomlx/pkg/core/graph"
)

// zeroInflated is 0 with odds ω, and else a Poisson count of mean exp η.
type zeroInflated struct{}

func (zeroInflated) LogKernel(y, eta, logOdds *Node) *Node {
	none := LessOrEqual(y, ZerosLike(y))
	count := poisson{}.LogKernel(y, eta, nil) // −μ where y is 0
	return Sub(Where(BroadcastToShape(none, count.Shape()), logAddExp(Add(logOdds, ZerosLike(count)), count), count), softplus(logOdds))
}

func (zeroInflated) LogKernelAt(y, eta, odds float64) float64 {
	count := poisson{}.LogKernelAt(y, eta, 1)
	if y == 0 {
		count = logAddExpAt(math.Log(odds), count)
	}
	return count - math.Log1p(odds)
}

func (zeroInflated) kernels(y, eta []float64, odds float64, kernels []float64) {
	total := math.Log1p(odds)
	withBuffer(len(y), func(rate []float64) {
		vectors.Exp(rate, eta)
		noneOf(kernels, rate)
		vectors.AddScalar(kernels, kernels, odds)
		vectors.Log(kernels, kernels) // of zeros
		for i, v := range y {
			if v > 0 {
				kernels[i] = poisson{}.kernelOf(v, eta[i], rate[i])
			}
			kernels[i] -= total
		}
	})
}

// noneOf writes the probability exp −μ of a zero of the Poisson part to none, from rates μ.
func noneOf(none, rate []float64) {
	vectors.Neg(none, rate)
	vectors.Exp(none, none)
}

func (zeroInflated) LogConstant(y float64) float64 { return poisson{}.LogConstant(y) }

// share returns the probability that y comes from the Poisson part.
func (zeroInflated) share(y, eta, odds float64) float64 {
	if y > 0 {
		return 1
	}
	return LogitLink.Mean(-cappedExpAt(eta) - math.Log(odds))
}

func (l zeroInflated) NewtonAt(y, eta, odds float64) (slope, curvature float64) {
	return l.expand(y, cappedExpAt(eta), l.share(y, eta, odds))
}

// expand returns the results of NewtonAt, given the rate and the share of the Poisson part.
func (zeroInflated) expand(y, rate, share float64) (slope, curvature float64) {
	slope, curvature = y-rate, max(rate, leastPoissonCurvature)
	actual := share * (curvature - (1-share)*slope*slope)
	return share * slope, max(actual, leastCurvature*share*curvature, leastPoissonCurvature)
}

func (l zeroInflated) newtons(y, eta []float64, odds float64, slope, curvature []float64) {
	n := len(y)
	withBuffer(2*n, func(work []float64) {
		rate, none := work[:n], work[n:]
		cappedExps(rate, eta)
		noneOf(none, rate)
		for i, v := range y {
			share := 1.0
			if v == 0 {
				share = none[i] / (none[i] + odds)
			}
			slope[i], curvature[i] = l.expand(v, rate[i], share)
		}
	})
}

func (l zeroInflated) BoundAt(y, eta, odds float64) (slope, curvature float64) {
	slope, curvature = poisson{}.BoundAt(y, eta, 1)
	share := l.share(y, eta, odds)
	return share * slope, math.Max(share*curvature, leastPoissonCurvature)
}

func (zeroInflated) Mean(eta, odds float64) float64 { return math.Exp(eta) / (1 + odds) }

func (zeroInflated) Variance(eta, odds float64) float64 {
	rate := math.Exp(eta)
	return rate / (1 + odds) * (1 + rate*odds/(1+odds))
}

func (zeroInflated) Draw(eta, odds float64, random *rand.Rand) float64 {
	if random.Float64()*(1+odds) < odds {
		return 0
	}
	return poisson{}.Draw(eta, 1, random)
}

// hurdle is 0 with odds ω, and otherwise a nonzero Poisson count of rate μ = exp η.
type hurdle struct{}

// leastLogRate is the log μ below which 1 − exp(−μ) is μ to all digits of float64.
const leastLogRate = -40

func (hurdle) LogKernel(y, eta, logOdds *Node) *Node {
	counted := ConvertDType(GreaterThan(y, ZerosLike(y)), eta.DType())
	rate := Exp(MinScalar(MaxScalar(eta, leastLogRate), mostLogRatio))
	logSome := Add(Log(Neg(expm1(Neg(rate)))), MinScalar(AddScalar(eta, -leastLogRate), 0)) // log(1 − exp −μ)
	some := Sub(poisson{}.LogKernel(MaxScalar(y, 1), eta, nil), logSome)
	none := AddScalar(Neg(counted), 1)
	return Sub(Add(Mul(counted, some), Mul(none, logOdds)), softplus(logOdds))
}

func (hurdle) LogKernelAt(y, eta, odds float64) float64 {
	if y == 0 {
		return math.Log(odds) - math.Log1p(odds)
	}
	logSome := math.Log(-math.Expm1(-cappedExpAt(math.Max(eta, leastLogRate)))) + math.Min(eta-leastLogRate, 0)
	return poisson{}.LogKernelAt(y, eta, 1) - logSome - math.Log1p(odds)
}

func (hurdle) kernels(y, eta []float64, odds float64, kernels []float64) {
	zero, total := math.Log(odds), math.Log1p(odds)
	withBuffer(2*len(y), func(work []float64) {
		rate, logSome := work[:len(y)], work[len(y):]
		ratesAndSome(rate, logSome, eta)
		vectors.Log(logSome, logSome)
		for i, v := range y {
			kernels[i] = zero - total
			if v > 0 {
				kernels[i] = poisson{}.kernelOf(v, eta[i], rate[i]) - logSome[i] - min(eta[i]-leastLogRate, 0) - total
			}
		}
	})
}

// ratesAndSome writes the Poisson rate μ of each row, at least exp leastLogRate, to rate, and the
// probability 1 − exp −μ of a count above 0 to some.
func ratesAndSome(rate, some, eta []float64) {
	vectors.MaxScalar(rate, eta, leastLogRate)
	cappedExps(rate, rate)
	vectors.Neg(some, rate)
	vectors.Expm1(some, some)
	vectors.Neg(some, some)
}

func (hurdle) LogConstant(y float64) float64 { return poisson{}.LogConstant(y) }

// truncated returns the mean of a nonzero count, and the slope of the mean in η.
func (hurdle) truncated(eta float64) (mean, slope float64) {
	rate := cappedExpAt(math.Max(eta, leastLogRate))
	return truncatedAt(rate, -math.Expm1(-rate))
}

// truncatedAt returns the results of truncated at a rate μ, given some = 1 − exp −μ.
func truncatedAt(rate, some float64) (mean, slope float64) {
	mean = rate / some
	gain := rate / 2
	if rate >= 1e-4 {
		gain = 1 - mean*(1-some)
	}
	return mean, mean * gain
}

func (l hurdle) NewtonAt(y, eta, _ float64) (slope, curvature float64) {
	if y == 0 {
		return 0, leastPoissonCurvature
	}
	mean, curvature := l.truncated(eta)
	return y - mean, math.Max(curvature, leastPoissonCurvature)
}

func (hurdle) newtons(y, eta []float64, _ float64, slope, curvature []float64) {
	n := len(y)
	withBuffer(2*n, func(work []float64) {
		rate, some := work[:n], work[n:]
		ratesAndSome(rate, some, eta)
		for i, v := range y {
			slope[i], curvature[i] = 0, leastPoissonCurvature
			if v > 0 {
				mean, steepness := truncatedAt(rate[i], some[i])
				slope[i], curvature[i] = v-mean, max(steepness, leastPoissonCurvature)
			}
		}
	})
}

// BoundAt returns the larger of the curvatures at η and at log y. The mode is not above log y.
func (l hurdle) BoundAt(y, eta, scale float64) (slope, curvature float64) {
	slope, curvature = l.NewtonAt(y, eta, scale)
	if slope > 0 {
		_, there := l.truncated(math.Log(y))
		curvature = math.Max(curvature, there)
	}
	return slope, curvature
}

func (l hurdle) Mean(eta, odds float64) float64 {
	mean, _ := l.truncated(eta)
	return mean / (1 + odds)
}

func (l hurdle) Variance(eta, odds float64) float64 {
	mean, slope := l.truncated(eta) // in an exponential family the derivative of the mean is the variance
	share := 1 / (1 + odds)
	return share*slope + share*(1-share)*mean*mean
}

func (hurdle) Draw(eta, odds float64, random *rand.Rand) float64 {
	if random.Float64()*(1+odds) < odds {
		return 0
	}
	rate := cappedExpAt(eta)
	if rate > 1 {
		for {
			if y := (poisson{}).Draw(eta, 1, random); y > 0 {
				return y
			}
		}
	}
	// y is found by inversion of the distribution function, from the count 1 upwards
	u, y := random.Float64(), 1.0
	for term := rate / math.Expm1(math.Max(rate, math.SmallestNonzeroFloat64)); u > term && y < 100; y++ {
		u -= term
		term *= rate / (y + 1)
	}
	return y
}

package likelihood

import (
	"math"
	"math/rand/v2"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"gonum.org/v1/gonum/stat/distuv"
)

// beta is the likelihood of a share with mean μ = 1/(1 + exp −η) and precision φ: y ~ Beta(a, b)
// with a = μφ and b = (1 − μ)φ. With c the remainder of Stirling's formula for log Γ, its log
// density is
//
//	φ (μ log(y/μ) + (1 − μ) log((1 − y)/(1 − μ))) + ½ log(φ μ (1 − μ)) + c(φ) − c(a) − c(b)
//	− log y − log(1 − y) − ½ log 2π.
type beta struct{}

// leastLogCount is the value of log a below which c(a) = c(exp leastLogCount) + ½ (leastLogCount −
// log a) to all digits of float64, so that a, which may underflow, is not needed.
const leastLogCount = -40

func logCountRest(logCount *Node) *Node {
	rest := stirlingRest(Exp(MaxScalar(logCount, leastLogCount)))
	return Sub(rest, MulScalar(MinScalar(AddScalar(logCount, -leastLogCount), 0), 0.5))
}

func logCountRestAt(logCount float64) float64 {
	return stirlingRestAt(math.Exp(math.Max(logCount, leastLogCount))) - math.Min(logCount-leastLogCount, 0)/2
}

// softplus returns log(1 + exp x).
func softplus(x *Node) *Node { return Add(MaxScalar(x, 0), Log1P(Exp(Neg(Abs(x))))) }

func softplusAt(x float64) float64 { return math.Max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

// logShareNodes returns log y and log(1 − y) of constants y, which may have been rounded to 0 or 1.
func logShareNodes(y *Node) (logY, logOne *Node) {
	rest := Neg(y)
	if y.DType() == dtypes.Float32 {
		rest = MaxScalar(rest, -1+0x1p-24)
	}
	return logOf(y), Log1P(rest)
}

// logShares does the same as logShareNodes on the host.
func logShares(logY, logOne, y []float64) {
	vectors.Log(logY, y)
	vectors.Neg(logOne, y)
	vectors.Log1p(logOne, logOne)
}

func (beta) LogKernel(y, eta, logPrecision *Node) *Node {
	logMean, logRest := Neg(softplus(Neg(eta))), Neg(softplus(eta))
	mean, rest := Logistic(eta), Logistic(Neg(eta))
	logY, logOne := logShareNodes(y)
	fit := Add(Mul(mean, Sub(logY, logMean)), Mul(rest, Sub(logOne, logRest)))
	precision := Exp(logPrecision)
	sum := Add(Mul(precision, fit), MulScalar(Add(Add(logMean, logRest), logPrecision), 0.5))
	return Add(sum, Sub(stirlingRest(precision), Add(logCountRest(Add(logMean, logPrecision)), logCountRest(Add(logRest, logPrecision)))))
}

func (beta) LogKernelAt(y, eta, precision float64) float64 {
	logMean, logRest := -softplusAt(-eta), -softplusAt(eta)
	mean, rest := LogitLink.Mean(eta), LogitLink.Mean(-eta)
	logPrecision := math.Log(precision)
	fit := mean*(math.Log(y)-logMean) + rest*(math.Log1p(-y)-logRest)
	return precision*fit + (logMean+logRest+logPrecision)/2 + stirlingRestAt(precision) - logCountRestAt(logMean+logPrecision) - logCountRestAt(logRest+logPrecision)
}

// kernels computes the terms of the precision once.
func (beta) kernels(y, eta []float64, precision float64, kernels []float64) {
	n, logPrecision, ofPrecision := len(y), math.Log(precision), math.Log(precision)/2+stirlingRestAt(precision)
	withBuffer(7*n, func(work []float64) {
		logY, logOne, logMean, logRest, counts, work := work[:n], work[n:2*n], work[2*n:3*n], work[3*n:4*n], work[4*n:5*n], work[5*n:]
		logShares(logY, logOne, y)
		for i, x := range eta {
			counts[i] = -math.Abs(x)
		}
		vectors.Exp(counts, counts) // q = exp −|η|
		vectors.Log1p(logRest, counts)
		for i, x := range eta {
			q, log := counts[i], logRest[i]
			mean, rest := 1/(1+q), q/(1+q)
			if x < 0 {
				mean, rest = rest, mean
			}
			logMean[i], logRest[i] = min(x, 0)-log, -max(x, 0)-log
			kernels[i] = precision*(mean*(logY[i]-logMean[i])+rest*(logOne[i]-logRest[i])) + (logMean[i]+logRest[i])/2 + ofPrecision
		}
		for _, logShare := range [][]float64{logMean, logRest} { // subtracts logCountRestAt
			vectors.AddScalar(counts, logShare, logPrecision)
			for i, v := range counts {
				kernels[i] += min(v-leastLogCount, 0) / 2
			}
			vectors.MaxScalar(counts, counts, leastLogCount)
			vectors.Exp(counts, counts)
			stirlingRests(counts, counts, work)
			vectors.Sub(kernels, kernels, counts)
		}
	})
}

func (beta) LogConstant(y float64) float64 { return -math.Log(y) - math.Log1p(-y) - halfLog2Pi }

// moments returns the slope and the expected curvature (Fisher information) of log p in η.
func (l beta) moments(y, eta, precision float64) (slope, expected float64) {
	mean, rest := LogitLink.Mean(eta), LogitLink.Mean(-eta)
	return l.momentsOf(math.Log(y)-math.Log1p(-y), mean, rest, precision, math.Log(mean*precision+seriesFrom), math.Log(rest*precision+seriesFrom))
}

// momentsOf returns the results of moments, given the logit of y, the mean μ, the rest 1 − μ, and
// the logs of a + seriesFrom and b + seriesFrom.
func (beta) momentsOf(logit, mean, rest, precision, logTopA, logTopB float64) (slope, expected float64) {
	a, b := mean*precision, rest*precision
	digammaA, trigammaA := polygammasAt(a, logTopA)
	digammaB, trigammaB := polygammasAt(b, logTopB)
	return a*rest*logit + mean*digammaB - rest*digammaA, rest*rest*trigammaA + mean*mean*trigammaB
}

func (l beta) NewtonAt(y, eta, precision float64) (slope, curvature float64) {
	slope, expected := l.moments(y, eta, precision)
	return slope, observed(slope, expected, LogitLink.Mean(eta))
}

// observed returns the curvature of NewtonAt from the expected curvature.
func observed(slope, expected, mean float64) float64 {
	return max(expected-slope*(1-2*mean), leastCurvature*expected)
}

func (l beta) newtons(y, eta []float64, precision float64, slope, curvature []float64) {
	n := len(y)
	withBuffer(6*n, func(work []float64) {
		logit, mean, rest, logTopA, logTopB, logOne := work[:n], work[n:2*n], work[2*n:3*n], work[3*n:4*n], work[4*n:5*n], work[5*n:]
		logShares(logit, logOne, y)
		vectors.Sub(logit, logit, logOne)
		vectors.Logistic(mean, eta)
		vectors.Neg(rest, eta)
		vectors.Logistic(rest, rest)
		for _, top := range [][2][]float64{{logTopA, mean}, {logTopB, rest}} {
			vectors.MulScalar(top[0], top[1], precision)
			vectors.AddScalar(top[0], top[0], seriesFrom)
			vectors.Log(top[0], top[0])
		}
		for i := range y {
			s, expected := l.momentsOf(logit[i], mean[i], rest[i], precision, logTopA[i], logTopB[i])
			slope[i], curvature[i] = s, observed(s, expected, mean[i])
		}
	})
}

// BoundAt returns twice the larger of the expected curvatures at η and at the η whose mean is y. If
// float64 can hardly tell y from 0 or 1, the quadratic with this curvature may exceed log p, and
// steps may have to be halved.
func (l beta) BoundAt(y, eta, precision float64) (slope, curvature float64) {
	slope, here := l.moments(y, eta, precision)
	_, there := l.moments(y, math.Log(y)-math.Log1p(-y), precision)
	return slope, 2 * math.Max(here, there)
}

func (beta) Mean(eta, _ float64) float64 { return LogitLink.Mean(eta) }

func (beta) Variance(eta, precision float64) float64 {
	return LogitLink.Mean(eta) * LogitLink.Mean(-eta) / (1 + precision)
}

// Draw draws a share that float64 can tell from 0 and 1.
func (beta) Draw(eta, precision float64, random *rand.Rand) float64 {
	a := distuv.Gamma{Alpha: math.Max(LogitLink.Mean(eta)*precision, 1e-12), Beta: 1, Src: random}.Rand()
	b := distuv.Gamma{Alpha: math.Max(LogitLink.Mean(-eta)*precision, 1e-12), Beta: 1, Src: random}.Rand()
	share := a / (a + b)
	if math.IsNaN(share) { // a and b are both 0: the share is 1 with probability μ, and else 0
		share = 0
		if random.Float64() < LogitLink.Mean(eta) {
			share = 1
		}
	}
	return math.Min(math.Max(share, leastPositive), 1-0x1p-53)
}

package likelihood

import (
	"math"
	"math/rand/v2"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"gonum.org/v1/gonum/stat/distuv"
)

// negativeBinomial is a count with mean μ = exp η and variance μ + μ²/φ: a Poisson count whose rate
// has a gamma distribution. With δ = η − log y and c the remainder of Stirling's formula for log Γ
// its kernel is
//
//	y δ − (y + φ) log((φ + μ)/(φ + y)) − ½ log(1 + y/φ) + c(y + φ) − c(φ).
//
// As φ grows the kernel converges to the kernel of a Poisson count.
type negativeBinomial struct{}

func (negativeBinomial) LogKernel(y, eta, logShape *Node) *Node {
	shape := Exp(logShape)
	counted := ConvertDType(GreaterThan(y, ZerosLike(y)), eta.DType())
	ratio := Mul(counted, Sub(eta, Log(MaxScalar(y, 1))))
	total := Add(shape, y) // φ + y
	change := Div(Sub(cappedExp(eta), y), total)
	smallChange := LessThan(Abs(change), ConstAs(change, 0.5))
	log := Where(smallChange, Log1P(Where(smallChange, change, ZerosLike(change))), Sub(logAddExp(Add(logShape, ZerosLike(eta)), eta), Log(total)))
	rest := Sub(stirlingRest(total), Add(stirlingRest(shape), MulScalar(Log1P(Div(y, shape)), 0.5)))
	return Add(Sub(Mul(y, ratio), Mul(total, log)), rest)
}

func (negativeBinomial) LogKernelAt(y, eta, shape float64) float64 {
	total := shape + y
	change := (cappedExpAt(eta) - y) / total
	log := logAddExpAt(math.Log(shape), eta) - math.Log(total)
	if math.Abs(change) < 0.5 {
		log = math.Log1p(change)
	}
	sum := stirlingRestAt(total) - stirlingRestAt(shape) - math.Log1p(y/shape)/2 - total*log
	if y > 0 {
		sum += y * (eta - math.Log(y))
	}
	return sum
}

// fixed writes the terms c(y + φ) − c(φ) − ½ log(1 + y/φ) of each count y [n] to terms, which may
// be y. work is memory for 3n numbers.
func (negativeBinomial) fixed(terms, y []float64, shape float64, work []float64) {
	logs, rest := work[:len(y)], stirlingRestAt(shape)
	vectors.DivScalar(logs, y, shape)
	vectors.Log1p(logs, logs)
	vectors.AddScalar(terms, y, shape)
	stirlingRests(terms, terms, work[len(y):])
	for i, log := range logs {
		terms[i] -= rest + log/2
	}
}

// kernels computes the terms without η once for each count, if there are fewer counts than rows.
func (l negativeBinomial) kernels(y, eta []float64, shape float64, kernels []float64) {
	n, most := len(y), max(vectors.MaxOf(y), 0)
	withBuffer(5*n, func(work []float64) {
		logs, change, rate := work[:n], work[n:2*n], work[2*n:3*n]
		if most < float64(n) {
			counts := logs[:int(most)+1]
			for k := range counts {
				counts[k] = float64(k)
			}
			l.fixed(counts, counts, shape, work[n:])
			for i, v := range y {
				kernels[i] = counts[int(v)]
			}
		} else {
			l.fixed(kernels, y, shape, work[n:])
		}
		vectors.MaxScalar(logs, y, 1)
		vectors.Log(logs, logs)
		vectors.Exp(rate, eta)
		for i, v := range y {
			change[i] = (rate[i] - v) / (shape + v)
		}
		vectors.Log1p(change, change)
		for i, v := range y {
			total, log := shape+v, change[i] // φ + y and log((φ + μ)/(φ + y))
			if log < -math.Ln2 {
				log = math.Log((shape + rate[i]) / total) // here the change loses digits
			}
			kernels[i] += v*(eta[i]-logs[i]) - total*log
			if eta[i] > mostLogRatio {
				kernels[i] = l.LogKernelAt(v, eta[i], shape)
			}
		}
	})
}

func (negativeBinomial) newtons(y, eta []float64, shape float64, slope, curvature []float64) {
	n, logShape := len(y), math.Log(shape)
	withBuffer(2*n, func(work []float64) {
		p, q := work[:n], work[n:] // μ/(φ + μ), φ/(φ + μ)
		vectors.SubScalar(p, eta, logShape)
		vectors.Neg(q, p)
		vectors.Logistic(p, p)
		vectors.Logistic(q, q)
		for i, v := range y {
			slope[i], curvature[i] = v*q[i]-shape*p[i], max((v+shape)*p[i]*q[i], leastPoissonCurvature)
		}
	})
}

func (negativeBinomial) LogConstant(y float64) float64 { return poisson{}.LogConstant(y) }

func (negativeBinomial) NewtonAt(y, eta, shape float64) (slope, curvature float64) {
	shift := eta - math.Log(shape)
	p, q := LogitLink.Mean(shift), LogitLink.Mean(-shift)
	return y*q - shape*p, math.Max((y+shape)*p*q, leastPoissonCurvature)
}

// BoundAt returns the curvature of the quadratic lower bound of Jaakkola and Jordan (2000): as a
// function of η the kernel is the log likelihood of y + φ Bernoulli trials with y successes.
func (l negativeBinomial) BoundAt(y, eta, shape float64) (slope, curvature float64) {
	slope, _ = l.NewtonAt(y, eta, shape)
	return slope, math.Max((y+shape)*logisticBound(eta-math.Log(shape)), leastPoissonCurvature)
}

func (l negativeBinomial) bounds(y, eta []float64, shape float64, slope, curvature []float64) {
	l.newtons(y, eta, shape, slope, curvature)
	withBuffer(len(y), func(shift []float64) {
		vectors.SubScalar(shift, eta, math.Log(shape))
		logisticBounds(curvature, shift)
	})
	for i, v := range y {
		curvature[i] = max((v+shape)*curvature[i], leastPoissonCurvature)
	}
}

func (negativeBinomial) Mean(eta, _ float64) float64 { return math.Exp(eta) }

func (negativeBinomial) Variance(eta, shape float64) float64 {
	mean := math.Exp(eta)
	return mean + mean*mean/shape
}

func (negativeBinomial) Draw(eta, shape float64, random *rand.Rand) float64 {
	rate := distuv.Gamma{Alpha: shape, Beta: 1, Src: random}.Rand() / shape * cappedExpAt(eta)
	if rate == 0 {
		return 0
	}
	return distuv.Poisson{Lambda: rate, Src: random}.Rand()
}

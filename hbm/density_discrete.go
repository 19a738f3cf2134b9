package hbm

import (
	"math"
	"math/rand/v2"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/transdim/vti/likelihood"
)

// Bernoulli is 1 with probability 1 / (1 + exp −logit) and 0 otherwise.
func Bernoulli(logit Term) Density {
	l := likelihood.New(likelihood.LogisticKind, likelihood.Shape{})
	return elementwise("Bernoulli", Binaries,
		func(x *Node, p []*Node) *Node { return l.LogKernel(x, p[0], nil) },
		func(random *rand.Rand, p []float64) float64 { return l.Draw(p[0], 1, random) }, logit)
}

// Binomial is the number of successes in a number of trials, each of probability 1 / (1 + exp
// −logit).
func Binomial(trials, logit Term) Density {
	return elementwise("binomial", Counts,
		func(x *Node, p []*Node) *Node {
			failures := Sub(p[0], x)
			logCount := Sub(Sub(logGamma(AddScalar(p[0], 1)), logGamma(AddScalar(x, 1))), logGamma(AddScalar(failures, 1)))
			return Add(logCount, Sub(Mul(x, p[1]), Mul(p[0], softplus(p[1]))))
		},
		func(random *rand.Rand, p []float64) float64 {
			return distuv.Binomial{N: p[0], P: logistic(p[1]), Src: random}.Rand()
		}, trials, logit)
}

// Poisson counts events at a rate of exp logRate.
func Poisson(logRate Term) Density {
	l := likelihood.New(likelihood.PoissonKind, likelihood.Shape{})
	return elementwise("Poisson", Counts,
		func(x *Node, p []*Node) *Node { return Add(l.LogKernel(x, p[0], nil), logSaturated(x)) },
		func(random *rand.Rand, p []float64) float64 { return l.Draw(p[0], 1, random) }, logRate)
}

// logSaturated is the log probability of a count at a rate that is the count itself, x log x − x −
// log x!, which likelihood.Likelihood leaves out: of large counts by Stirling's series, in which
// nothing cancels.
func logSaturated(x *Node) *Node {
	const large = 100
	base := MaxScalar(x, 1)
	small := Sub(Sub(Mul(x, Log(base)), x), logGamma(AddScalar(x, 1)))
	inverse := Reciprocal(base)
	series := Mul(inverse, AddScalar(MulScalar(Square(inverse), 1.0/360), -1.0/12))
	stirling := AddScalar(Sub(series, MulScalar(Log(base), 0.5)), -halfLogTwoPi)
	return Where(LessThan(x, MulScalar(OnesLike(x), large)), small, stirling)
}

// NegativeBinomial counts events at a rate that is exp logMean times a gamma variable of mean one
// and the given shape: mean μ, variance μ + μ²/shape.
func NegativeBinomial(logMean, shape Term) Density {
	return elementwise("negative binomial", Counts,
		func(x *Node, p []*Node) *Node {
			shape := p[1]
			logOdds := Sub(p[0], Log(shape)) // log μ/shape
			logCount := Sub(Sub(logGamma(Add(x, shape)), logGamma(shape)), logGamma(AddScalar(x, 1)))
			return Add(logCount, Sub(Mul(x, logOdds), Mul(Add(x, shape), softplus(logOdds))))
		},
		func(random *rand.Rand, p []float64) float64 {
			rate := distuv.Gamma{Alpha: p[1], Beta: p[1], Src: random}.Rand() * math.Exp(p[0])
			if rate == 0 { // underflow of a small shape
				return 0
			}
			return distuv.Poisson{Lambda: rate, Src: random}.Rand()
		}, logMean, shape)
}

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

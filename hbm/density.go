package hbm

import (
	"fmt"
	"math"
	"math/rand/v2"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/transdim/vti/likelihood"
)

// Density is the conditional distribution of a variable given its parents, with terms as
// parameters. Where the event of the variable has axes, a parameter is either a number, which holds
// for all components, or has the same event shape.
type Density struct {
	name    string
	support Support
	terms   []Term
	// logProb is the log density of x [plates..., draws, event...], all constants kept. It may
	// leave axes of the event, over which the log density is a sum.
	logProb func(x *Node, parameters []*Node, eventRank int) *Node
	// draw fills x with the value of one member. Each parameter has one number or as many as x, a
	// mixture has more.
	draw func(random *rand.Rand, parameters [][]float64, x []float64)
	// normal, if there is one, gives mean and standard deviation [plates..., draws, event...] of a
	// normal distribution near that of the unconstrained value under the default link. It says
	// where inference starts, and about which scale; nothing depends on how near it is.
	normal func(parameters []*Node) (mean, sd *Node)
}

// CustomDensity describes a density that this package does not have.
type CustomDensity struct {
	Name    string
	Support Support
	// LogProb is the log density of x [plates..., draws, event...], normalised, given the values of
	// the terms. It returns [plates..., draws], or leaves axes of the event to be summed over.
	LogProb func(x *Node, terms []*Node) *Node
	// Draw fills x, the value of one member, given those of the terms there. It is needed only to
	// simulate.
	Draw func(random *rand.Rand, terms [][]float64, x []float64)
}

// Custom is a density given by functions.
func Custom(custom CustomDensity, terms ...Term) Density {
	d := Density{name: custom.Name, support: custom.Support, terms: terms, draw: custom.Draw}
	if custom.LogProb != nil {
		d.logProb = func(x *Node, parameters []*Node, _ int) *Node { return custom.LogProb(x, parameters) }
	}
	return d
}

// elementwise is a density of independent components.
func elementwise(name string, support Support, logProb func(x *Node, p []*Node) *Node, draw func(random *rand.Rand, p []float64) float64, terms ...Term) Density {
	return Density{
		name: name, support: support, terms: terms,
		logProb: func(x *Node, parameters []*Node, _ int) *Node { return logProb(x, alignedTo(x, parameters)) },
		draw: func(random *rand.Rand, parameters [][]float64, x []float64) {
			at := make([]float64, len(parameters))
			for i := range x {
				for j, values := range parameters {
					at[j] = values[i%len(values)]
				}
				x[i] = draw(random, at)
			}
		},
	}
}

// withNormal adds a normal approximation of the unconstrained value.
func (d Density) withNormal(normal func(p []*Node) (mean, sd *Node)) Density {
	d.normal = normal
	return d
}

// alignedTo gives parameters without axes for the event as many axes of size 1 as x has.
func alignedTo(x *Node, parameters []*Node) []*Node {
	aligned := make([]*Node, len(parameters))
	for i, p := range parameters {
		if p.Rank() > x.Rank() {
			panic(fmt.Errorf("hbm: parameter %d of a density has shape %s, more axes than its variable of shape %s", i, p.Shape(), x.Shape()))
		}
		for p.Rank() < x.Rank() {
			p = InsertAxes(p, -1)
		}
		aligned[i] = p
	}
	return aligned
}

// broadcast2 gives two nodes of equal rank the same shape.
func broadcast2(a, b *Node) (x, y *Node) {
	dims := make([]int, a.Rank())
	for i := range dims {
		dims[i] = max(a.Shape().Dim(i), b.Shape().Dim(i))
	}
	return BroadcastToDims(a, dims...), BroadcastToDims(b, dims...)
}

// broadcast3 is broadcast2 for three.
func broadcast3(a, b, c *Node) (x, y, z *Node) {
	a, b = broadcast2(a, b)
	a, c = broadcast2(a, c)
	b, c = broadcast2(b, c)
	return a, b, c
}

// logNormal is the log density of a normal distribution.
func logNormal(x, mean, sd *Node) *Node {
	return AddScalar(Neg(Add(MulScalar(Square(Div(Sub(x, mean), sd)), 0.5), Log(sd))), -halfLogTwoPi)
}

func asGiven(p []*Node) (mean, sd *Node) { return p[0], p[1] }

// Normal is the normal distribution with a mean and a standard deviation.
func Normal(mean, sd Term) Density {
	return elementwise("normal", Reals,
		func(x *Node, p []*Node) *Node { return logNormal(x, p[0], p[1]) },
		func(random *rand.Rand, p []float64) float64 { return p[0] + p[1]*random.NormFloat64() },
		mean, sd).withNormal(asGiven)
}

// Laplace has density exp(−|x − location| / scale) / (2 scale).
func Laplace(location, scale Term) Density {
	return elementwise("Laplace", Reals,
		func(x *Node, p []*Node) *Node {
			return AddScalar(Neg(Add(Div(Abs(Sub(x, p[0])), p[1]), Log(p[1]))), -logTwo)
		},
		func(random *rand.Rand, p []float64) float64 {
			return p[0] + p[1]*(random.ExpFloat64()-random.ExpFloat64())
		},
		location, scale).withNormal(func(p []*Node) (mean, sd *Node) { return p[0], MulScalar(p[1], math.Sqrt2) })
}

// logStudentT is the log density of Student's t, with its constants.
func logStudentT(x, degrees, location, scale *Node) *Node {
	half, next := MulScalar(degrees, 0.5), MulScalar(AddScalar(degrees, 1), 0.5)
	constant := Sub(Sub(logGamma(next), logGamma(half)), MulScalar(Log(MulScalar(degrees, math.Pi)), 0.5))
	tail := Mul(next, Log1p(Div(Square(Div(Sub(x, location), scale)), degrees)))
	return Sub(Sub(constant, Log(scale)), tail)
}

func drawStudentT(random *rand.Rand, degrees float64) float64 {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: degrees, Src: random}.Rand()
}

// StudentT is Student's t with degrees of freedom, location and scale.
func StudentT(degrees, location, scale Term) Density {
	return elementwise("Student-t", Reals,
		func(x *Node, p []*Node) *Node { return logStudentT(x, p[0], p[1], p[2]) },
		func(random *rand.Rand, p []float64) float64 { return p[1] + p[2]*drawStudentT(random, p[0]) },
		degrees, location, scale).withNormal(func(p []*Node) (mean, sd *Node) { return p[1], p[2] })
}

// Uniform is the uniform distribution on the numbers from low to high.
func Uniform(low, high float64) Density {
	return elementwise("uniform", Interval(low, high),
		func(x *Node, _ []*Node) *Node { return AddScalar(ZerosLike(x), -math.Log(high-low)) },
		func(random *rand.Rand, _ []float64) float64 { return low + (high-low)*random.Float64() },
	)
}

// Mean and standard deviation of log |z| for a standard normal z.
var (
	logHalfNormalMean = -0.5 * (euler + math.Ln2)
	logHalfNormalSD   = math.Pi / math.Sqrt(8)
)

const euler = 0.57721566490153286 // Euler's constant

// logOfScale is the normal approximation of the logarithm of a variable that is a scale times |z|.
func logOfScale(scale *Node) (mean, sd *Node) {
	return AddScalar(Log(scale), logHalfNormalMean), AddScalar(ZerosLike(scale), logHalfNormalSD)
}

// LogNormal is the distribution of exp of a normal variable with a mean and a standard deviation.
func LogNormal(mean, sd Term) Density {
	return elementwise("log-normal", Positives,
		func(x *Node, p []*Node) *Node {
			logX := Log(x)
			return Sub(logNormal(logX, p[0], p[1]), logX)
		},
		func(random *rand.Rand, p []float64) float64 { return math.Exp(p[0] + p[1]*random.NormFloat64()) },
		mean, sd).withNormal(asGiven)
}

// HalfNormal is the distribution of |x| for a normal x of mean zero with a standard deviation.
func HalfNormal(sd Term) Density {
	return elementwise("half-normal", Positives,
		func(x *Node, p []*Node) *Node { return AddScalar(logNormal(x, ZerosLike(p[0]), p[0]), logTwo) },
		func(random *rand.Rand, p []float64) float64 { return p[0] * math.Abs(random.NormFloat64()) },
		sd).withNormal(func(p []*Node) (mean, sd *Node) { return logOfScale(p[0]) })
}

// HalfStudentT is the distribution of |x| for Student's t with degrees of freedom, location zero
// and a scale.
func HalfStudentT(degrees, scale Term) Density {
	return elementwise("half-Student-t", Positives,
		func(x *Node, p []*Node) *Node {
			return AddScalar(logStudentT(x, p[0], ZerosLike(p[1]), p[1]), logTwo)
		},
		func(random *rand.Rand, p []float64) float64 { return p[1] * math.Abs(drawStudentT(random, p[0])) },
		degrees, scale).withNormal(func(p []*Node) (mean, sd *Node) { return logOfScale(p[1]) })
}

// Gamma has density rate^shape x^(shape−1) exp(−rate x) / Γ(shape).
func Gamma(shape, rate Term) Density {
	return elementwise("gamma", Positives,
		func(x *Node, p []*Node) *Node {
			constant := Sub(Mul(p[0], Log(p[1])), logGamma(p[0]))
			return Add(Sub(Mul(AddScalar(p[0], -1), Log(x)), Mul(p[1], x)), constant)
		},
		func(random *rand.Rand, p []float64) float64 {
			return distuv.Gamma{Alpha: p[0], Beta: p[1], Src: random}.Rand()
		},
		shape, rate).withNormal(func(p []*Node) (mean, sd *Node) {
		// log x has mean ψ(shape) − log rate and variance ψ'(shape).
		inverse := Reciprocal(p[0])
		return Sub(Sub(Log(p[0]), MulScalar(inverse, 0.5)), Log(p[1])), Sqrt(Add(inverse, MulScalar(Square(inverse), 0.5)))
	})
}

// Dirichlet is the distribution of shares with the concentration of each, a vector or a number for
// all. Its density is that of all shares but the last.
func Dirichlet(concentration Term) Density {
	return Density{
		name: "Dirichlet", support: Simplex, terms: []Term{concentration},
		logProb: func(x *Node, parameters []*Node, _ int) *Node {
			a := alignedTo(x, parameters)[0]
			x, a = broadcast2(x, a)
			normaliser := Sub(logGamma(ReduceSum(a, -1)), ReduceSum(logGamma(a), -1))
			return Add(normaliser, ReduceSum(xLogY(AddScalar(a, -1), x), -1))
		},
		draw: func(random *rand.Rand, parameters [][]float64, x []float64) {
			var sum float64
			for i := range x {
				a := parameters[0][i%len(parameters[0])]
				x[i] = distuv.Gamma{Alpha: a, Beta: 1, Src: random}.Rand()
				sum += x[i]
			}
			for i := range x {
				x[i] /= sum
			}
		},
	}
}

// Mixture draws one of the components with the given weights, a vector of shares, and the value
// from it: all components of the event from the same. Which it was is summed out.
func Mixture(weights Term, components ...Density) Density {
	if len(components) == 0 {
		panic(fmt.Errorf("hbm.Mixture: there are no components"))
	}
	mixture := Density{name: "mixture", support: components[0].support, terms: []Term{weights}}
	ends := make([]int, len(components)) // of the terms of each component
	for i, component := range components {
		if component.support != mixture.support {
			panic(fmt.Errorf("hbm.Mixture: component 0 takes %s and component %d %s", mixture.support, i, component.support))
		}
		mixture.terms = append(mixture.terms, component.terms...)
		ends[i] = len(mixture.terms)
	}
	termsOf := func(i int) (from, to int) {
		if i == 0 {
			return 1, ends[0]
		}
		return ends[i-1], ends[i]
	}
	mixture.logProb = func(x *Node, parameters []*Node, eventRank int) *Node {
		rank := x.Rank() - eventRank
		weight := parameters[0]
		if weight.Rank() != rank+1 || weight.Shape().Dim(rank) != len(components) {
			panic(fmt.Errorf("hbm.Mixture: got weights of shape %s, want %d axes, the last of size %d", weight.Shape(), rank+1, len(components)))
		}
		var joint *Node // [plates..., draws, components]
		for i, component := range components {
			from, to := termsOf(i)
			logProb := InsertAxes(sumTrailing(component.logProb(x, parameters[from:to], eventRank), rank), -1)
			if joint == nil {
				joint = logProb
				continue
			}
			// Components may vary along different axes.
			dims := broadcastDims(joint, logProb, rank)
			joint = Concatenate([]*Node{BroadcastToDims(joint, append(dims, i)...), BroadcastToDims(logProb, append(dims, 1)...)}, rank)
		}
		return logSumExp(Add(Log(weight), joint))
	}
	mixture.draw = func(random *rand.Rand, parameters [][]float64, x []float64) {
		left, chosen := random.Float64(), 0
		for ; chosen < len(components)-1; chosen++ {
			if left -= parameters[0][chosen]; left < 0 {
				break
			}
		}
		from, to := termsOf(chosen)
		components[chosen].draw(random, parameters[from:to], x)
	}
	return mixture
}

// broadcastDims are the dimensions of the first n axes of two nodes after broadcasting.
func broadcastDims(a, b *Node, n int) []int {
	dims := make([]int, n, n+1)
	for i := range dims {
		dims[i] = max(a.Shape().Dim(i), b.Shape().Dim(i))
	}
	return dims
}

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

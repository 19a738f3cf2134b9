package hbm

import (
	"fmt"
	"math"
	"math/rand/v2"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/likelihood"
)

// Density is the conditional distribution of a variable given its parents, with terms as
// parameters. If the event of the variable has axes, a parameter is either a number, which holds
// for all components, or has the same event shape.
type Density struct {
	name    string
	support Support
	terms   []Term
	// logProb is the log density of x [plates..., draws, event...], with all constants. Its result
	// may keep axes of the event, over which it is then summed.
	logProb func(x *Node, parameters []*Node, eventRank int) *Node
	// draw fills x with the value of one member. Each parameter has one number, or one for each
	// entry of x; a parameter of a mixture has more.
	draw func(random *rand.Rand, parameters [][]float64, x []float64)
	// normal, if not nil, returns mean and standard deviation [plates..., draws, event...] of a
	// normal distribution near the distribution of the unconstrained value under the default link.
	// The start and the scale of inference come from this distribution, which need not be a close
	// approximation.
	normal func(parameters []*Node) (mean, sd *Node)
}

// CustomDensity describes a density that is defined outside this package.
type CustomDensity struct {
	// Name is the name of the density in texts, and Support the set of its values.
	Name    string
	Support Support
	// LogProb is the log density of x [plates..., draws, event...], normalised, given the values of
	// the terms. It returns [plates..., draws], or keeps axes of the event, over which it is then
	// summed.
	LogProb func(x *Node, terms []*Node) *Node
	// Draw fills x, the value of one member, given the values of the terms at this member. Only
	// simulation needs it.
	Draw func(random *rand.Rand, terms [][]float64, x []float64)
}

// Custom returns a density that is given by functions.
func Custom(custom CustomDensity, terms ...Term) Density {
	d := Density{name: custom.Name, support: custom.Support, terms: terms, draw: custom.Draw}
	if custom.LogProb != nil {
		d.logProb = func(x *Node, parameters []*Node, _ int) *Node { return custom.LogProb(x, parameters) }
	}
	return d
}

// elementwise returns a density of independent components.
func elementwise(name string, support Support, logProb func(x *Node, p []*Node) *Node, draw func(random *rand.Rand, p []float64) float64, terms ...Term) Density {
	return Density{
		name: name, support: support, terms: terms,
		logProb: func(x *Node, parameters []*Node, _ int) *Node { return logProb(x, alignedTo(x, parameters)) },
		draw: func(random *rand.Rand, parameters [][]float64, x []float64) {
			element := make([]float64, len(parameters))
			for i := range x {
				for j, values := range parameters {
					element[j] = values[i%len(values)]
				}
				x[i] = draw(random, element)
			}
		},
	}
}

func (d Density) withNormal(normal func(p []*Node) (mean, sd *Node)) Density {
	d.normal = normal
	return d
}

// alignedTo adds axes of size 1 to the parameters until they have the rank of x.
func alignedTo(x *Node, parameters []*Node) []*Node {
	aligned := make([]*Node, len(parameters))
	for i, p := range parameters {
		if p.Rank() > x.Rank() {
			panic(fmt.Errorf("hbm: parameter %d of a density has shape %s, more axes than its variable of shape %s", i, p.Shape(), x.Shape()))
		}
		aligned[i] = withRank(p, x.Rank())
	}
	return aligned
}

// broadcast2 gives two nodes of equal rank the same shape.
func broadcast2(a, b *Node) (x, y *Node) {
	dims := apply.UpTo(a.Rank(), func(i int) int { return max(a.Shape().Dim(i), b.Shape().Dim(i)) })
	return BroadcastToDims(a, dims...), BroadcastToDims(b, dims...)
}

func logNormal(x, mean, sd *Node) *Node {
	return AddScalar(Neg(Add(MulScalar(Square(Div(Sub(x, mean), sd)), 0.5), Log(sd))), -halfLogTwoPi)
}

func asGiven(p []*Node) (mean, sd *Node) { return p[0], p[1] }

// Normal returns the normal distribution with a mean and a standard deviation.
func Normal(mean, sd Term) Density {
	return elementwise("normal", Reals,
		func(x *Node, p []*Node) *Node { return logNormal(x, p[0], p[1]) },
		func(random *rand.Rand, p []float64) float64 { return p[0] + p[1]*random.NormFloat64() },
		mean, sd).withNormal(asGiven)
}

// logStudentT returns the log density of Student's t, with its constants.
func logStudentT(x, degrees, location, scale *Node) *Node {
	half, next := MulScalar(degrees, 0.5), MulScalar(AddScalar(degrees, 1), 0.5)
	constant := Sub(Sub(logGamma(next), logGamma(half)), MulScalar(Log(MulScalar(degrees, math.Pi)), 0.5))
	tail := Mul(next, Log1p(Div(Square(Div(Sub(x, location), scale)), degrees)))
	return Sub(Sub(constant, Log(scale)), tail)
}

func drawStudentT(random *rand.Rand, degrees float64) float64 {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: degrees, Src: random}.Rand()
}

// StudentT returns Student's t with degrees of freedom, location and scale.
func StudentT(degrees, location, scale Term) Density {
	return elementwise("Student-t", Reals,
		func(x *Node, p []*Node) *Node { return logStudentT(x, p[0], p[1], p[2]) },
		func(random *rand.Rand, p []float64) float64 { return p[1] + p[2]*drawStudentT(random, p[0]) },
		degrees, location, scale).withNormal(func(p []*Node) (mean, sd *Node) { return p[1], p[2] })
}

// Mean and standard deviation of log |z| for a standard normal z.
var (
	logHalfNormalMean = -0.5 * (euler + math.Ln2)
	logHalfNormalSD   = math.Pi / math.Sqrt(8)
)

const euler = 0.57721566490153286 // Euler's constant

// logOfScale returns the normal approximation of the logarithm of a variable that is a scale times
// |z|.
func logOfScale(scale *Node) (mean, sd *Node) {
	return AddScalar(Log(scale), logHalfNormalMean), AddScalar(ZerosLike(scale), logHalfNormalSD)
}

// LogNormal returns the distribution of exp of a normal variable with a mean and a standard
// deviation.
func LogNormal(mean, sd Term) Density {
	return elementwise("log-normal", Positives,
		func(x *Node, p []*Node) *Node {
			logX := Log(x)
			return Sub(logNormal(logX, p[0], p[1]), logX)
		},
		func(random *rand.Rand, p []float64) float64 { return math.Exp(p[0] + p[1]*random.NormFloat64()) },
		mean, sd).withNormal(asGiven)
}

// HalfNormal returns the distribution of |x| for a normal x of mean zero with a standard deviation.
func HalfNormal(sd Term) Density {
	return elementwise("half-normal", Positives,
		func(x *Node, p []*Node) *Node { return AddScalar(logNormal(x, ZerosLike(p[0]), p[0]), math.Ln2) },
		func(random *rand.Rand, p []float64) float64 { return p[0] * math.Abs(random.NormFloat64()) },
		sd).withNormal(func(p []*Node) (mean, sd *Node) { return logOfScale(p[0]) })
}

// HalfStudentT returns the distribution of |x| for Student's t with degrees of freedom, location
// zero and a scale.
func HalfStudentT(degrees, scale Term) Density {
	return elementwise("half-Student-t", Positives,
		func(x *Node, p []*Node) *Node {
			return AddScalar(logStudentT(x, p[0], ZerosLike(p[1]), p[1]), math.Ln2)
		},
		func(random *rand.Rand, p []float64) float64 { return p[1] * math.Abs(drawStudentT(random, p[0])) },
		degrees, scale).withNormal(func(p []*Node) (mean, sd *Node) { return logOfScale(p[1]) })
}

// Gamma returns the distribution with density rate^shape x^(shape−1) exp(−rate x) / Γ(shape).
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
		// The logarithm of a gamma variable x has mean ψ(shape) − log rate and variance ψ'(shape).
		inverse := Reciprocal(p[0])
		return Sub(Sub(Log(p[0]), MulScalar(inverse, 0.5)), Log(p[1])), Sqrt(Add(inverse, MulScalar(Square(inverse), 0.5)))
	})
}

// Bernoulli returns the distribution of 1 with probability 1 / (1 + exp −logit) and 0 otherwise.
func Bernoulli(logit Term) Density {
	l := likelihood.New(likelihood.LogisticKind, likelihood.Shape{})
	return elementwise("Bernoulli", Binaries,
		func(x *Node, p []*Node) *Node { return l.LogKernel(x, p[0], nil) },
		func(random *rand.Rand, p []float64) float64 { return l.Draw(p[0], 1, random) }, logit)
}

// Poisson returns the distribution of a count of events at a rate of exp logRate.
func Poisson(logRate Term) Density {
	l := likelihood.New(likelihood.PoissonKind, likelihood.Shape{})
	return elementwise("Poisson", Counts,
		func(x *Node, p []*Node) *Node { return Add(l.LogKernel(x, p[0], nil), logSaturated(x)) },
		func(random *rand.Rand, p []float64) float64 { return l.Draw(p[0], 1, random) }, logRate)
}

// logSaturated returns the log probability of a count at a rate equal to the count, x log x − x −
// log x!, which likelihood.Likelihood leaves out. For large counts it uses Stirling's series, in
// which nothing cancels.
func logSaturated(x *Node) *Node {
	const large = 100
	base := MaxScalar(x, 1)
	small := Sub(Sub(Mul(x, Log(base)), x), logGamma(AddScalar(x, 1)))
	inverse := Reciprocal(base)
	series := Mul(inverse, AddScalar(MulScalar(Square(inverse), 1.0/360), -1.0/12))
	stirling := AddScalar(Sub(series, MulScalar(Log(base), 0.5)), -halfLogTwoPi)
	return Where(LessThan(x, MulScalar(OnesLike(x), large)), small, stirling)
}

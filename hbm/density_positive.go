package hbm

import (
	"math"
	"math/rand/v2"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"gonum.org/v1/gonum/stat/distuv"
)

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

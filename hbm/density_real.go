package hbm

import (
	"math"
	"math/rand/v2"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"gonum.org/v1/gonum/stat/distuv"
)

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

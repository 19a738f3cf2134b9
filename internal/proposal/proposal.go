// Package proposal provides normal and Student t distributions given by the mode and curvature of a
// log density. They serve as proposals for importance sampling.
package proposal

import (
	"math"
	"math/rand/v2"

	"github.com/transdim/vti/internal/dense"
)

// T is a multivariate Student t or normal distribution with the mode and curvature of a log
// density. gonum's distmv.StudentsT takes a covariance matrix rather than a precision matrix. In
// three dimensions a draw with its density takes seven times as long there.
type T struct {
	mode        []float64
	factor      dense.Factor
	degrees     int
	logConstant float64 // log of the normalising constant of the density
}

// Normal is the number of degrees of freedom of a normal distribution.
const Normal = 0

// New returns the t distribution with the given mode [d], Cholesky factor of the precision matrix,
// and degrees of freedom. If degrees is the constant Normal, it is a normal distribution. The slice
// mode is not copied. Few degrees of freedom give heavy tails, which bound importance weights. In
// some tens of dimensions 5 to 8 degrees lose little efficiency.
func New(mode []float64, factor dense.Factor, degrees int) T {
	d, nu := float64(len(mode)), float64(degrees)
	t := T{mode, factor, degrees, factor.LogDet()/2 - d/2*math.Log(2*math.Pi)}
	if degrees != Normal {
		above, _ := math.Lgamma((nu + d) / 2)
		below, _ := math.Lgamma(nu / 2)
		t.logConstant = factor.LogDet()/2 + above - below - d/2*math.Log(nu*math.Pi)
	}
	return t
}

// Mode returns the point of the largest density. Callers must not change the slice.
func (t T) Mode() []float64 { return t.mode }

// LogIntegral returns the Laplace approximation of the log integral of a density with this mode and
// curvature, given its log density at the mode.
func (t T) LogIntegral(logDensity float64) float64 {
	return logDensity + float64(len(t.mode))/2*math.Log(2*math.Pi) - t.factor.LogDet()/2
}

// Draw writes a draw to x [d] and returns its log density. From the argument random it takes one
// standard normal number for each degree of freedom, and then d such numbers.
func (t T) Draw(random *rand.Rand, x []float64) (logDensity float64) {
	root := 1.0
	if t.degrees != Normal {
		chi := 0.0 // a χ² draw divided by its degrees of freedom
		for range t.degrees {
			z := random.NormFloat64()
			chi += z * z / float64(t.degrees)
		}
		root = math.Sqrt(chi)
	}
	square := 0.0
	for a := range x {
		x[a] = random.NormFloat64() / root
		square += x[a] * x[a]
	}
	t.factor.SolveUpper(x)
	for a, m := range t.mode {
		x[a] += m
	}
	return t.LogDensityAt(square)
}

// LogDensity returns the log density at x [d]. work [d] is scratch memory.
func (t T) LogDensity(x, work []float64) float64 { return t.LogDensityAt(t.Square(x, work)) }

// Square returns the squared distance of x [d] from the mode in the metric of the curvature. work
// [d] is scratch memory.
func (t T) Square(x, work []float64) (square float64) {
	for a, m := range t.mode {
		work[a] = x[a] - m
	}
	t.factor.MulUpper(work)
	for _, u := range work {
		square += u * u
	}
	return square
}

// LogDensityAt returns the log density at points with the given squared distance from the mode.
func (t T) LogDensityAt(square float64) float64 {
	if t.degrees == Normal {
		return t.logConstant - square/2
	}
	nu := float64(t.degrees)
	return t.logConstant - (nu+float64(len(t.mode)))/2*math.Log1p(square/nu)
}

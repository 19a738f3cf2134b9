// Package proposal has normal and Student t distributions by mode and curvature of a density, to
// draw from and to weigh draws by.
package proposal

import (
	"math"
	"math/rand/v2"

	"github.com/transdim/vti/internal/dense"
)

// T is a multivariate Student t distribution, or a normal one, with the mode and curvature of a log
// density. gonum's distmv.StudentsT is made of a covariance rather than a precision, and takes
// seven times as long for a draw with its density in three dimensions.
type T struct {
	mode        []float64
	factor      dense.Factor
	degrees     int
	logConstant float64 // of the density
}

// Normal is the number of degrees of freedom of a normal distribution.
const Normal = 0

// New takes the mode [d], which it keeps, the factor of the precision, and the degrees of freedom:
// few bound weights by their tails, Normal has none. In some tens of dimensions 5 to 8 lose little.
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

// Mode is where the density is largest; it is not to be changed.
func (t T) Mode() []float64 { return t.mode }

// LogIntegral is the Laplace approximation of the log integral of a density with this mode and
// curvature, and this logarithm at the mode.
func (t T) LogIntegral(logDensity float64) float64 {
	return logDensity + float64(len(t.mode))/2*math.Log(2*math.Pi) - t.factor.LogDet()/2
}

// Draw writes a draw to x [d] and returns its log density. It uses one normal number for each
// degree of freedom, and then d.
func (t T) Draw(random *rand.Rand, x []float64) (logDensity float64) {
	root := 1.0
	if t.degrees != Normal {
		chi := 0.0 // χ² over its degrees
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

// LogDensity is the log density at x [d]; work [d] is overwritten.
func (t T) LogDensity(x, work []float64) float64 { return t.LogDensityAt(t.Square(x, work)) }

// Square is the squared distance of x [d] from the mode by the curvature there; work [d] is
// overwritten.
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

// LogDensityAt is the log density at a squared distance.
func (t T) LogDensityAt(square float64) float64 {
	if t.degrees == Normal {
		return t.logConstant - square/2
	}
	nu := float64(t.degrees)
	return t.logConstant - (nu+float64(len(t.mode)))/2*math.Log1p(square/nu)
}

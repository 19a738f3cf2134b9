package varsel

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/dense"
)

// splitFit draws from an approximation of the posterior of a model whose tails differ between the
// two sides of the mode. An example is a category with few rows or none: on one side the rows bound
// its log odds, on the other side only the prior does. The approximation is a t distribution on
// axes through the mode, with a scale for each side of each axis (Geweke 1989, "Bayesian inference
// in econometric models using Monte Carlo integration"). The probability of a side is proportional
// to its scale, so that the density is continuous at the mode.
type splitFit struct {
	*laplaceFit
	axes         []float64  // [k·k]: an axis in each row, scaled such that the second derivative of the log density along it is −1
	along        *mat.Dense // [k,k]: maps θ − θ̂ to distances along the axes
	above, below []float64  // [k]: scales of the two sides of each axis
	logSpread    float64    // log of the product, over axes, of the mean of the two scales
}

// Steps along an axis, with which [splitFit.sideScale] explores a side. They start at splitStep
// standard deviations and grow by the factor splitGrowth, at most splitSteps times, until the log
// density has fallen by splitDrop nats. Farther out the tails of the t distribution cover the
// posterior. Doubling steps cover all scales from a narrow mode to the width of the prior.
const (
	splitStep   = 1.0
	splitGrowth = 2.0
	splitDrop   = 10
	splitSteps  = 40
)

// lower returns the lower triangle of a Cholesky factor as a matrix.
func lower(f dense.Factor) *mat.TriDense {
	l := mat.NewTriDense(f.Order(), mat.Lower, nil)
	for i := range f.Order() {
		for j := range i + 1 {
			l.SetTri(i, j, f.At(i, j))
		}
	}
	return l
}

// setScales sets the scales of the two sides of each axis, measured from the mode.
func (s *splitFit) setScales() {
	for axis := range s.mode {
		s.above, s.below = append(s.above, s.sideScale(s.mode, s.height, axis, 1)), append(s.below, s.sideScale(s.mode, s.height, axis, -1))
	}
	s.setSpread()
}

func (s *splitFit) setSpread() {
	s.logSpread = 0
	for i, above := range s.above {
		s.logSpread += math.Log((above + s.below[i]) / 2)
	}
}

// sideScale returns the scale of a normal density along one side of an axis through the point from,
// where the log joint density is height. sign, 1 or -1, chooses the side. The scale is so large
// that, relative to their values at the point, the normal density is at least the posterior density
// at every step that is tried.
func (s *splitFit) sideScale(from []float64, height float64, axis int, sign float64) float64 {
	scale, point := 1.0, make([]float64, len(from))
	for step, n := splitStep, 0; n < splitSteps; step, n = step*splitGrowth, n+1 {
		floats.AddScaledTo(point, from, sign*step, s.axes[axis*len(point):(axis+1)*len(point)])
		drop := height - s.logJoint(point)
		if !(drop < splitDrop) {
			break
		}
		if wide := step / math.Sqrt(2*math.Max(drop, 0)); wide > scale {
			scale = math.Min(wide, step)
		}
	}
	return scale
}

// laplaceChi draws from the χ² distribution with laplaceDegrees degrees of freedom, divided by
// laplaceDegrees.
func laplaceChi(random *rand.Rand) (chi float64) {
	for range laplaceDegrees {
		x := random.NormFloat64()
		chi += x * x / laplaceDegrees
	}
	return chi
}

// drawStep writes a draw of θ − θ̂ to step [k] and returns its log density.
func (s *splitFit) drawStep(random *rand.Rand, step []float64) (logDensity float64) {
	k, root, square := len(step), math.Sqrt(laplaceChi(random)), 0.0
	clear(step)
	for i, above := range s.above {
		z := math.Abs(random.NormFloat64()) / root
		square += z * z
		both := above + s.below[i]
		if random.Float64()*both < above {
			z *= above
		} else {
			z *= -s.below[i]
		}
		floats.AddScaled(step, z, s.axes[i*k:i*k+k])
	}
	return s.around.LogDensityAt(square) - s.logSpread
}

func (s *splitFit) logStep(step []float64) float64 {
	square := 0.0
	for i, above := range s.above {
		z := floats.Dot(s.along.RawRowView(i), step)
		if z > 0 {
			z /= above
		} else {
			z /= s.below[i]
		}
		square += z * z
	}
	return s.around.LogDensityAt(square) - s.logSpread
}

package varsel

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/dense"
)

// splitFit draws from the posterior of a model whose tails differ between the two sides of the
// mode, as for categories with few rows or none: the rows bound a log odds on one side, the prior
// alone on the other. It is a t distribution on axes through the mode, with a scale for each side
// of each axis (Geweke 1989, "Bayesian inference in econometric models using Monte Carlo
// integration"). Sides have probabilities in proportion to their scales, so that the density has no
// step at the mode.
type splitFit struct {
	*laplaceFit
	axes         []float64  // [k·k], an axis in each row, on which the log density has curvature −1
	along        *mat.Dense // [k,k], from θ − θ̂ to distances along the axes; nil if not needed
	above, below []float64  // [k]: the scales of the sides
	logSpread    float64    // log of the product of the mean scales of all axes
	steps        int        // along each side of an axis at most
}

// Steps along an axis. They start at splitStep standard deviations and grow by the factor
// splitGrowth, at most splitSteps times, until the log density has fallen by splitDrop: beyond, the
// tails of the t distribution cover the posterior.
const (
	splitStep   = 1.0
	splitGrowth = 2.0
	splitDrop   = 10
	splitSteps  = 6
)

// split finds the axes and scales of an approximation. The axes are the eigenvectors of the
// curvature in units of the prior. ok is false if there are no coefficients, or if rounding errors
// leave an eigenvalue that is not positive.
func (f *laplaceFit) split() (s *splitFit, ok bool) {
	k := len(f.mode)
	if k == 0 {
		return nil, false
	}
	curvature := f.information()
	for i := range k {
		for j := range i + 1 {
			curvature.SetSym(i, j, f.SD[i]*f.SD[j]*curvature.At(i, j))
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(curvature, true) {
		return nil, false
	}
	s = &splitFit{laplaceFit: f, axes: make([]float64, k*k), steps: splitSteps}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	for i, square := range eigen.Values(nil) {
		if !(square > 0) {
			return nil, false
		}
		for j := range k {
			s.axes[i*k+j] = f.SD[j] * vectors.At(j, i) / math.Sqrt(square)
		}
	}
	s.setScales()
	return s, true
}

// lower returns the lower triangle of a factor.
func lower(f dense.Factor) *mat.TriDense {
	l := mat.NewTriDense(f.Order(), mat.Lower, nil)
	for i := range f.Order() {
		for j := range i + 1 {
			l.SetTri(i, j, f.At(i, j))
		}
	}
	return l
}

// setScales sets the scales of the sides, seen from the mode.
func (s *splitFit) setScales() {
	for axis := range s.mode {
		s.above, s.below = append(s.above, s.scale(s.mode, axis, 1)), append(s.below, s.scale(s.mode, axis, -1))
	}
	s.setSpread()
}

func (s *splitFit) setSpread() {
	s.logSpread = 0
	for i, above := range s.above {
		s.logSpread += math.Log((above + s.below[i]) / 2)
	}
}

// scale is the scale of a normal distribution along one side of an axis through a point. Relative
// to its value at the point, its density is nowhere below the posterior density.
func (s *splitFit) scale(from []float64, axis int, sign float64) float64 {
	scale, height, point := 1.0, s.logJoint(from), make([]float64, len(from))
	for step, n := splitStep, 0; n < s.steps; step, n = step*splitGrowth, n+1 {
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

// draw writes a draw of the coordinates to theta [k] and returns its log density.
func (s *splitFit) draw(random *rand.Rand, theta []float64) (logDensity float64) {
	logDensity = s.drawStep(random, theta)
	floats.Add(theta, s.mode)
	return logDensity
}

// laplaceChi draws a χ² of laplaceDegrees, divided by laplaceDegrees.
func laplaceChi(random *rand.Rand) (chi float64) {
	for range laplaceDegrees {
		x := random.NormFloat64()
		chi += x * x / laplaceDegrees
	}
	return chi
}

// drawStep writes a step [k] from the mode and returns its log density.
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

package varsel

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// splitFit draws from the posterior of a model whose tails differ from one side of the mode to the
// other, as those of categories with few rows or none do: on one side the rows stop a log odds, on
// the other the prior alone does. It is a t distribution on axes through the mode, with a scale for
// each side of each (Geweke 1989, "Bayesian inference in econometric models using Monte Carlo
// integration"); sides have probabilities in proportion to their scales, so that the density has
// no step at the mode.
type splitFit struct {
	*laplaceFit
	axes         *mat.Dense // [k, k]: column i is axis i, on which the log density has curvature −1
	above, below []float64  // [k]: the scales of the sides
	logSplit     float64    // log density at the mode over that of a standard t distribution
	z            *mat.VecDense
}

// The log density is followed along an axis in steps that grow by the factor splitGrowth from
// splitStep standard deviations, until it has fallen by splitDrop: beyond, there is less of the
// posterior than the tails of the t distribution cover. Chosen by hand.
const (
	splitStep   = 1.0
	splitGrowth = 2.0
	splitDrop   = 10
	splitSteps  = 6
)

// split finds the axes and scales of an approximation. The axes are those of the curvature in units
// of the prior, which are those of single categories where rows leave these open. It fails where
// rounding hides them, or there are none.
func (f *laplaceFit) split() (s *splitFit, ok bool) {
	k := len(f.mode)
	if k == 0 {
		return nil, false
	}
	curvature := mat.NewSymDense(k, nil)
	for i := range k {
		for j := range i + 1 {
			curvature.SetSym(i, j, f.sd[i]*f.sd[j]*floats.Dot(f.factor[i*k:i*k+j+1], f.factor[j*k:j*k+j+1]))
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(curvature, true) {
		return nil, false
	}
	s = &splitFit{laplaceFit: f, axes: &mat.Dense{}, above: make([]float64, k), below: make([]float64, k), logSplit: f.logDet, z: mat.NewVecDense(k, nil)}
	eigen.VectorsTo(s.axes)
	for i, square := range eigen.Values(nil) {
		if !(square > 0) {
			return nil, false
		}
		for j := range k {
			s.axes.Set(j, i, f.sd[j]*s.axes.At(j, i)/math.Sqrt(square))
		}
		s.above[i], s.below[i] = s.scale(i, 1), s.scale(i, -1)
		s.logSplit += math.Log(2 / (s.above[i] + s.below[i]))
	}
	return s, true
}

// scale is that of the normal distribution which, along one side of an axis, is nowhere below the
// density.
func (s *splitFit) scale(axis int, sign float64) float64 {
	scale, at := 1.0, make([]float64, len(s.mode))
	for step, n := splitStep, 0; n < splitSteps; step, n = step*splitGrowth, n+1 {
		for j, m := range s.mode {
			at[j] = m + sign*step*s.axes.At(j, axis)
		}
		drop := s.height - s.logJoint(at)
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
	root := math.Sqrt(laplaceChi(random))
	square := 0.0
	for i, above := range s.above {
		z := math.Abs(random.NormFloat64()) / root
		square += z * z
		if random.Float64()*(above+s.below[i]) < above {
			z *= above
		} else {
			z *= -s.below[i]
		}
		s.z.SetVec(i, z)
	}
	to := mat.NewVecDense(len(theta), theta)
	to.MulVec(s.axes, s.z)
	floats.Add(theta, s.mode)
	return s.standardT(square) + s.logSplit
}

package varsel

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/dense"
)

// longSide is a scale of one side of an axis, in standard deviations. If a side has a larger scale,
// the scales of the other axes are also measured from the point one scale out on it (widen).
const longSide = 2.0

// splitAlong returns an approximation on axes that are conjugate with respect to the curvature at
// the mode. If uneven is false, all scales are 1. Otherwise each side of an axis has its own scale,
// and each axis is parallel to all walls but one, as far as the curvature allows. A wall is a row
// of the design, or an axis of the prior, that confines a linear function of the coefficients to a
// narrow range. Rows of a categorical response do not count as walls.
func (f *laplaceFit) splitAlong(uneven bool) *splitFit {
	k := len(f.mode)
	s := &splitFit{laplaceFit: f, axes: make([]float64, k*k)}
	if k == 0 {
		return s
	}
	if !uneven || f.target.Responses.Categories != nil || !s.alongWalls() {
		s.along = mat.DenseCopyOf(lower(f.factor).T())
		for i := range k {
			s.axes[i*k+i] = 1
			f.factor.SolveUpper(s.axes[i*k : i*k+k])
		}
	}
	if !uneven {
		s.above, s.below = slices.Repeat([]float64{1}, k), slices.Repeat([]float64{1}, k)
		return s
	}
	s.setScales()
	s.widen()
	return s
}

// alongWalls makes the axes triangular in the coordinates u = W θ, where the rows of W [k,k] are
// the k walls that confine their linear functions of θ most. It returns false if rounding errors
// make W or the curvature singular.
func (s *splitFit) alongWalls() bool {
	k := len(s.mode)
	walls := s.steepest()
	var foot, half, square mat.Dense // θ = W⁻¹ u; curvature W⁻ᵀ L Lᵀ W⁻¹ = C Cᵀ
	if err := foot.Inverse(walls); err != nil {
		return false
	}
	half.Mul(lower(s.factor).T(), &foot)
	square.Mul(half.T(), &half)
	factor, ok := dense.Factorize(square.RawMatrix().Data, k, 0)
	if !ok {
		return false
	}
	for i := range k {
		u := make([]float64, k)
		u[i] = 1
		factor.SolveUpper(u)
		mat.NewVecDense(k, s.axes[i*k:i*k+k]).MulVec(&foot, mat.NewVecDense(k, u))
	}
	s.along = mat.NewDense(k, k, nil)
	s.along.Mul(lower(factor).T(), walls)
	return true
}

// steepest returns the k walls [k,k] that confine their linear functions of the coefficients most.
// It chooses them among the rows of the design, each multiplied by the square root of the curvature
// of its log density, and the axes of the prior, each divided by its standard deviation, as in a QR
// factorisation with pivoting.
func (f *laplaceFit) steepest() *mat.Dense {
	k, n := len(f.mode), len(f.target.Responses.Y)
	slope, curvature := make([]float64, n), make([]float64, n)
	f.predict(f.mode)
	f.target.Responses.Expand(f.eta, f.scale, false, slope, curvature)
	rows := mat.NewDense(n+k, k, nil)
	for j, column := range f.Columns {
		for i, v := range column {
			rows.Set(i, j, v*math.Sqrt(math.Max(curvature[i], 0)))
		}
		rows.Set(n+j, j, 1/f.SD[j])
	}
	left, chosen := mat.DenseCopyOf(rows), mat.NewDense(k, k, nil)
	for pivot := range k {
		lengths := apply.UpTo(n+k, func(i int) float64 { return floats.Norm(left.RawRowView(i), 2) })
		next := floats.MaxIdx(lengths)
		chosen.SetRow(pivot, rows.RawRowView(next))
		direction := slices.Clone(left.RawRowView(next))
		floats.Scale(1/lengths[next], direction)
		for i := range lengths {
			row := left.RawRowView(i)
			floats.AddScaled(row, -floats.Dot(row, direction), direction)
		}
	}
	return chosen
}

// widen measures the scales of each axis from the ends of long sides of the other axes too, and
// keeps the largest scales. Where walls meet at the mode, the posterior can be wider farther out.
func (s *splitFit) widen() {
	k := len(s.mode)
	above, below := slices.Clone(s.above), slices.Clone(s.below)
	for axis := range k {
		for _, side := range [...]float64{above[axis], -below[axis]} {
			if math.Abs(side) < longSide {
				continue
			}
			from := slices.Clone(s.mode)
			floats.AddScaled(from, side, s.axes[axis*k:axis*k+k])
			height := s.logJoint(from)
			for other := range k {
				if other != axis {
					s.above[other] = math.Max(s.above[other], s.sideScale(from, height, other, 1))
					s.below[other] = math.Max(s.below[other], s.sideScale(from, height, other, -1))
				}
			}
		}
	}
	s.setSpread()
}

package likelihood

import (
	"math"
	"math/rand/v2"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/transdim/vti/internal/logsum"
)

// student is y ~ η + σ t_ν.
type student struct {
	degrees  float64 // ν
	constant float64 // log Γ((ν+1)/2) − log Γ(ν/2) − ½ log(νπ)
}

func newStudent(shape Shape) Likelihood {
	return student{shape.Degrees, logsum.Gamma((shape.Degrees+1)/2) - logsum.Gamma(shape.Degrees/2) - math.Log(shape.Degrees*math.Pi)/2}
}

func (l student) LogKernel(y, eta, logScale *Node) *Node {
	squares := MulScalar(Square(standardise(y, eta, logScale)), 1/l.degrees)
	return Sub(MulScalar(Log1P(squares), -(l.degrees+1)/2), logScale)
}

func (l student) LogKernelAt(y, eta, scale float64) float64 {
	r := (y - eta) / scale
	return -(l.degrees+1)/2*math.Log1p(r*r/l.degrees) - math.Log(scale)
}

// mostFactor is a number whose eighth power is finite.
const mostFactor = 1e38

// sumKernels takes one logarithm of a product over eight rows, unless the product could overflow.
func (l student) sumKernels(y, times, eta []float64, scale float64, sums []float64) {
	n, logScale := len(y), math.Log(scale)
	withBuffer(n, func(work []float64) {
		for k := range sums {
			z := work
			vectors.Sub(z, y, eta[k*n:(k+1)*n])
			vectors.MulScalar(z, z, 1/(scale*math.Sqrt(l.degrees)))
			vectors.Mul(z, z, z) // after the division, since σ² may underflow
			vectors.AddScalar(z, z, 1)
			if times == nil && vectors.MaxOf(z) < mostFactor {
				for range 3 {
					first, second := z[:(len(z)+1)/2], z[(len(z)+1)/2:]
					vectors.Mul(first[:len(second)], first[:len(second)], second)
					z = first
				}
			}
			vectors.Log(z, z)
			if times == nil {
				sums[k] = -(l.degrees+1)/2*vectors.Sum(z) - float64(n)*logScale
			} else {
				sums[k] = -(l.degrees+1)/2*sumTimes(z, times) - floats.Sum(times)*logScale
			}
		}
	})
}

func (l student) LogConstant(float64) float64 { return l.constant }

func (l student) NewtonAt(y, eta, scale float64) (slope, curvature float64) {
	slope, bound := l.BoundAt(y, eta, scale)
	_, curvature = l.CurvatureAt(y, eta, scale)
	return slope, math.Max(curvature, leastCurvature*bound)
}

func (l student) CurvatureAt(y, eta, scale float64) (slope, curvature float64) {
	r := (y - eta) / scale
	mean := (l.degrees + 1) / (l.degrees + r*r)
	share := (l.degrees - r*r) / (l.degrees + r*r) // curvature as a share of the bound
	return mean * r / scale, mean * share / scale / scale
}

func (l student) BoundAt(y, eta, scale float64) (slope, curvature float64) {
	r := (y - eta) / scale
	mean := (l.degrees + 1) / (l.degrees + r*r)
	return mean * r / scale, mean / scale / scale
}

func (l student) Mean(eta, _ float64) float64 {
	if l.degrees <= 1 {
		return math.NaN()
	}
	return eta
}

func (l student) Variance(_, scale float64) float64 {
	if l.degrees <= 2 {
		return math.Inf(1)
	}
	return scale * scale * l.degrees / (l.degrees - 2)
}

func (l student) Draw(eta, scale float64, random *rand.Rand) float64 {
	return distuv.StudentsT{Mu: eta, Sigma: scale, Nu: l.degrees, Src: random}.Rand()
}

package likelihood

import (
	"math"
	"math/rand/v2"

	. "github.com/gomlx/gomlx/pkg/core/graph"
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

// sumKernels computes the logarithms of all rows in one call.
func (l student) sumKernels(y, times, eta []float64, scale float64, sums []float64) {
	logScale := math.Log(scale)
	withBuffer(len(eta), func(work []float64) {
		for k := range sums {
			for i, x := range eta[k*len(y):][:len(y)] {
				r := (y[i] - x) / scale
				work[k*len(y)+i] = r * r / l.degrees
			}
		}
		vectors.Log1p(work, work)
		for k := range sums {
			sums[k] = 0
			for i, log := range work[k*len(y):][:len(y)] {
				sums[k] -= timesOf(times, i) * ((l.degrees+1)/2*log + logScale)
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

package score

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/internal/dense"
	"github.com/transdim/vti/internal/line"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/stream"
)

// logisticRays integrates the unnormalised posterior density f of the coefficients of a
// logisticFamily along random rays, half-lines from the center, its mode. z are coordinates in
// which the posterior is about round. With d the number of coefficients, the evidence is the
// surface of the unit sphere times the mean, over directions u, of ∫ r^(d−1) f(z = r u) dr. Regions
// far from the center, which draws would miss, are part of the integrals. The integrals are
// bounded, since the posterior is log-concave and has the tails of its prior.
type logisticRays struct {
	family *logisticFamily
	center []float64
	linear []float64    // linear predictors at the center
	factor dense.Factor // Cholesky factor L of the precision LLᵀ; z = Lᵀ(θ − center)
	// log surface of the unit sphere plus the log Jacobian from z to θ
	logSurface float64
}

func (f *logisticFamily) rays(center []float64, precision dense.Factor) *logisticRays {
	half := float64(len(center)) / 2
	return &logisticRays{f, center, f.linear(center), precision, math.Ln2 + half*math.Log(math.Pi) - logsum.Gamma(half) - precision.LogDet()/2}
}

// pair appends two weights to the argument named to: the logs of the integrals along a random
// direction and along the opposite direction. In the mean of the two integrals the skewness of the
// posterior cancels.
func (q *logisticRays) pair(random *rand.Rand, to *logisticDraws) {
	step := stream.Normals(random, len(q.center))
	floats.Scale(1/floats.Norm(step, 2), step)
	q.factor.SolveUpper(step)
	shift := q.family.linear(step)
	for range 2 {
		to.logs = append(to.logs, q.along(step, shift))
		floats.Scale(-1, step)
		floats.Scale(-1, shift)
	}
	to.addPair()
}

// These constants set the accuracy of the integral along a ray, a sum over equal steps of log r. It
// ends on both sides where the log of the integrand is rayDepth below its largest value. Steps are
// halved until the sum over every second step has a relative difference of at most rayAgreement;
// the relative error is then about the square of rayAgreement.
const (
	rayDepth     = 16.0
	rayAgreement = 0.02
)

// along returns the log of the integral along a ray times the surface of the sphere. A unit of r
// changes the coefficients by step and the linear predictors by shift.
func (q *logisticRays) along(step, shift []float64) float64 {
	dim := float64(len(step))
	linear, point := make([]float64, len(shift)), make([]float64, len(step))
	// for a normal distribution the peak is at the start, with a width of about 1/√(2 dim)
	start := math.Log(dim) / 2
	over, err := line.Of(line.Options{From: start, To: start, Step: 0.5 / math.Sqrt(dim), Depth: rayDepth, Tolerance: rayAgreement}, func(u float64) float64 {
		r := math.Exp(u)
		floats.AddScaledTo(linear, q.linear, r, shift)
		floats.AddScaledTo(point, q.center, r, step)
		return dim*u + q.family.logLikelihood(linear) + q.family.logPrior(point)
	})
	if err != nil { // the density is zero along the ray
		return math.Inf(-1)
	}
	return over.Log + q.logSurface
}

// Package mode finds modes of smooth log densities by Newton's method with a line search.
//
// [Find] is for densities with a dense Hessian. [Climb] is for any density for which the caller can
// compute Newton's step. Both also work if the log density is not concave. Unlike gonum's
// optimize.Newton, they stop by a measure that does not depend on the units of the parameters, and
// Find returns the factor of the Hessian for a Laplace approximation.
package mode

import (
	"cmp"
	"math"

	"github.com/transdim/vti/internal/dense"
)

// Options sets when a search ends. A zero field stands for its default.
type Options struct {
	// Enough is the largest value of gᵀH⁻¹g, the square of the gradient in the metric of the
	// curvature, at which a point counts as a mode. To first order this is the squared distance to
	// the mode in standard deviations. Default 1e-10.
	Enough float64
	// Steps is the largest number of steps. Default 100.
	Steps int
}

// Result describes the end of a search.
type Result struct {
	Value     float64 // log density at the end
	Decrement float64 // gᵀH⁻¹g at the end
	Steps     int
	// Converged reports whether the decrement is at most Options.Enough. If rounding of the log
	// density hides any further rise, a decrement of at most [Hidden] also counts. Converged is
	// false if Options.Steps steps did not suffice, or if the curvature has no Cholesky factor.
	Converged bool
}

// Hidden is the largest decrement at which a search counts as converged if no step increases the
// log density.
const Hidden = 1e-3

// leastShare is the smallest fraction of a step that a line search tries. Newton's step can be too
// long by such a factor, for instance from a small predicted count if a count of a billion is
// observed. The constant rise is the fraction of the first-order gain that a step must reach
// (Armijo's rule).
const (
	leastShare = 1e-12
	rise       = 1e-4
)

// Climb moves x, in place, to a mode of a log density. The argument value returns the log density
// at a point, and −Inf or NaN outside of its support. The argument newton writes the step H⁻¹g at x
// and returns gᵀH⁻¹g, where g is the gradient and H is the negative Hessian or a substitute for it.
// newton returns false if it finds no step.
//
// Both functions may keep intermediate results for a point. newton is only called at the point of
// the latest call of value, and the last calls of both are at the x that Climb leaves. A factor of
// H kept by newton therefore belongs to the mode.
func Climb(x []float64, value func(x []float64) float64, newton func(x, step []float64) (decrement float64, ok bool), o Options) (r Result) {
	o.Enough = cmp.Or(o.Enough, 1e-10)
	o.Steps = cmp.Or(o.Steps, 100)
	step, trial := make([]float64, len(x)), make([]float64, len(x))
	r.Value = value(x)
	for ; ; r.Steps++ {
		var ok bool
		if r.Decrement, ok = newton(x, step); !ok || math.IsNaN(r.Decrement) {
			return r
		}
		if r.Decrement <= o.Enough {
			r.Converged = true
			return r
		}
		if r.Steps == o.Steps {
			return r
		}
		share := 1.0
		for ; share >= leastShare; share /= 2 {
			for k := range x {
				trial[k] = x[k] + share*step[k]
			}
			if reached := value(trial); reached >= r.Value+rise*share*r.Decrement && reached <= math.MaxFloat64 {
				r.Value = reached
				copy(x, trial)
				break
			}
		}
		if share < leastShare {
			value(x) // the last call of value must be at x
			r.Converged = r.Decrement <= Hidden
			return r
		}
	}
}

// Density is the log density of d parameters.
type Density struct {
	// Value returns the log density at x.
	Value func(x []float64) float64
	// Expand writes the gradient [d] at x, and the lower triangle of the negative Hessian [d·d],
	// row by row. Both slices are zero before the call. The latest call of Value was at x.
	Expand func(x, gradient, curvature []float64)
}

// Find moves x to a mode as [Climb] does, for a density with a dense Hessian. It returns the
// Cholesky factor of the negative Hessian at x. Where the negative Hessian is not positive
// definite, steps use it with a larger diagonal (Levenberg and Marquardt). If it is not positive
// definite at the end, the search has not converged and the returned factor is not valid.
func Find(x []float64, density Density, o Options) (Result, dense.Factor) {
	d := len(x)
	curvature, damped := make([]float64, d*d), make([]float64, d*d)
	gradient := make([]float64, d)
	var factor dense.Factor
	definite := false
	r := Climb(x, density.Value, func(x, step []float64) (decrement float64, ok bool) {
		clear(gradient)
		clear(curvature)
		density.Expand(x, gradient, curvature)
		damping := 0.0
		for {
			copy(damped, curvature)
			for a := range d {
				damped[a*d+a] += damping * math.Max(math.Abs(curvature[a*d+a]), leastDiagonal)
			}
			if factor, ok = dense.Factorize(damped, d, 0); ok {
				break
			}
			if damping = math.Max(10*damping, firstDamping); damping > mostDamping {
				return 0, false
			}
		}
		definite = damping == 0
		copy(step, gradient)
		factor.SolveLower(step)
		for _, u := range step {
			decrement += u * u
		}
		factor.SolveUpper(step)
		return decrement, true
	}, o)
	r.Converged = r.Converged && definite
	return r, factor
}

// These constants set the fraction of the diagonal that is added to an indefinite Hessian: the
// smallest and the largest fraction, and the value that replaces smaller diagonal entries. A mode
// does not depend on them, since a search converges only where nothing is added. The fraction is
// multiplied by ten until the matrix is positive definite, in at most 17 factorisations.
const (
	firstDamping  = 1e-3
	mostDamping   = 1e12
	leastDiagonal = 1e-6
)

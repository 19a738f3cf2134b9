// Package mode finds modes of smooth log densities by Newton's method with a line search.
//
// [Find] is for densities with a dense Hessian, [Climb] for any density that can solve for its
// step. Neither needs a concave density. gonum's optimize.Newton stops on a gradient in the units
// of the parameters and keeps no factor, which a Laplace approximation needs.
package mode

import (
	"cmp"
	"math"

	"github.com/transdim/vti/internal/dense"
)

// Options say when a search ends. The zero value of each is its default.
type Options struct {
	// Enough is the square of the gradient in the metric of the curvature, gᵀH⁻¹g, at which a point
	// is a mode: the squared distance to it in standard deviations, to first order. Default 1e-10.
	Enough float64
	// Steps is the largest number of steps. Default 100.
	Steps int
}

// Result is the end of a search.
type Result struct {
	Value     float64 // log density
	Decrement float64 // gᵀH⁻¹g there
	Steps     int
	// Converged reports whether the decrement is at most Options.Enough. It is not where steps ran
	// out, or where the curvature has no factor. Where rounding of the log density hides the rest
	// of the way it is, if the decrement is at most [Hidden] as well.
	Converged bool
}

// Hidden is the largest decrement at which a search that no step improves has arrived.
const Hidden = 1e-3

// leastShare is the smallest share of a step in a line search: Newton's steps of a count of a
// billion from a predicted one are that much too long. rise is the part of the gain to first order
// that it requires (Armijo's rule).
const (
	leastShare = 1e-12
	rise       = 1e-4
)

// Climb moves x, in place, to a mode of a log density. value returns the log density at a point,
// −Inf or NaN where there is none. newton writes the step H⁻¹g from x, where H is the curvature or
// stands for it, and returns gᵀH⁻¹g; it is not ok where it finds none.
//
// Both may keep their results at a point: newton is only called where value was called last, and
// the last calls of both are at the x that Climb leaves, so that a factor of H belongs to the mode.
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
			value(x) // what value and newton keep is that of x again
			r.Converged = r.Decrement <= Hidden
			return r
		}
	}
}

// Density is a log density of d parameters.
type Density struct {
	// Value is the log density at x.
	Value func(x []float64) float64
	// Expand writes the gradient [d] at x and the lower triangle of minus the Hessian [d·d], row by
	// row, over zeros. The last call of Value was at x.
	Expand func(x, gradient, curvature []float64)
}

// Find is Climb for a density with a dense Hessian. It returns the factor of minus the Hessian at
// x. Where minus the Hessian is not positive definite, steps take it with a larger diagonal
// (Levenberg and Marquardt); if it is not at the end, the search has not converged and the factor
// is no factor.
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

// The least part of the diagonal of an indefinite Hessian that is added to it, the largest, and the
// least entry of which it is a part. Not tuned.
const (
	firstDamping  = 1e-3
	mostDamping   = 1e12
	leastDiagonal = 1e-6
)

package laplace

import (
	gocontext "context"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/internal/apply"
)

// MaxDim is the largest number D of coordinates of a Hessian, which takes 2D+1 gradients.
const MaxDim = 256

// Active returns the indices of the coordinates for which a mask is true.
func Active(mask []bool) []int { return apply.Where(len(mask), func(j int) bool { return mask[j] }) }

// Climb finds a mode of log p(y, θ | m) for the model given by code, which uses the active
// coordinates. It starts at the point in the argument mode [D], which it overwrites by the mode;
// top is the log density at the mode. It returns the second-order expansion at the mode, the
// quadratic −½ θᵀHθ + bᵀθ: precision is H, row-major [D·D], and linear is b = Hθ* [D], with θ* the
// mode. A coordinate that the model does not use has H_jj = 1, b_j = 0 and no entries off the
// diagonal. If H is not positive definite or too large for a flow, only its diagonal is kept, with
// the b for which the mode stays in place. precision and linear are nil if no mode with negative
// curvature was found.
//
// The method is a damped Newton iteration (Levenberg) in float64.
func (on Surface) Climb(ctx gocontext.Context, code []int32, active []int, mode []float64) (precision, linear []float64, top float64, err error) {
	hessian := mat.NewSymDense(len(active), nil)
	// center is the point of the latest Hessian, and slope the gradient there.
	center, slope := make([]float64, len(mode)), make([]float64, len(active))
	damping := 1e-3
	for range 100 {
		if top, err = on.expand(ctx, code, active, mode, slope, hessian); err != nil {
			return nil, nil, 0, err
		}
		if !finite(top) || !finite(hessian.RawSymmetric().Data...) {
			return nil, nil, 0, nil
		}
		copy(center, mode)
		step, usable := dampedStep(hessian, slope, &damping)
		if !usable {
			return nil, nil, 0, nil
		}
		improvement, err := on.along(ctx, code, active, mode, step, top)
		if err != nil {
			return nil, nil, 0, err
		}
		if improvement == 0 {
			if damping > 1e8 {
				break
			}
			damping *= 10
			continue
		}
		top += improvement
		damping = math.Max(damping/10, 1e-9)
		if improvement < 1e-9*(1+math.Abs(top)) {
			break
		}
	}
	precision, linear = quadratic(hessian, center, slope, active)
	return precision, linear, top, nil
}

// quadratic returns the precision and the linear term of Climb. They follow from the expansion −½
// (θ−c)ᵀH(θ−c) + gᵀ(θ−c) over the active coordinates, where the argument hessian is H, center is c
// [D] and slope is g.
func quadratic(hessian *mat.SymDense, center, slope []float64, active []int) (precision, linear []float64) {
	dim := len(center)
	for _, coupled := range []bool{true, false} {
		precision, linear = make([]float64, dim*dim), make([]float64, dim)
		for j := range dim {
			precision[j*dim+j] = 1
		}
		for a, j := range active {
			linear[j] = slope[a]
			for b, k := range active {
				if coupled || a == b {
					precision[j*dim+k] = hessian.At(a, b)
					linear[j] += hessian.At(a, b) * center[k]
				}
			}
		}
		if (cosmic.Config{Dim: dim, Precision: precision, Linear: linear}).Validate() == nil {
			return precision, linear
		}
	}
	return nil, nil
}

// dampedStep solves (H + λ diag|H|) step = gradient. λ is the smallest damping, from *damping
// upwards, for which the matrix is positive definite.
func dampedStep(hessian *mat.SymDense, gradient []float64, damping *float64) (step []float64, ok bool) {
	n := len(gradient)
	right := mat.NewVecDense(n, gradient)
	for ; *damping < 1e12; *damping *= 10 {
		damped := mat.NewSymDense(n, nil)
		damped.CopySym(hessian)
		for a := range n {
			damped.SetSym(a, a, hessian.At(a, a)+*damping*math.Max(math.Abs(hessian.At(a, a)), 1e-6))
		}
		var cholesky mat.Cholesky
		if !cholesky.Factorize(damped) {
			continue
		}
		solution := mat.NewVecDense(n, nil)
		if err := cholesky.SolveVecTo(solution, right); err != nil {
			continue // nearly singular: damp more
		}
		return solution.RawVector().Data, true
	}
	return nil, false
}

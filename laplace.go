package vti

import (
	gocontext "context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/space"
)

// laplaceMaxDim is the largest number of coordinates whose Hessian is computed, which takes 2D+1
// gradients a Newton step. Chosen by hand, not tuned.
const laplaceMaxDim = 256

// laplace finds a mode of log p(y, θ | m) of the model given by code, which uses the coordinates
// where mask is true, and returns its second-order expansion there, the quadratic −½ θᵀHθ + bᵀθ:
// precision is H, row-major [D·D], and linear is b = Hθ* [D]. A coordinate that the model does not
// use has H_jj = 1, b_j = 0 and no couplings. Only the diagonal is kept, with the b_j that leaves
// the mode in place, when H is not positive definite or too large for a flow. Both are nil when no
// mode with negative curvature was found; the flow then starts from the reference.
//
// It is a damped Newton iteration (Levenberg) in float64.
func laplace(ctx gocontext.Context, device *gpu.Device, target Target, code []int32, mask []bool) (precision, linear []float64, err error) {
	active := listActive(mask)
	if len(active) == 0 || len(mask) > laplaceMaxDim {
		return nil, nil, nil
	}
	on, _, err := surfaceOf(device, target, len(active))
	if err != nil {
		return nil, nil, err
	}
	precision, linear, _, err = climb(ctx, on, code, active, make([]float64, len(mask)))
	return precision, linear, err
}

// Laplace finds, for each of the models given by their codes, a mode of log p(y, θ | m) near start
// [D] and the second-order expansion of the log density there, for a [QuadraticTarget] that gives
// every model its own. Precision and Linear are nil for a model where no mode with negative
// curvature was found. Cancelling ctx stops it with an error that wraps ctx.Err().
func Laplace(ctx gocontext.Context, device *gpu.Device, target Target, codes [][]int32, start []float64) ([]LaplaceApproximation, error) {
	masker, ok := target.Space().(space.RowMasker)
	if !ok || len(start) != target.Space().Dim() {
		return nil, fmt.Errorf("vti.Laplace: got a space %T and a start of %s, want one with masks of single models (space.RowMasker) and %d", target.Space(), english.Count(len(start), "coordinate"), target.Space().Dim())
	}
	on, _, err := surfaceOf(device, target, len(start))
	if err != nil {
		return nil, err
	}
	found := make([]LaplaceApproximation, len(codes))
	for i, code := range codes {
		active := listActive(masker.MaskRow(code, make([]bool, len(start))))
		if found[i].Precision, found[i].Linear, _, err = climb(ctx, on, code, active, slices.Clone(start)); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// LaplaceApproximation is the normal distribution proportional to exp(−½ θᵀHθ + bᵀθ), whose mode
// and curvature there are those of a log density: H [D·D] row-major, with H_jj = 1 and no couplings
// where a model does not use coordinate j, and b [D].
type LaplaceApproximation struct{ Precision, Linear []float64 }

func listActive(mask []bool) (active []int) {
	for j, on := range mask {
		if on {
			active = append(active, j)
		}
	}
	return active
}

// climb is laplace on a surface, from a start that it changes into the mode, where the log density
// is top.
func climb(ctx gocontext.Context, on surface, code []int32, active []int, mode []float64) (precision, linear []float64, top float64, err error) {
	hessian := mat.NewSymDense(len(active), nil)
	// where the Hessian was taken, and the gradient
	center, slope := make([]float64, len(mode)), make([]float64, len(active))
	damping := 1e-3
	for range 100 {
		if top, err = on.expand(ctx, code, active, mode, slope, hessian); err != nil {
			return nil, nil, 0, err
		}
		if !finite(top) || !finiteAll(hessian.RawSymmetric().Data) {
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

// quadratic returns what laplace does, for −½ (θ−c)ᵀH(θ−c) + gᵀ(θ−c) over the active coordinates:
// center is c [D], slope is g.
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

// dampedStep solves (H + λ diag|H|) step = gradient with the smallest damping λ, from the one given
// upwards, that makes the matrix positive definite.
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

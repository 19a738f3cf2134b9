package vti

import (
	gocontext "context"
	"fmt"
	"math"
	"slices"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/train"
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
// It is a damped Newton iteration (Levenberg) whose Hessian comes from central differences of the
// gradient, all rows of a Hessian in one batch, in float64.
func laplace(ctx gocontext.Context, device *gpu.Device, target Target, code []int32, mask []bool) (precision, linear []float64, err error) {
	active := listActive(mask)
	if len(active) == 0 || len(mask) > laplaceMaxDim {
		return nil, nil, nil
	}
	evaluate, err := newGradientEvaluator(device, target, 2*len(active)+1)
	if err != nil {
		return nil, nil, err
	}
	return climb(ctx, evaluate, code, active, make([]float64, len(mask)))
}

// Laplace finds, for each of the models given by their codes, a mode of log p(y, θ | m) near start
// [D] and the second-order expansion of the log density there, for a [QuadraticTarget] that gives
// every model its own. Precision and Linear are nil for a model where no mode with negative
// curvature was found. Cancelling ctx stops it with an error that wraps ctx.Err().
func Laplace(ctx gocontext.Context, device *gpu.Device, target Target, codes [][]int32, start []float64) ([]LaplaceApproximation, error) {
	masker, ok := target.Space().(space.RowMasker)
	if !ok || len(start) != target.Space().Dim() {
		return nil, fmt.Errorf("vti.Laplace: got a space %T and a start of %d coordinates, want one with masks of single models (space.RowMasker) and %d", target.Space(), len(start), target.Space().Dim())
	}
	evaluate, err := newGradientEvaluator(device, target, 2*len(start)+1)
	if err != nil {
		return nil, err
	}
	found := make([]LaplaceApproximation, len(codes))
	for i, code := range codes {
		active := listActive(masker.MaskRow(code, make([]bool, len(start))))
		if found[i].Precision, found[i].Linear, err = climb(ctx, evaluate, code, active, slices.Clone(start)); err != nil {
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

// gradients evaluates log p(y, θ | m) and its gradient at the rows of points [N,D], for one model.
type gradients func(ctx gocontext.Context, code []int32, points *mat.Dense) ([]float64, *mat.Dense, error)

// climb is laplace from a start that it changes into the mode. evaluate takes at least 2 |active| +
// 1 rows.
func climb(ctx gocontext.Context, evaluate gradients, code []int32, active []int, mode []float64) (precision, linear []float64, err error) {
	dim := len(mode)
	rows := 2*len(active) + 1
	points := mat.NewDense(rows, dim, nil)
	hessian := mat.NewSymDense(len(active), nil)
	// where the Hessian was taken, and the gradient
	center, slope := make([]float64, dim), make([]float64, len(active))
	damping := 1e-3
	for range 100 {
		spread(points, mode, active)
		values, slopes, err := evaluate(ctx, code, points)
		if err != nil {
			return nil, nil, err
		}
		best := values[0]
		for a := range active {
			for b := range a + 1 {
				hessian.SetSym(a, b, -(hessianEntry(points, slopes, active, a, b)+hessianEntry(points, slopes, active, b, a))/2)
			}
		}
		if !finite(best) || !finiteAll(hessian.RawSymmetric().Data) {
			return nil, nil, nil
		}
		copy(center, mode)
		for a, j := range active {
			slope[a] = slopes.At(0, j)
		}
		step, usable := dampedStep(hessian, slope, &damping)
		if !usable {
			return nil, nil, nil
		}
		// Try the step at lengths 1, 1/2, 1/4, … in one batch and keep the best.
		for i := range rows {
			row := points.RawRowView(i)
			copy(row, mode)
			for a, j := range active {
				row[j] += step[a] * math.Ldexp(1, -i)
			}
		}
		values, _, err = evaluate(ctx, code, points)
		if err != nil {
			return nil, nil, err
		}
		choice, improvement := -1, 0.0
		for i, value := range values {
			if finite(value) && value-best > improvement {
				choice, improvement = i, value-best
			}
		}
		if choice < 0 {
			if damping > 1e8 {
				break
			}
			damping *= 10
			continue
		}
		copy(mode, points.RawRowView(choice))
		damping = math.Max(damping/10, 1e-9)
		if improvement < 1e-9*(1+math.Abs(best)) {
			break
		}
	}
	precision, linear = quadratic(hessian, center, slope, active)
	return precision, linear, nil
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

// spread writes mode to the first row and mode ± h_j e_j to the following ones.
func spread(points *mat.Dense, mode []float64, active []int) {
	points.SetRow(0, mode)
	for a, j := range active {
		for side, sign := range []float64{1, -1} {
			row := points.RawRowView(1 + 2*a + side)
			copy(row, mode)
			row[j] += sign * differenceStep(mode[j])
		}
	}
}

// differenceStep balances truncation against rounding for a central difference: ε^(1/3) of the
// scale of x.
func differenceStep(x float64) float64 { return 6e-6 * math.Max(1, math.Abs(x)) }

// hessianEntry is ∂²/∂θ_a∂θ_b by the central difference of the b-th gradient entry along a.
func hessianEntry(points, gradients *mat.Dense, active []int, a, b int) float64 {
	above, below := 1+2*a, 2+2*a
	width := points.At(above, active[a]) - points.At(below, active[a])
	return (gradients.At(above, active[b]) - gradients.At(below, active[b])) / width
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

// evaluatedRows is how many rows a graph of newGradientEvaluator takes at once: few enough that a
// density of some thousand rows of data takes well below a second, after which it notices that it
// was cancelled. Chosen by hand, not tuned.
const evaluatedRows = 8

// newGradientEvaluator compiles the log density of a target and its gradient, for at most so many
// rows.
func newGradientEvaluator(device *gpu.Device, target Target, most int) (gradients, error) {
	exec, err := NewExec(device.Backend(), func(codes, theta *Node) (*Node, *Node) {
		value := target.LogJoint(codes, target.Space().Mask(codes), theta)
		return value, Gradient(ReduceAllSum(value), theta)[0]
	})
	if err != nil {
		return nil, err
	}
	dim, batch := target.Space().Dim(), min(most, evaluatedRows)
	return func(ctx gocontext.Context, code []int32, points *mat.Dense) ([]float64, *mat.Dense, error) {
		codes := slices.Repeat(code, batch)
		rows, _ := points.Dims()
		values, slopes := make([]float64, 0, rows), make([]float64, 0, rows*dim)
		for start := 0; start < rows; start += batch {
			if err := ctx.Err(); err != nil {
				return nil, nil, fmt.Errorf("the search for a mode was stopped: %w", err)
			}
			used := min(batch, rows-start)
			theta := make([]float64, batch*dim)
			copy(theta, points.RawMatrix().Data[start*dim:(start+used)*dim])
			outputs, err := train.Call(func() ([]*tensors.Tensor, error) {
				return exec.Exec(tensors.FromFlatDataAndDimensions(codes, batch, len(code)), tensors.FromFlatDataAndDimensions(theta, batch, dim))
			})
			if err != nil {
				return nil, nil, err
			}
			value, err := tensors.CopyFlatData[float64](outputs[0])
			if err != nil {
				return nil, nil, err
			}
			slope, err := tensors.CopyFlatData[float64](outputs[1])
			if err != nil {
				return nil, nil, err
			}
			values, slopes = append(values, value[:used]...), append(slopes, slope[:used*dim]...)
		}
		return values, mat.NewDense(rows, dim, slopes), nil
	}, nil
}

package laplace

import (
	gocontext "context"
	"fmt"
	"math"
	"slices"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/evaluate"
	"github.com/transdim/vti/internal/train"
)

// Surface is the log density of the parameters of models, in which Climb searches for modes.
type Surface struct {
	surface
	// Parallel reports whether several goroutines may use it.
	Parallel bool
}

// Expansion returns the log density of a model at θ [D] and, unless slope is nil, writes its slope
// [k] and minus its second derivatives [k·k] along the k coordinates that the model uses, in order.
type Expansion = func(code []int32, theta, slope, curvature []float64) (logJoint float64)

// On returns the surface of a target, for models of at most dim coordinates. It uses expand if that
// is not nil, and otherwise compiles graphs.
func On(device *gpu.Device, target evaluate.Target, expand Expansion, dim int) (Surface, error) {
	if expand != nil {
		return Surface{expansion(expand), true}, nil
	}
	s, err := newGradientEvaluator(device, target, 2*dim+1)
	return Surface{s, false}, err
}

// surface is a log density whose maximum Climb searches for.
type surface interface {
	// expand returns the log density of a model at a point [D], and writes its slope [k] and minus
	// its second derivatives along the active coordinates.
	expand(ctx gocontext.Context, code []int32, active []int, point, slope []float64, hessian *mat.SymDense) (value float64, err error)
	// along moves a point by the step [k], or by a half, a quarter and so on of the step, whichever
	// gives the largest log density. The argument best is the log density at the point before the
	// move. along returns the increase of the log density. If no length increases it, the point
	// stays and the increase is 0.
	along(ctx gocontext.Context, code []int32, active []int, point, step []float64, best float64) (rise float64, err error)
}

// expansion is the surface of a target that supplies its own Expansion.
type expansion Expansion

func (e expansion) expand(ctx gocontext.Context, code []int32, active []int, point, slope []float64, hessian *mat.SymDense) (float64, error) {
	k := len(active)
	curvature := make([]float64, k*k)
	value := e(code, point, slope, curvature)
	for a := range k {
		for b := range a + 1 {
			hessian.SetSym(a, b, curvature[a*k+b])
		}
	}
	return value, stopped(ctx)
}

// along tries shorter and shorter lengths of the step until one is worse than the length before.
func (e expansion) along(ctx gocontext.Context, code []int32, active []int, point, step []float64, best float64) (rise float64, err error) {
	next := slices.Clone(point)
	from := slices.Clone(point)
	for i := range 2*len(active) + 1 {
		for a, j := range active {
			next[j] = from[j] + step[a]*math.Ldexp(1, -i)
		}
		value := e(code, next, nil, nil)
		if finite(value) && value-best > rise {
			rise = value - best
			copy(point, next)
		} else if rise > 0 {
			break
		}
	}
	return rise, stopped(ctx)
}

// stopped returns the error of a cancelled search for a mode.
func stopped(ctx gocontext.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("the search for a mode was stopped: %w", err)
	}
	return nil
}

// gradients evaluates log p(y, θ | m) and its gradient at each row of points [N,D], for one model.
// As a surface it computes Hessians by central differences, with all points for a Hessian in one
// batch.
type gradients func(ctx gocontext.Context, code []int32, points *mat.Dense) ([]float64, *mat.Dense, error)

func (g gradients) expand(ctx gocontext.Context, code []int32, active []int, point, slope []float64, hessian *mat.SymDense) (float64, error) {
	points := mat.NewDense(2*len(active)+1, len(point), nil)
	spread(points, point, active)
	values, slopes, err := g(ctx, code, points)
	if err != nil {
		return 0, err
	}
	for a, j := range active {
		slope[a] = slopes.At(0, j)
		for b := range a + 1 {
			hessian.SetSym(a, b, -(hessianEntry(points, slopes, active, a, b)+hessianEntry(points, slopes, active, b, a))/2)
		}
	}
	return values[0], nil
}

// along evaluates all lengths in one batch.
func (g gradients) along(ctx gocontext.Context, code []int32, active []int, point, step []float64, best float64) (rise float64, err error) {
	points := mat.NewDense(2*len(active)+1, len(point), nil)
	for i := range 2*len(active) + 1 {
		row := points.RawRowView(i)
		copy(row, point)
		for a, j := range active {
			row[j] += step[a] * math.Ldexp(1, -i)
		}
	}
	values, _, err := g(ctx, code, points)
	for i, value := range values {
		if finite(value) && value-best > rise {
			rise = value - best
			copy(point, points.RawRowView(i))
		}
	}
	return rise, err
}

// spread writes mode to the first row of points, and mode ± h_j e_j to the following rows, with h_j
// the difference step and e_j the unit vector of coordinate j.
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

// differenceStep returns the step of a central difference at x. It balances truncation against
// rounding errors: ε^(1/3) times the scale of x.
func differenceStep(x float64) float64 { return 6e-6 * math.Max(1, math.Abs(x)) }

// hessianEntry returns ∂²/∂θ_a∂θ_b, computed by the central difference of the b-th entry of the
// gradient along coordinate a.
func hessianEntry(points, gradients *mat.Dense, active []int, a, b int) float64 {
	above, below := 1+2*a, 2+2*a
	width := points.At(above, active[a]) - points.At(below, active[a])
	return (gradients.At(above, active[b]) - gradients.At(below, active[b])) / width
}

// evaluatedRows is the number of rows that a graph of newGradientEvaluator takes at once: few
// enough that a density of some thousand rows of data takes well below a second, after which it
// checks for cancellation. Half and twice give the same answers (docs/benchmarks/constants.md).
const evaluatedRows = 8

// newGradientEvaluator compiles a log density and its gradient, for at most the given number of
// rows.
func newGradientEvaluator(device *gpu.Device, target evaluate.Target, most int) (gradients, error) {
	exec, err := NewExec(device.Backend(), func(codes, theta *Node) (*Node, *Node) {
		value := evaluate.LogJoint(target, codes, target.Space().Mask(codes), theta)
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
			if err := stopped(ctx); err != nil {
				return nil, nil, err
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

func finite(values ...float64) bool {
	return !slices.ContainsFunc(values, func(x float64) bool { return !(math.Abs(x) <= math.MaxFloat64) })
}

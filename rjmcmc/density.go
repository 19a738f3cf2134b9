package rjmcmc

import (
	"fmt"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/core/tensors"

	"github.com/transdim/vti/space"
)

// Target is a posterior over models and their parameters, up to a constant. Its methods are graph
// functions over a batch of B pairs.
type Target interface {
	// Space is the set of models and the coordinates each of them uses.
	Space() space.Space
	// LogPrior is log p(m), up to a constant: codes [B,S] int32 -> [B]. −Inf forbids a model.
	LogPrior(codes *graph.Node) *graph.Node
	// LogJoint is log η(θ | m) = log p(y, θ | m), constants that depend on m kept, over active
	// coordinates only: codes [B,S] int32, mask [B,D] Bool, theta [B,D] -> [B]. Inactive entries of
	// theta are 0.
	LogJoint(codes, mask, theta *graph.Node) *graph.Node
}

// density evaluates a target for all rows at once.
type density struct {
	maskExec, exec     *graph.Exec
	quadratic          *graph.Exec     // of a QuadraticTarget; else nil
	codes, mask, theta *tensors.Tensor // inputs, [R,S] int32, [R,D] Bool and [R,D] of dtype
	dtype              dtypes.DType
	backend            string // its name
}

func newDensity(backend backends.Backend, target Target, rows int, dtype dtypes.DType) (*density, error) {
	s := target.Space()
	sites, dim := len(s.Cards()), s.Dim()
	maskExec, err := graph.NewExec(backend, func(codes *graph.Node) *graph.Node {
		mask := s.Mask(codes)
		mask.AssertDims(rows, dim)
		return mask
	})
	if err != nil {
		return nil, fmt.Errorf("rjmcmc: preparing the graph of the space: %w", err)
	}
	exec, err := graph.NewExec(backend, func(codes, mask, theta *graph.Node) []*graph.Node {
		logPrior, logJoint := target.LogPrior(codes), target.LogJoint(codes, mask, theta)
		logPrior.AssertDims(rows)
		logJoint.AssertDims(rows)
		return []*graph.Node{graph.ConvertDType(logPrior, dtypes.Float64), graph.ConvertDType(logJoint, dtypes.Float64)}
	})
	if err != nil {
		return nil, fmt.Errorf("rjmcmc: preparing the target's graph: %w", err)
	}
	var quadratic *graph.Exec
	if q, ok := target.(QuadraticTarget); ok {
		quadratic, err = graph.NewExec(backend, func(codes, mask *graph.Node) []*graph.Node {
			precision, linear := q.Quadratic(codes, mask, dtype)
			precision.AssertDims(rows, dim, dim)
			linear.AssertDims(rows, dim)
			return []*graph.Node{graph.ConvertDType(precision, dtypes.Float64), graph.ConvertDType(linear, dtypes.Float64)}
		})
		if err != nil {
			return nil, fmt.Errorf("rjmcmc: preparing the graph of the target's approximation: %w", err)
		}
	}
	return &density{
		maskExec: maskExec, exec: exec, quadratic: quadratic,
		codes: tensors.FromShape(shapes.Make(dtypes.Int32, rows, sites)),
		mask:  tensors.FromShape(shapes.Make(dtypes.Bool, rows, dim)),
		theta: tensors.FromShape(shapes.Make(dtype, rows, dim)),
		dtype: dtype, backend: backend.Name(),
	}, nil
}

// masks fills mask [R*D] with the coordinates that codes [R*S] use, both row-major.
func (d *density) masks(codes []int32, mask []bool) error {
	if err := tensors.MutableFlatData(d.codes, func(flat []int32) { copy(flat, codes) }); err != nil {
		return fmt.Errorf("rjmcmc: passing codes to the space: %w", err)
	}
	return run("the mask of the space", d.maskExec, [][]bool{mask}, d.codes)
}

// quadratics fills in the approximations of the models of p. It does nothing without a
// QuadraticTarget.
func (d *density) quadratics(p *population) error {
	if d.quadratic == nil {
		return nil
	}
	err := tensors.MutableFlatData(d.codes, func(flat []int32) { copy(flat, p.codes) })
	if err == nil {
		err = tensors.MutableFlatData(d.mask, func(flat []bool) { copy(flat, p.mask) })
	}
	if err != nil {
		return fmt.Errorf("rjmcmc: passing models to the target: %w", err)
	}
	return run("the target's approximation", d.quadratic, [][]float64{p.precision, p.linear}, d.codes, d.mask)
}

// eval fills logPrior [R] and logJoint [R] for codes [R*S], their mask [R*D] and theta [R*D],
// row-major, theta 0 where inactive.
func (d *density) eval(codes []int32, mask []bool, theta, logPrior, logJoint []float64) error {
	err := tensors.MutableFlatData(d.codes, func(flat []int32) { copy(flat, codes) })
	if err == nil {
		err = tensors.MutableFlatData(d.mask, func(flat []bool) { copy(flat, mask) })
	}
	if err != nil {
		return fmt.Errorf("rjmcmc: passing models to the target: %w", err)
	}
	if d.dtype == dtypes.Float32 {
		err = tensors.MutableFlatData(d.theta, func(flat []float32) {
			for i, v := range theta {
				flat[i] = float32(v)
			}
		})
	} else {
		err = tensors.MutableFlatData(d.theta, func(flat []float64) { copy(flat, theta) })
	}
	if err != nil {
		return fmt.Errorf("rjmcmc: passing parameters to the target: %w", err)
	}
	return run("the target", d.exec, [][]float64{logPrior, logJoint}, d.codes, d.mask, d.theta)
}

// run evaluates a graph and copies its outputs to out; what names it in errors.
func run[T dtypes.Supported](what string, exec *graph.Exec, out [][]T, inputs ...any) (err error) {
	defer func() { // a target's graph functions are code from outside, and may panic with anything
		if r := recover(); r != nil {
			err = fmt.Errorf("rjmcmc: building the graph of %s: %v", what, r)
		}
	}()
	results, err := exec.Exec(inputs...)
	if err != nil {
		return fmt.Errorf("rjmcmc: evaluating %s: %w", what, err)
	}
	for i, result := range results {
		err := tensors.ConstFlatData(result, func(flat []T) { copy(out[i], flat) })
		if err == nil {
			err = result.FinalizeAll()
		}
		if err != nil {
			return fmt.Errorf("rjmcmc: reading %s: %w", what, err)
		}
	}
	return nil
}

// close releases what the compiled graphs hold.
func (d *density) close() {
	d.maskExec.Finalize()
	d.exec.Finalize()
	if d.quadratic != nil {
		d.quadratic.Finalize()
	}
}

// round returns v as the density's float type holds it, so that the host's state is the one
// evaluated.
func (d *density) round(v float64) float64 {
	if d.dtype == dtypes.Float32 {
		return float64(float32(v))
	}
	return v
}

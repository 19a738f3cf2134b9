package rjmcmc

import (
	"fmt"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"

	"github.com/transdim/vti/space"
)

// Target is a posterior over models and their parameters, up to a constant. Its methods build
// graphs for a batch of B pairs of a model and its parameters.
type Target interface {
	// Space is the set of models and the coordinates that each model uses.
	Space() space.Space
	// LogPrior returns log p(m), up to a constant: codes [B,S] int32 -> [B]. −Inf forbids a model.
	LogPrior(codes *graph.Node) *graph.Node
	// LogJoint returns log η(θ | m) = log p(y, θ | m) over active coordinates only, including all
	// constants that depend on m: codes [B,S] int32, mask [B,D] Bool, theta [B,D] -> [B]. Inactive
	// entries of theta are 0.
	LogJoint(codes, mask, theta *graph.Node) *graph.Node
}

// HostTarget is a Target whose densities the host computes faster than a graph does.
type HostTarget interface {
	Target
	// HostDensity returns a function that computes the same numbers as LogPrior and LogJoint, up to
	// rounding, for R = rows rows in float64. It reads codes [R*S], mask [R*D] and theta [R*D], and
	// writes logPrior [R] and logJoint [R]. Only one goroutine at a time calls the function. If
	// HostDensity returns nil, the graph is used.
	HostDensity(rows int) func(codes []int32, mask []bool, theta, logPrior, logJoint []float64)
}

// density evaluates a target for the rows of a block at once.
type density struct {
	masker          space.RowMasker // the space, if it computes masks on the host; otherwise nil
	maskExec        *graph.Exec
	exec, quadratic *graph.Exec // quadratic is the graph of a QuadraticTarget; otherwise nil
	host            HostTarget  // nil where graphs compute all densities
	backend         string
}

func newDensity(backend backends.Backend, target Target) (*density, error) {
	s := target.Space()
	dim := s.Dim()
	maskExec, err := graph.NewExec(backend, func(codes *graph.Node) *graph.Node {
		mask := s.Mask(codes)
		mask.AssertDims(codes.Shape().Dim(0), dim)
		return mask
	})
	if err != nil {
		return nil, fmt.Errorf("rjmcmc: preparing the graph of the space: %w", err)
	}
	exec, err := graph.NewExec(backend, func(codes, mask, theta *graph.Node) []*graph.Node {
		logPrior, logJoint := target.LogPrior(codes), target.LogJoint(codes, mask, theta)
		logPrior.AssertDims(codes.Shape().Dim(0))
		logJoint.AssertDims(codes.Shape().Dim(0))
		return []*graph.Node{graph.ConvertDType(logPrior, dtypes.Float64), graph.ConvertDType(logJoint, dtypes.Float64)}
	})
	if err != nil {
		return nil, fmt.Errorf("rjmcmc: preparing the target's graph: %w", err)
	}
	var quadratic *graph.Exec
	if q, ok := target.(QuadraticTarget); ok {
		quadratic, err = graph.NewExec(backend, func(codes, mask *graph.Node) []*graph.Node {
			precision, linear := q.Quadratic(codes, mask, dtypes.Float64)
			precision.AssertDims(codes.Shape().Dim(0), dim, dim)
			linear.AssertDims(codes.Shape().Dim(0), dim)
			return []*graph.Node{graph.ConvertDType(precision, dtypes.Float64), graph.ConvertDType(linear, dtypes.Float64)}
		})
		if err != nil {
			return nil, fmt.Errorf("rjmcmc: preparing the graph of the target's approximation: %w", err)
		}
	}
	masker, _ := s.(space.RowMasker)
	d := &density{masker: masker, maskExec: maskExec, exec: exec, quadratic: quadratic, backend: backend.Name()}
	if host, ok := target.(HostTarget); ok && !accelerated(backend) {
		d.host = host
	}
	return d, nil
}

func (d *density) masks(p *population, b *block) error {
	if d.masker != nil {
		for c := b.first; c < b.last; c++ {
			code, _, mask := p.row(c)
			d.masker.MaskRow(code, mask)
		}
		return nil
	}
	codes, mask, _ := p.rows(b)
	if err := tensors.MutableFlatData(b.codes, func(flat []int32) { copy(flat, codes) }); err != nil {
		return fmt.Errorf("rjmcmc: passing codes to the space: %w", err)
	}
	return run("the mask of the space", d.maskExec, [][]bool{mask}, b.codes)
}

// passModels copies codes and masks to the inputs of graphs.
func passModels(p *population, b *block) error {
	codes, mask, _ := p.rows(b)
	err := tensors.MutableFlatData(b.codes, func(flat []int32) { copy(flat, codes) })
	if err == nil {
		err = tensors.MutableFlatData(b.mask, func(flat []bool) { copy(flat, mask) })
	}
	if err != nil {
		return fmt.Errorf("rjmcmc: passing models to the target: %w", err)
	}
	return nil
}

// quadratics computes the quadratic approximation of each model in p, if the target is a
// QuadraticTarget.
func (d *density) quadratics(p *population, b *block) error {
	if d.quadratic == nil {
		return nil
	}
	if err := passModels(p, b); err != nil {
		return err
	}
	width := p.dim * p.dim
	out := [][]float64{p.precision[b.first*width : b.last*width], p.linear[b.first*p.dim : b.last*p.dim]}
	return run("the target's approximation", d.quadratic, out, b.codes, b.mask)
}

// eval computes logPrior [R] and logJoint [R] of the rows of p that are in block b. Inactive values
// of these rows are 0.
func (d *density) eval(p *population, b *block, logPrior, logJoint []float64) error {
	codes, mask, theta := p.rows(b)
	if b.host != nil {
		b.host(codes, mask, theta, logPrior[b.first:b.last], logJoint[b.first:b.last])
		return nil
	}
	if err := passModels(p, b); err != nil {
		return err
	}
	if err := tensors.MutableFlatData(b.theta, func(flat []float64) { copy(flat, theta) }); err != nil {
		return fmt.Errorf("rjmcmc: passing parameters to the target: %w", err)
	}
	return run("the target", d.exec, [][]float64{logPrior[b.first:b.last], logJoint[b.first:b.last]}, b.codes, b.mask, b.theta)
}

// run evaluates a graph and copies its outputs to out. The argument name is its name in errors.
func run[T dtypes.Supported](name string, exec *graph.Exec, out [][]T, inputs ...any) (err error) {
	defer func() { // a target's graph functions may panic with any value
		if r := recover(); r != nil {
			err = fmt.Errorf("rjmcmc: building the graph of %s: %v", name, r)
		}
	}()
	results, err := exec.Exec(inputs...)
	if err != nil {
		return fmt.Errorf("rjmcmc: evaluating %s: %w", name, err)
	}
	for i, result := range results {
		err := tensors.ConstFlatData(result, func(flat []T) { copy(out[i], flat) })
		if err == nil {
			err = result.FinalizeAll()
		}
		if err != nil {
			return fmt.Errorf("rjmcmc: reading %s: %w", name, err)
		}
	}
	return nil
}

func (d *density) close() {
	d.maskExec.Finalize()
	d.exec.Finalize()
	if d.quadratic != nil {
		d.quadratic.Finalize()
	}
}

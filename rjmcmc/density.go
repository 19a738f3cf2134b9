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
	// LogJoint is log η(θ | m) = log p(y, θ | m), constants that depend on m kept, over active coordinates only:
	// codes [B,S] int32, mask [B,D] Bool, theta [B,D] -> [B]. Inactive entries of theta are 0.
	LogJoint(codes, mask, theta *graph.Node) *graph.Node
}

// density evaluates a target for all chains at once.
type density struct {
	exec         *graph.Exec
	codes, theta *tensors.Tensor // inputs, [C,S] int32 and [C,D] of dtype
	dtype        dtypes.DType
}

func newDensity(backend backends.Backend, target Target, chains int, dtype dtypes.DType) (*density, error) {
	s := target.Space()
	sites, dim := len(s.Cards()), s.Dim()
	exec, err := graph.NewExec(backend, func(codes, theta *graph.Node) (mask, logDensity *graph.Node) {
		mask = s.Mask(codes)
		mask.AssertDims(chains, dim)
		theta = graph.Where(mask, theta, graph.ZerosLike(theta))
		logPrior, logJoint := target.LogPrior(codes), target.LogJoint(codes, mask, theta)
		logPrior.AssertDims(chains)
		logJoint.AssertDims(chains)
		wide := dtypes.Float64 // so that a large log prior does not cost digits of a float32 log joint
		return mask, graph.Add(graph.ConvertDType(logPrior, wide), graph.ConvertDType(logJoint, wide))
	})
	if err != nil {
		return nil, fmt.Errorf("rjmcmc: preparing the target's graph: %w", err)
	}
	return &density{
		exec:  exec,
		codes: tensors.FromShape(shapes.Make(dtypes.Int32, chains, sites)),
		theta: tensors.FromShape(shapes.Make(dtype, chains, dim)),
		dtype: dtype,
	}, nil
}

// eval fills mask [C*D] and logDensity [C] for codes [C*S] and theta [C*D], all row-major. Entries of
// theta that the codes do not use are ignored.
func (d *density) eval(codes []int32, theta []float64, mask []bool, logDensity []float64) (err error) {
	defer func() { // a target's graph functions are code from outside, and may panic with anything
		if r := recover(); r != nil {
			err = fmt.Errorf("rjmcmc: building the target's graph: %v", r)
		}
	}()
	if err := tensors.MutableFlatData(d.codes, func(flat []int32) { copy(flat, codes) }); err != nil {
		return fmt.Errorf("rjmcmc: passing codes to the target: %w", err)
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
	outMask, outDensity, err := d.exec.Exec2(d.codes, d.theta)
	if err != nil {
		return fmt.Errorf("rjmcmc: evaluating the target: %w", err)
	}
	defer outMask.FinalizeAll()
	defer outDensity.FinalizeAll()
	if err := tensors.ConstFlatData(outMask, func(flat []bool) { copy(mask, flat) }); err != nil {
		return fmt.Errorf("rjmcmc: reading the target's mask: %w", err)
	}
	if err := tensors.ConstFlatData(outDensity, func(flat []float64) { copy(logDensity, flat) }); err != nil {
		return fmt.Errorf("rjmcmc: reading the target's log density: %w", err)
	}
	return nil
}

// close releases what the compiled graph holds.
func (d *density) close() { d.exec.Finalize() }

// round returns v as the density's float type holds it, so that the host's state is the one evaluated.
func (d *density) round(v float64) float64 {
	if d.dtype == dtypes.Float32 {
		return float64(float32(v))
	}
	return v
}

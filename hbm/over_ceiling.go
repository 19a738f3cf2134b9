package hbm

import (
	"errors"
	"math"
	"slices"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"gonum.org/v1/gonum/optimize"

	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/train"
)

// ceilings finds the largest likelihood of a model. No evidence, a mean of likelihoods, is larger.
type ceilings struct {
	slope *Exec // computes the log likelihood, log p(data | θ, m), and its gradient
}

func newCeilings(device *gpu.Device, t *Target) (*ceilings, error) {
	slope, err := NewExec(device.Backend(), func(codes, theta *Node) (value, gradient *Node) {
		r, _ := t.replicaAt(t.space.Mask(codes), theta)
		value = Zeros(theta.Graph(), shapes.Make(dtypes.Float64, theta.Shape().Dim(0)))
		for _, v := range t.model.withRole(Observed) {
			value = Add(value, r.sumMembers(v, r.logProb(v)))
		}
		return value, ConvertDType(Gradient(ReduceAllSum(value), theta)[0], dtypes.Float64)
	})
	return &ceilings{slope}, err
}

// The maximisation of a likelihood ends if no slope is larger than climbSlope, or if climbRest
// steps together gain less than climbGain nats, little compared with negligibleNats. If it takes
// climbSteps steps, it gives no bound.
const (
	climbSteps = 300
	climbSlope = 1e-3
	climbRest  = 10
	climbGain  = 0.01
)

// bound returns the local maximum that maximisation from theta [D] reaches in the log likelihood of
// the model named by code, or +Inf if it reaches none. If the likelihood has one mode, this is its
// largest value.
func (c *ceilings) bound(code []int32, theta []float64) float64 {
	var failed error
	slopeAt := func(theta []float64) (value float64, gradient []float64) {
		outputs, err := train.Call(func() ([]*tensors.Tensor, error) {
			return c.slope.Exec(tensors.FromFlatDataAndDimensions(slices.Clone(code), 1, len(code)), tensors.FromFlatDataAndDimensions(slices.Clone(theta), 1, len(theta)))
		})
		if failed = errors.Join(failed, err); err != nil {
			return math.Inf(1), make([]float64, len(theta))
		}
		return -tensors.MustCopyFlatData[float64](outputs[0])[0], tensors.MustCopyFlatData[float64](outputs[1])
	}
	problem := optimize.Problem{
		Func: func(x []float64) float64 { value, _ := slopeAt(x); return value },
		Grad: func(grad, x []float64) {
			_, slope := slopeAt(x)
			for i := range grad {
				grad[i] = -slope[i]
			}
		},
	}
	settings := &optimize.Settings{MajorIterations: climbSteps, GradientThreshold: climbSlope, Converger: &optimize.FunctionConverge{Absolute: climbGain, Iterations: climbRest}}
	found, err := optimize.Minimize(problem, theta, settings, &optimize.LBFGS{})
	if err != nil || failed != nil || found.Status == optimize.IterationLimit || math.IsNaN(found.F) {
		return math.Inf(1)
	}
	return -found.F
}

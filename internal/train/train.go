// Package train holds the parts that the training loops of the module share: Adam, the schedule of
// learning rates, the treatment of gradients and losses that are not finite, and calls of graphs
// that contain users' code.
package train

import (
	"fmt"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/gomlx/gomlx/pkg/ml/context"

	"github.com/transdim/vti/internal/apply"
)

// FiniteMean returns the mean of the finite entries of x [B], or 0 if there are none. Only finite
// entries have a gradient.
func FiniteMean(x *Node) *Node {
	isFinite := IsFinite(StopGradient(x))
	count := ReduceAllSum(ConvertDType(isFinite, x.DType()))
	return Div(ReduceAllSum(Where(isFinite, x, ZerosLike(x))), MaxScalar(count, 1))
}

// VariablesIn lists the trainable variables of graph g in and below a scope, in order of creation.
func VariablesIn(ctx *context.Context, scope string, g *Graph) []*context.Variable {
	var variables []*context.Variable
	for variable := range ctx.InAbsPath("/" + scope).IterVariablesInScope() {
		if variable.Trainable && variable.InUseByGraph(g) {
			variables = append(variables, variable)
		}
	}
	return variables
}

// ValuesOf returns the values of variables in a graph.
func ValuesOf(g *Graph, variables []*context.Variable) []*Node {
	return apply.To(variables, func(variable *context.Variable) *Node { return variable.ValueGraph(g) })
}

// Call executes a graph and turns any panic into an error, since a user's target may panic while
// the graph is built.
func Call(run func() ([]*tensors.Tensor, error)) (outputs []*tensors.Tensor, err error) {
	defer func() {
		if r := recover(); r != nil {
			if asError, ok := r.(error); ok {
				err = asError
			} else {
				err = fmt.Errorf("%v", r)
			}
		}
	}()
	return run()
}

// Package train holds the parts that the training loops of the module share: Adam, the schedule of
// its steps, the handling of gradients and losses that are not finite, and calls of graphs that
// contain code from outside.
package train

import (
	"fmt"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/gomlx/gomlx/pkg/ml/context"
)

// FiniteMean is the mean of the finite entries of x [B], the only ones with a gradient, or 0.
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

// ValuesOf are the values of variables in a graph.
func ValuesOf(g *Graph, variables []*context.Variable) []*Node {
	values := make([]*Node, len(variables))
	for i, variable := range variables {
		values[i] = variable.ValueGraph(g)
	}
	return values
}

// Call runs an execution of a graph and turns a panic of graph building, whatever its value, into
// an error: a user's target is code from outside.
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

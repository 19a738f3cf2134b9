package train

import (
	"cmp"
	"math"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/ml/context"

	"github.com/transdim/vti/internal/apply"
)

// These constants are the decay rate of the first moment and ε of Adam (Kingma and Ba 2015).
const (
	beta1   = 0.9
	epsilon = 1e-8
)

// Adam is the method of Kingma and Ba (2015, algorithm 1). The zero value has their settings.
//
// It replaces the Adam of GoMLX, which cannot leave out a step.
type Adam struct {
	// SecondDecay is the decay rate β₂ of the second moments; 0 stands for 0.999. Gradients that
	// shrink by orders of magnitude in a few hundred steps need a smaller rate, because steps stay
	// small while β₂ gives weight to the earlier large gradients.
	SecondDecay float64
	// Rows, if not nil, holds for each variable the indices [n, 1] int32 of the rows whose gradient
	// is given, or nil if the gradient of all rows is given. Rows whose gradient is zero, such as
	// rows that only fill up a batch, do not change. Each row has its own number of steps.
	Rows []*Node
}

// Step makes one step on values with the given gradient. It returns the increment, and the moments
// first and second after the step. The arguments step, counted from 1, and learningRate are
// Float64. They are scalars, or are broadcast to the shape of the gradient, since rows may differ
// in their number of steps.
func (a Adam) Step(gradient, first, second, learningRate, step *Node) (increment, newFirst, newSecond *Node) {
	beta2 := cmp.Or(a.SecondDecay, 0.999)
	newFirst = Add(MulScalar(first, beta1), MulScalar(gradient, 1-beta1))
	newSecond = Add(MulScalar(second, beta2), MulScalar(Square(gradient), 1-beta2))
	// The bias corrections are computed in float64: 1 − 0.999^t loses digits in float32.
	dtype := gradient.DType()
	firstScale := ConvertDType(Div(learningRate, OneMinus(powerOf(beta1, step))), dtype)
	secondScale := ConvertDType(Sqrt(OneMinus(powerOf(beta2, step))), dtype)
	return Neg(Div(Mul(newFirst, firstScale), AddScalar(Div(Sqrt(newSecond), secondScale), epsilon))), newFirst, newSecond
}

// Increments returns the increments of all variables in a step, and updates their moments, which
// are stored under the given scope. The arguments learningRate and step (counted from 1) are
// scalars. If the scalar bool apply is false, the increments are zero and the moments do not
// change.
func (a Adam) Increments(ctx *context.Context, scope string, variables []*context.Variable, gradients []*Node, learningRate, step, apply *Node) []*Node {
	increments := make([]*Node, len(variables))
	for i, variable := range variables {
		gradient := gradients[i]
		g := gradient.Graph()
		moments := ctx.InAbsPath("/" + scope + variable.Scope()).Checked(false)
		first := zeroVariable(moments, variable.Name()+".first", variable.Shape())
		second := zeroVariable(moments, variable.Name()+".second", variable.Shape())

		var rows *Node
		if a.Rows != nil {
			rows = a.Rows[i]
		}
		m, v := rowsOf(first.ValueGraph(g), rows), rowsOf(second.ValueGraph(g), rows)
		moved, age := apply, step
		if rows != nil {
			used := ConvertDType(NotEqual(gradient, ZerosLike(gradient)), dtypes.Float64)
			used = ReduceAndKeep(Mul(used, ConvertDType(apply, dtypes.Float64)), ReduceMax, -1)
			moved = BroadcastToShape(GreaterThan(used, ZerosLike(used)), shapes.Make(dtypes.Bool, gradient.Shape().Dimensions...))
			steps := zeroVariable(moments, variable.Name()+".steps", shapes.Make(dtypes.Float64, variable.Shape().Dim(0), 1))
			age = AddScalar(Gather(steps.ValueGraph(g), rows), 1)
			steps.SetValueGraph(Advance(steps.ValueGraph(g), rows, used))
		}
		update, newM, newV := a.Step(gradient, m, v, learningRate, age)
		if rows != nil {
			first.SetValueGraph(Advance(first.ValueGraph(g), rows, Where(moved, Sub(newM, m), ZerosLike(m))))
			second.SetValueGraph(Advance(second.ValueGraph(g), rows, Where(moved, Sub(newV, v), ZerosLike(v))))
		} else {
			first.SetValueGraph(Where(moved, newM, m))
			second.SetValueGraph(Where(moved, newV, v))
		}
		increments[i] = Where(moved, update, ZerosLike(update))
	}
	return increments
}

func rowsOf(x, rows *Node) *Node {
	if rows == nil {
		return x
	}
	return Gather(x, rows)
}

// Advance adds increments to x, or only to the given rows [n, 1] of x.
func Advance(x, rows, increment *Node) *Node {
	if rows == nil {
		return Add(x, increment)
	}
	return ScatterSum(x, rows, increment, false, false)
}

// powerOf returns base^exponent for a scalar node.
func powerOf(base float64, exponent *Node) *Node {
	return Exp(MulScalar(exponent, math.Log(base)))
}

// zeroVariable is a variable that starts at zero and that no gradient reaches.
func zeroVariable(ctx *context.Context, name string, shape shapes.Shape) *context.Variable {
	return ctx.WithInitializer(func(g *Graph, shape shapes.Shape) *Node { return Zeros(g, shape) }).
		VariableWithShape(name, shape).SetTrainable(false)
}

// GlobalNorm returns the joint Euclidean norm of gradients (float64 scalar). It is not finite if
// some entry is not finite or is too large to be squared.
func GlobalNorm(gradients []*Node) *Node {
	squares := apply.To(gradients, func(gradient *Node) *Node { return ConvertDType(ReduceAllSum(Square(gradient)), dtypes.Float64) })
	return Sqrt(ReduceAllSum(Stack(squares, 0)))
}

// ClipByNorm scales gradients so that their joint norm is at most limit. The argument norm is their
// joint norm before scaling.
func ClipByNorm(gradients []*Node, norm *Node, limit float64) []*Node {
	scale := Reciprocal(MaxScalar(DivScalar(norm, limit), 1))
	return apply.To(gradients, func(gradient *Node) *Node { return Mul(gradient, ConvertDType(scale, gradient.DType())) })
}

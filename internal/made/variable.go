package made

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/ml/context"

	"github.com/transdim/vti/internal/stream"
)

// Init writes the initial values of a variable. No other variable uses its random stream.
type Init func(rng *rand.Rand, values []float64)

// Zeros starts a variable at zero.
func Zeros(*rand.Rand, []float64) {}

// Uniform starts a variable at independent uniform draws from [-half, half).
func Uniform(half float64) Init {
	return func(rng *rand.Rand, values []float64) {
		for i := range values {
			values[i] = half * (2*rng.Float64() - 1)
		}
	}
}

// FanIn is Uniform(1/√inputs), for a layer with the given number of inputs.
func FanIn(inputs int) Init { return Uniform(1 / math.Sqrt(float64(inputs))) }

// Values makes a variable start at the given values.
func Values(initial []float64) Init {
	return func(_ *rand.Rand, values []float64) { copy(values, initial) }
}

// Variable returns the trainable variable with the given name in ctx's scope as a node of graph g,
// with the given dtype and dimensions. If the variable does not exist it is created. Its initial
// values depend only on seed, the scope and the name. If it exists with another float dtype, it is
// converted.
//
// Variable panics if the variable exists with other dimensions.
func Variable(ctx *context.Context, g *graph.Graph, seed uint64, name string, dtype dtypes.DType, init Init, dims ...int) *graph.Node {
	ctx = ctx.Checked(false)
	v := ctx.GetVariable(name)
	if v == nil {
		size := 1
		for _, d := range dims {
			size *= d
		}
		values := make([]float64, size)
		init(stream.Rand(seed, "init"+context.JoinScope(ctx.Scope(), name)), values)
		v = ctx.VariableWithValue(name, hostTensor(dtype, values, dims...))
	}
	if !slices.Equal(v.Shape().Dimensions, dims) {
		panic(errorf("variable %s has shape %s, want dimensions %v", v.ScopeAndName(), v.Shape(), dims))
	}
	node := v.ValueGraph(g)
	if node.DType() != dtype {
		node = graph.ConvertDType(node, dtype)
	}
	return node
}

// Linear returns x·W + b over the last axis of x, which must not be empty. It is a layer without a
// mask. Its variables "weight" [n, outputs] and "bias" [outputs] live in ctx's scope; the arguments
// weight and bias set their initial values.
func Linear(ctx *context.Context, seed uint64, x *graph.Node, outputs int, weight, bias Init) *graph.Node {
	last := x.Rank() - 1
	n := x.Shape().Dim(last)
	w := Variable(ctx, x.Graph(), seed, "weight", x.DType(), weight, n, outputs)
	b := Variable(ctx, x.Graph(), seed, "bias", x.DType(), bias, outputs)
	if last == 1 {
		return graph.Add(graph.MatMul(x, w), row(b))
	}
	y := graph.Add(graph.MatMul(graph.Reshape(x, -1, n), w), row(b))
	return graph.Reshape(y, append(slices.Clone(x.Shape().Dimensions[:last]), outputs)...)
}

// Perceptron returns W x + V ReLU(U x) over the last axis of x. The argument hidden is the number
// of hidden units and of outputs. The term W x lets it represent a linear function of x exactly.
func Perceptron(ctx *context.Context, seed uint64, x *graph.Node, hidden int) *graph.Node {
	inputs := x.Shape().Dim(-1)
	inside := ReLU.Apply(Linear(ctx.In("hidden"), seed, x, hidden, FanIn(inputs), Zeros))
	return Linear(ctx.In("out"), seed, graph.Concatenate([]*graph.Node{x, inside}, -1), hidden, FanIn(inputs+hidden), Zeros)
}

// LogSoftmax normalises log weights over the last axis. Weights may be -Inf, but not all weights of
// a row. The gradient is finite.
func LogSoftmax(x *graph.Node) *graph.Node {
	x = graph.Sub(x, graph.StopGradient(graph.ReduceAndKeep(x, graph.ReduceMax, -1)))
	return graph.Sub(x, graph.Log(graph.ReduceAndKeep(graph.Exp(x), graph.ReduceSum, -1)))
}

// Softplus returns log(1 + exp x). If x is the log odds of π, the result is −log(1 − π).
func Softplus(x *graph.Node) *graph.Node {
	return graph.Add(graph.MaxScalar(x, 0), graph.Log1P(graph.Exp(graph.Neg(graph.Abs(x)))))
}

// row returns a vector [n] as a matrix [1, n].
func row(v *graph.Node) *graph.Node { return graph.InsertAxes(v, 0) }

func errorf(format string, args ...any) error { return fmt.Errorf("made: "+format, args...) }

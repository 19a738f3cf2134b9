package encode

import (
	"fmt"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/ml/context"

	"github.com/transdim/vti/internal/made"
)

// layers applies count layers one after the other to x. The first may have any number of inputs.
func layers(ctx *context.Context, seed uint64, x *Node, hidden, count int) *Node {
	for i := range count {
		scope := ctx.In(fmt.Sprintf("layer%d", i))
		if i == 0 {
			x = made.Perceptron(scope, seed, x, hidden)
		} else {
			x = Add(x, made.Perceptron(scope, seed, normalised(x), hidden))
		}
	}
	return x
}

// normalised applies layer normalisation to the last axis of x, without scale and offset, because a
// linear layer follows.
func normalised(x *Node) *Node {
	centred := Sub(x, ReduceAndKeep(x, ReduceMean, -1))
	variance := ReduceAndKeep(Square(centred), ReduceMean, -1)
	return Div(centred, Sqrt(AddScalar(variance, 1e-6)))
}

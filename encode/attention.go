package encode

import (
	"math"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/ml/context"

	"github.com/transdim/vti/internal/made"
)

// attention is the multi-head attention of queries to the members of sets.
type attention struct {
	hidden, heads int
	seed          uint64
}

// lowest stands for the score of a member that is absent.
const lowest = -1e30

// attend adds to queries [T, M, H] their attention to members [T, N, H] where present [T, N] is
// true, and then a perceptron of the sum: a block of a transformer. A set without members adds
// nothing.
func (a attention) attend(ctx *context.Context, queries, members, present *Node) *Node {
	x, own := queries, normalised(queries)
	seen := a.seen(ctx, own, normalised(members), present)
	x = Add(x, made.Linear(ctx.In("mix"), a.seed, seen, a.hidden, made.FanIn(a.hidden), made.Zeros))
	return Add(x, made.Perceptron(ctx.In("after"), a.seed, normalised(x), a.hidden))
}

// seen is the mean of members' values, weighted by the softmax of products of queries and keys.
func (a attention) seen(ctx *context.Context, queries, members, present *Node) *Node {
	size := a.hidden / a.heads
	split := func(name string, x *Node) *Node { // [T, M, heads, size]
		weight := made.Variable(ctx.In(name), x.Graph(), a.seed, "weight", x.DType(), made.FanIn(a.hidden), a.hidden, a.hidden)
		y := MatMul(Reshape(x, -1, a.hidden), weight) // a bias of keys would cancel
		return Reshape(y, x.Shape().Dim(0), x.Shape().Dim(1), a.heads, size)
	}
	q, k, v := split("query", queries), split("key", members), split("value", members)
	scores := MulScalar(Einsum("tmas,tnas->tamn", q, k), 1/math.Sqrt(float64(size)))
	there := BroadcastToShape(InsertAxes(present, 1, 1), scores.Shape())
	scores = Where(there, scores, AddScalar(ZerosLike(scores), lowest))
	share := Exp(Sub(scores, StopGradient(ReduceAndKeep(scores, ReduceMax, -1))))
	share = Where(there, share, ZerosLike(share))
	share = Div(share, MaxScalar(ReduceAndKeep(share, ReduceSum, -1), 1e-6))
	mean := Einsum("tamn,tnas->tmas", share, v)
	return Reshape(mean, queries.Shape().Dim(0), queries.Shape().Dim(1), a.hidden)
}

// points are learned members of every set, the same for all sets: [T, count, H].
func (a attention) points(ctx *context.Context, like *Node, sets, count int) *Node {
	start := made.Variable(ctx, like.Graph(), a.seed, "points", like.DType(), made.Uniform(1), count, a.hidden)
	return BroadcastToDims(InsertAxes(start, 0), sets, count, a.hidden)
}

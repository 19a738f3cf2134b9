package encode

import (
	"math"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/ml/context"

	"github.com/transdim/vti/internal/made"
)

// lowest replaces the attention score of an absent member of a set. It is below all scores of
// present members.
const lowest = -1e30

// Attend applies one block of a transformer to queries [T, M, H], where T is the number of sets and
// H is Hidden. It adds two terms to each query: the result of multi-head attention to the members
// [T, N, H] of the set for which present [T, N] is true, and then a perceptron of the sum so far.
// If no member is present the attention adds nothing that depends on members.
func (c Config) Attend(ctx *context.Context, queries, members, present *Node) *Node {
	x, asked := queries, normalised(queries)
	seen := c.seen(ctx, asked, normalised(members), present)
	x = Add(x, made.Linear(ctx.In("mix"), c.Seed, seen, c.Hidden, made.FanIn(c.Hidden), made.Zeros))
	return Add(x, made.Perceptron(ctx.In("after"), c.Seed, normalised(x), c.Hidden))
}

// seen returns the result of multi-head attention: for each query and head the mean of the values
// of the present members, weighted by the softmax of the products of the query with their keys.
func (c Config) seen(ctx *context.Context, queries, members, present *Node) *Node {
	size := c.Hidden / c.Heads
	split := func(name string, x *Node) *Node { // [T, M, heads, size]
		weight := made.Variable(ctx.In(name), x.Graph(), c.Seed, "weight", x.DType(), made.FanIn(c.Hidden), c.Hidden, c.Hidden)
		y := MatMul(Reshape(x, -1, c.Hidden), weight) // no bias: a bias of keys would cancel in the softmax
		return Reshape(y, x.Shape().Dim(0), x.Shape().Dim(1), c.Heads, size)
	}
	q, k, v := split("query", queries), split("key", members), split("value", members)
	scores := MulScalar(Einsum("tmas,tnas->tamn", q, k), 1/math.Sqrt(float64(size)))
	there := BroadcastToShape(InsertAxes(present, 1, 1), scores.Shape())
	scores = Where(there, scores, AddScalar(ZerosLike(scores), lowest))
	share := Exp(Sub(scores, StopGradient(ReduceAndKeep(scores, ReduceMax, -1))))
	share = Where(there, share, ZerosLike(share))
	share = Div(share, MaxScalar(ReduceAndKeep(share, ReduceSum, -1), 1e-6))
	mean := Einsum("tamn,tnas->tmas", share, v)
	return Reshape(mean, queries.Shape().Dim(0), queries.Shape().Dim(1), c.Hidden)
}

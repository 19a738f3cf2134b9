package hbm

import (
	"math"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/ml/context"

	"github.com/transdim/vti/internal/made"
)

// attention reduces the encodings of the members of each set to one encoding, as a set transformer
// does. First comes an induced block, in which learned points attend to the members and the members
// to these points. Then one learned point attends to the members. x is [plates of members...,
// draws, hidden] and weight [plates of members..., 1, 1], 0 for a row without a member.
func (s *setEncoder) attention(ctx *context.Context, set *sets, x, weight *Node) *Node {
	// shape [plates of sets..., draws, points, hidden]
	points := s.attend(ctx.In("induced"), set, x, weight, s.sizes.Points)
	rank := x.Rank()

	// Each member attends to the points of its set.
	scope := ctx.In("members")
	// shape [plates of members..., draws, heads, numbers of a head]
	queries := s.heads(s.linear(scope.In("query"), x, s.sizes.Units, made.FanIn(s.sizes.Units)))
	// shape [plates of members..., draws, points, heads, numbers of a head]
	keys := s.heads(set.spread(s.linear(scope.In("key"), points, s.sizes.Units, made.FanIn(s.sizes.Units))))
	values := s.heads(set.spread(s.linear(scope.In("value"), points, s.sizes.Units, made.FanIn(s.sizes.Units))))
	// shape [plates of members..., draws, points, heads]
	scores := MulScalar(ReduceSum(Mul(InsertAxes(queries, rank-1), keys), -1), 1/math.Sqrt(float64(s.sizes.Units/s.sizes.Heads)))
	share := Exp(Sub(scores, StopGradient(ReduceAndKeep(scores, ReduceMax, rank-1))))
	share = Div(share, ReduceAndKeep(share, ReduceSum, rank-1))
	seen := ReduceSum(Mul(InsertAxes(share, -1), values), rank-1) // [from..., draws, heads, h]
	x = s.block(scope, x, reshapeLast(Reshape(seen, append(append([]int{}, x.Shape().Dimensions[:rank-1]...), s.sizes.Units)...), []int{s.sizes.Units}))

	return Squeeze(s.attend(ctx.In("seed"), set, x, weight, 1), rank-1+len(set.to)-len(set.from))
}

// attend lets learned points attend to the members of each set. It returns the results of the
// points, [plates of sets..., draws, points, hidden].
func (s *setEncoder) attend(ctx *context.Context, set *sets, x, weight *Node, points int) *Node {
	rank := x.Rank()
	g, dtype := x.Graph(), x.DType()
	h := s.sizes.Units / s.sizes.Heads
	start := made.Variable(ctx, g, s.seed, "points", dtype, made.Uniform(1), points, s.sizes.Units)
	// shape [plates of members..., draws, heads, numbers of a head]
	keys := s.heads(s.linear(ctx.In("key"), x, s.sizes.Units, made.FanIn(s.sizes.Units)))
	values := s.heads(s.linear(ctx.In("value"), x, s.sizes.Units, made.FanIn(s.sizes.Units)))
	queries := Reshape(s.linear(ctx.In("query"), start, s.sizes.Units, made.FanIn(s.sizes.Units)), append(ones(rank-1), points, s.sizes.Heads, h)...)
	// shape [plates of members..., draws, points, heads]
	scores := MulScalar(ReduceSum(Mul(InsertAxes(keys, rank-1), queries), -1), 1/math.Sqrt(float64(h)))
	share := Mul(Exp(Sub(scores, set.spread(set.largestEntry(scores)))), withRank(weight, scores.Rank()))
	// shape [plates of sets..., draws, points, heads, numbers of a head]
	seen := set.sum(Mul(InsertAxes(share, -1), InsertAxes(values, rank-1)))
	seen = Div(seen, MaxScalar(InsertAxes(set.sum(share), -1), 1e-6))
	lead := append([]int{}, seen.Shape().Dimensions[:seen.Rank()-2]...)
	seen = Reshape(seen, append(lead, s.sizes.Units)...)
	residual := BroadcastToDims(Reshape(start, append(ones(seen.Rank()-2), points, s.sizes.Units)...), seen.Shape().Dimensions...)
	return s.block(ctx, residual, seen)
}

// block is the end of an attention block: it adds to x the result seen of the attention, and adds
// to this sum the output of a perceptron.
func (s *setEncoder) block(ctx *context.Context, x, seen *Node) *Node {
	x = Add(x, seen)
	return Add(x, s.perceptron(ctx.In("after"), x))
}

func (s *setEncoder) heads(x *Node) *Node {
	return reshapeLast(x, []int{s.sizes.Heads, s.sizes.Units / s.sizes.Heads})
}

// withRank adds last axes of size 1 to x until it has the given rank.
func withRank(x *Node, rank int) *Node {
	for x.Rank() < rank {
		x = InsertAxes(x, -1)
	}
	return x
}

package hbm

import (
	"math"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/ml/context"

	"github.com/transdim/vti/internal/made"
)

const (
	attentionHeads = 4
	inducedPoints  = 8 // learned points through which the members of a set exchange information
)

// attention reduces the encodings of the members of each set to one encoding, as a set transformer
// does. First comes an induced block, in which learned points attend to the members and the members
// to these points. Then one learned point attends to the members. x is [plates of members...,
// draws, hidden] and weight [plates of members..., 1, 1], 0 for a row without a member.
func (s *setEncoder) attention(ctx *context.Context, set *sets, x, weight *Node) *Node {
	// shape [plates of sets..., draws, points, hidden]
	points := s.attend(ctx.In("induced"), set, x, weight, inducedPoints)
	rank := x.Rank()

	// Each member attends to the points of its set.
	scope := ctx.In("members")
	// shape [plates of members..., draws, heads, numbers of a head]
	queries := s.heads(s.linear(scope.In("query"), x, s.hidden, made.FanIn(s.hidden)))
	// shape [plates of members..., draws, points, heads, numbers of a head]
	keys := s.heads(set.spread(s.linear(scope.In("key"), points, s.hidden, made.FanIn(s.hidden))))
	values := s.heads(set.spread(s.linear(scope.In("value"), points, s.hidden, made.FanIn(s.hidden))))
	// shape [plates of members..., draws, points, heads]
	scores := MulScalar(ReduceSum(Mul(InsertAxes(queries, rank-1), keys), -1), 1/math.Sqrt(float64(s.hidden/attentionHeads)))
	share := Exp(Sub(scores, StopGradient(ReduceAndKeep(scores, ReduceMax, rank-1))))
	share = Div(share, ReduceAndKeep(share, ReduceSum, rank-1))
	seen := ReduceSum(Mul(InsertAxes(share, -1), values), rank-1) // [from..., draws, heads, h]
	x = s.block(scope, x, reshapeLast(Reshape(seen, append(append([]int{}, x.Shape().Dimensions[:rank-1]...), s.hidden)...), []int{s.hidden}))

	return Squeeze(s.attend(ctx.In("seed"), set, x, weight, 1), rank-1+len(set.to)-len(set.from))
}

// attend lets learned points attend to the members of each set. It returns the results of the
// points, [plates of sets..., draws, points, hidden].
func (s *setEncoder) attend(ctx *context.Context, set *sets, x, weight *Node, points int) *Node {
	rank := x.Rank()
	g, dtype := x.Graph(), x.DType()
	h := s.hidden / attentionHeads
	start := made.Variable(ctx, g, s.seed, "points", dtype, made.Uniform(1), points, s.hidden)
	// shape [plates of members..., draws, heads, numbers of a head]
	keys := s.heads(s.linear(ctx.In("key"), x, s.hidden, made.FanIn(s.hidden)))
	values := s.heads(s.linear(ctx.In("value"), x, s.hidden, made.FanIn(s.hidden)))
	queries := Reshape(s.linear(ctx.In("query"), start, s.hidden, made.FanIn(s.hidden)), append(ones(rank-1), points, attentionHeads, h)...)
	// shape [plates of members..., draws, points, heads]
	scores := MulScalar(ReduceSum(Mul(InsertAxes(keys, rank-1), queries), -1), 1/math.Sqrt(float64(h)))
	share := Mul(Exp(Sub(scores, set.spread(set.largestEntry(scores)))), withRank(weight, scores.Rank()))
	// shape [plates of sets..., draws, points, heads, numbers of a head]
	seen := set.sum(Mul(InsertAxes(share, -1), InsertAxes(values, rank-1)))
	seen = Div(seen, MaxScalar(InsertAxes(set.sum(share), -1), 1e-6))
	lead := append([]int{}, seen.Shape().Dimensions[:seen.Rank()-2]...)
	seen = Reshape(seen, append(lead, s.hidden)...)
	residual := BroadcastToDims(Reshape(start, append(ones(seen.Rank()-2), points, s.hidden)...), seen.Shape().Dimensions...)
	return s.block(ctx, residual, seen)
}

// block is the end of an attention block: it adds to x the result seen of the attention, and adds
// to this sum the output of a perceptron.
func (s *setEncoder) block(ctx *context.Context, x, seen *Node) *Node {
	x = Add(x, seen)
	return Add(x, s.perceptron(ctx.In("after"), x))
}

func (s *setEncoder) heads(x *Node) *Node {
	return reshapeLast(x, []int{attentionHeads, s.hidden / attentionHeads})
}

// withRank adds last axes of size 1 to x until it has the given rank.
func withRank(x *Node, rank int) *Node {
	for x.Rank() < rank {
		x = InsertAxes(x, -1)
	}
	return x
}

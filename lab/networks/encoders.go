package networks

import (
	"fmt"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/ml/context"

	"github.com/transdim/vti/encode"
	"github.com/transdim/vti/internal/enum"
	"github.com/transdim/vti/internal/made"
)

// Encoder is the architecture of an encoder of sets.
type Encoder int

const (
	// DeepSets takes the mean over rows of features of each row (Zaheer et al. 2017).
	DeepSets Encoder = iota
	// Transformer lets rows attend to each other, without positions, and returns the output of a
	// class token (Vaswani et al. 2017).
	Transformer
	// InducedSets lets rows attend to each other through a few learned points, so that its cost is
	// linear in the number of rows (Lee et al. 2019).
	InducedSets
)

var encoders = enum.New[Encoder]("encoder", "deepsets", "transformer", "induced")

// String returns "deepsets", "transformer" or "induced".
func (e Encoder) String() string { return encoders.String(e) }

// ParseEncoder returns the encoder for which String returns s.
func ParseEncoder(s string) (Encoder, error) { return encoders.Parse(s) }

// induced is the number of learned points of InducedSets.
const induced = 16

// In returns the configuration c, changed to a network with the encoder e.
func (e Encoder) In(c encode.Config) encode.Config {
	c.Pool = map[Encoder]func(*context.Context, encode.Config, *Node, *Node) *Node{Transformer: transform, InducedSets: induce}[e]
	return c
}

func transform(ctx *context.Context, c encode.Config, rows, present *Node) *Node {
	sets := rows.Shape().Dim(0)
	x := made.Linear(ctx.In("rows"), c.Seed, rows, c.Hidden, made.FanIn(rows.Shape().Dim(-1)), made.Zeros)
	x = Concatenate([]*Node{learned(ctx.In("class"), c, x, 1), x}, 1)
	token := Ones(rows.Graph(), shapes.Make(dtypes.Bool, sets, 1))
	all := StopGradient(Concatenate([]*Node{token, present}, 1))
	for i := range c.Layers {
		queries := x
		if i == c.Layers-1 { // of the last layer, only the output of the class token is used
			queries = firstOf(x)
		}
		x = c.Attend(ctx.In(fmt.Sprintf("layer%d", i)), queries, x, all)
	}
	return Squeeze(x, 1)
}

func induce(ctx *context.Context, c encode.Config, rows, present *Node) *Node {
	x := made.Linear(ctx.In("rows"), c.Seed, rows, c.Hidden, made.FanIn(rows.Shape().Dim(-1)), made.Zeros)
	for i := range c.Layers {
		scope := ctx.In(fmt.Sprintf("layer%d", i))
		points := c.Attend(scope.In("points"), learned(scope, c, x, induced), x, present)
		x = c.Attend(scope.In("members"), x, points, Ones(rows.Graph(), shapes.Make(dtypes.Bool, rows.Shape().Dim(0), induced)))
	}
	return Squeeze(c.Attend(ctx.In("seed"), learned(ctx.In("seed"), c, x, 1), x, present), 1)
}

// learned returns count learned points for each set, the same for all sets, as [T, count, H]. T is
// the number of sets in x and H the number of features.
func learned(ctx *context.Context, c encode.Config, x *Node, count int) *Node {
	start := made.Variable(ctx, x.Graph(), c.Seed, "points", x.DType(), made.Uniform(1), count, c.Hidden)
	return BroadcastToDims(InsertAxes(start, 0), x.Shape().Dim(0), count, c.Hidden)
}

// firstOf returns the first member of each set, [T, N, H] -> [T, 1, H]. It is a sum over members,
// which can be differentiated.
func firstOf(x *Node) *Node {
	place := Iota(x.Graph(), shapes.Make(dtypes.Int32, 1, x.Shape().Dim(1), 1), 1)
	first := BroadcastToShape(Equal(place, ZerosLike(place)), x.Shape())
	return ReduceAndKeep(Where(first, x, ZerosLike(x)), ReduceSum, 1)
}

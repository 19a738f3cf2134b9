package encode

import (
	"fmt"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/ml/context"

	"github.com/transdim/vti/internal/enum"
	"github.com/transdim/vti/internal/made"
)

// Kind is the architecture of an encoder of sets.
type Kind int

const (
	// DeepSets takes the mean of features of each row.
	DeepSets Kind = iota
	// Transformer lets rows attend to each other and returns the output of a class token.
	Transformer
	// InducedSets lets rows attend to each other through a few learned points.
	InducedSets
)

var kinds = enum.New[Kind]("encoder", "deepsets", "transformer", "induced")

// String returns "deepsets", "transformer" or "induced".
func (k Kind) String() string { return kinds.String(k) }

// ParseKind reads the text of String.
func ParseKind(s string) (Kind, error) { return kinds.Parse(s) }

// Config describes an encoder. Zero sizes stand for the defaults given.
type Config struct {
	Kind Kind `json:"kind"`
	// Hidden is the width of all layers and of the encoding, 64; a multiple of Heads.
	Hidden int `json:"hidden"`
	// Layers is the number of layers before and after the mean of DeepSets, or of attention, 2.
	Layers int `json:"layers"`
	// Heads is the number of heads of attention, 4.
	Heads int `json:"heads"`
	// Points is the number of learned points of InducedSets, 16.
	Points int `json:"points"`
	// Seed is the root of the initial weights.
	Seed uint64 `json:"seed,omitempty"`
}

// WithDefaults returns the configuration with its zero sizes replaced by their defaults.
func (c Config) WithDefaults() Config {
	for _, field := range []struct {
		size     *int
		fallback int
	}{{&c.Hidden, 64}, {&c.Layers, 2}, {&c.Heads, 4}, {&c.Points, 16}} {
		if *field.size == 0 {
			*field.size = field.fallback
		}
	}
	return c
}

// Validate returns an error that names the first field which cannot be used.
func (c Config) Validate() error {
	c = c.WithDefaults()
	switch {
	case kinds.Check(c.Kind) != nil:
		return fmt.Errorf("encode: %w", kinds.Check(c.Kind))
	case c.Hidden < 1 || c.Layers < 1 || c.Heads < 1 || c.Points < 1:
		return fmt.Errorf("encode: got Hidden %d, Layers %d, Heads %d and Points %d, want at least 1 each", c.Hidden, c.Layers, c.Heads, c.Points)
	case c.Hidden%c.Heads != 0:
		return fmt.Errorf("encode: got Hidden %d, want a multiple of the %d Heads", c.Hidden, c.Heads)
	}
	return nil
}

// Encoder encodes sets of rows. It holds the architecture; the weights live in a context.
type Encoder struct{ cfg Config }

// New checks cfg and returns the encoder it describes.
func New(cfg Config) (*Encoder, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Encoder{cfg.WithDefaults()}, nil
}

// Config returns the configuration, defaults filled in.
func (e *Encoder) Config() Config { return e.cfg }

// Encode encodes the present rows of T sets: rows [T, N, R], present [T, N] Bool -> [T, Hidden].
func (e *Encoder) Encode(ctx *context.Context, rows, present *Node) *Node {
	check("Encode", "rows", rows, 3)
	check("Encode", "present", present, 2)
	c := e.cfg
	a := attention{c.Hidden, c.Heads, c.Seed}
	rows = Where(BroadcastToShape(InsertAxes(present, -1), rows.Shape()), rows, ZerosLike(rows))
	sets := rows.Shape().Dim(0)
	ctx = ctx.Checked(false)
	var pooled *Node // [T, H]
	switch c.Kind {
	case DeepSets:
		pooled = meanOf(layers(ctx.In("rows"), c.Seed, rows, c.Hidden, c.Layers), present)
	case Transformer:
		x := made.Linear(ctx.In("rows"), c.Seed, rows, c.Hidden, made.FanIn(rows.Shape().Dim(-1)), made.Zeros)
		x = Concatenate([]*Node{a.points(ctx.In("class"), x, sets, 1), x}, 1)
		token := Ones(rows.Graph(), shapes.Make(dtypes.Bool, sets, 1))
		all := StopGradient(Concatenate([]*Node{token, present}, 1))
		for i := range c.Layers {
			queries := x
			if i == c.Layers-1 { // of the last layer only the class token is read
				queries = firstOf(x)
			}
			x = a.attend(ctx.In(fmt.Sprintf("layer%d", i)), queries, x, all)
		}
		pooled = Squeeze(x, 1)
	case InducedSets:
		x := made.Linear(ctx.In("rows"), c.Seed, rows, c.Hidden, made.FanIn(rows.Shape().Dim(-1)), made.Zeros)
		for i := range c.Layers {
			scope := ctx.In(fmt.Sprintf("layer%d", i))
			points := a.attend(scope.In("points"), a.points(scope, x, sets, c.Points), x, present)
			x = a.attend(scope.In("members"), x, points, Ones(rows.Graph(), shapes.Make(dtypes.Bool, sets, c.Points)))
		}
		pooled = Squeeze(a.attend(ctx.In("seed"), a.points(ctx.In("seed"), x, sets, 1), x, present), 1)
	}
	return layers(ctx.In("pooled"), c.Seed, Concatenate([]*Node{pooled, count(present, rows.DType())}, -1), c.Hidden, c.Layers)
}

// meanOf is the mean over the members that are present: [T, N, H], [T, N] -> [T, H].
func meanOf(x, present *Node) *Node {
	weight := ConvertDType(InsertAxes(present, -1), x.DType())
	return Div(ReduceSum(Mul(x, weight), 1), MaxScalar(ReduceSum(weight, 1), 1))
}

// firstOf is the first of each set, as a sum, so differentiable: [T, N, H] -> [T, 1, H]
func firstOf(x *Node) *Node {
	place := Iota(x.Graph(), shapes.Make(dtypes.Int32, 1, x.Shape().Dim(1), 1), 1)
	first := BroadcastToShape(Equal(place, ZerosLike(place)), x.Shape())
	return ReduceAndKeep(Where(first, x, ZerosLike(x)), ReduceSum, 1)
}

// count is log(1 + n) less a typical value: how much is known. [T, N] -> [T, 1]
func count(present *Node, dtype dtypes.DType) *Node {
	const typical = 4
	return AddScalar(Log(AddScalar(ReduceAndKeep(ConvertDType(present, dtype), ReduceSum, -1), 1)), -typical)
}

func check(name, what string, x *Node, rank int) {
	if x == nil || x.Rank() != rank {
		found := "nil"
		if x != nil {
			found = x.Shape().String()
		}
		panic(fmt.Errorf("encode: %s: %s must have %d axes, got %s", name, what, rank, found))
	}
}

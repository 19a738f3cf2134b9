package encode

import (
	"cmp"
	"fmt"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/ml/context"
)

// Config describes an encoder.
type Config struct {
	// Pool returns an encoding of the present members of each set: rows [T, N, R], present [T, N]
	// Bool -> [T, Hidden]. nil stands for the mean over present rows of a perceptron of each row
	// (Zaheer et al. 2017).
	Pool func(ctx *context.Context, c Config, rows, present *Node) *Node `json:"-"`
	// Hidden is the width of all layers and of the encoding, a multiple of Heads; 0 stands for 64.
	Hidden int `json:"hidden"`
	// Layers is the number of layers before the mean, the number after the mean, and the number of
	// layers of attention; 0 stands for 2.
	Layers int `json:"layers"`
	// Heads is the number of heads of attention; 0 stands for 4.
	Heads int `json:"heads"`
	// Seed is the random seed of the initial weights.
	Seed uint64 `json:"seed,omitempty"`
}

// WithDefaults returns the configuration with its zero sizes replaced by their defaults.
func (c Config) WithDefaults() Config {
	c.Hidden, c.Layers, c.Heads = cmp.Or(c.Hidden, 64), cmp.Or(c.Layers, 2), cmp.Or(c.Heads, 4)
	return c
}

// Validate returns an error that describes the fields which cannot be used, or nil.
func (c Config) Validate() error {
	c = c.WithDefaults()
	switch {
	case c.Hidden < 1 || c.Layers < 1 || c.Heads < 1:
		return fmt.Errorf("encode: got Hidden %d, Layers %d and Heads %d, want at least 1 each", c.Hidden, c.Layers, c.Heads)
	case c.Hidden%c.Heads != 0:
		return fmt.Errorf("encode: got Hidden %d, want a multiple of the %d Heads", c.Hidden, c.Heads)
	}
	return nil
}

// Encoder encodes sets of rows. It holds the configuration, while the weights live in a Context.
type Encoder struct{ cfg Config }

// New validates cfg and returns the encoder that it describes.
func New(cfg Config) (*Encoder, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Encoder{cfg.WithDefaults()}, nil
}

// Config returns the configuration with defaults filled in.
func (e *Encoder) Config() Config { return e.cfg }

// Encode returns encodings of the present rows of T sets: rows [T, N, R], present [T, N] Bool ->
// [T, Hidden].
func (e *Encoder) Encode(ctx *context.Context, rows, present *Node) *Node {
	check("Encode", "rows", rows, 3)
	check("Encode", "present", present, 2)
	c := e.cfg
	rows = Where(BroadcastToShape(InsertAxes(present, -1), rows.Shape()), rows, ZerosLike(rows))
	ctx = ctx.Checked(false)
	var pooled *Node // [T, H]
	if c.Pool != nil {
		pooled = c.Pool(ctx, c, rows, present)
	} else {
		pooled = meanOf(layers(ctx.In("rows"), c.Seed, rows, c.Hidden, c.Layers), present)
	}
	return layers(ctx.In("pooled"), c.Seed, Concatenate([]*Node{pooled, count(present, rows.DType())}, -1), c.Hidden, c.Layers)
}

// meanOf returns the mean of x [T, N, H] over the members for which present [T, N] is true, [T, H].
func meanOf(x, present *Node) *Node {
	weight := ConvertDType(InsertAxes(present, -1), x.DType())
	return Div(ReduceSum(Mul(x, weight), 1), MaxScalar(ReduceSum(weight, 1), 1))
}

// count returns log(1 + n) − 4 [T, 1], where n is the number of members of each set for which
// present [T, N] is true. Subtracting 4, a typical value of log(1 + n), centres the result.
func count(present *Node, dtype dtypes.DType) *Node {
	const typical = 4
	return AddScalar(Log(AddScalar(ReduceAndKeep(ConvertDType(present, dtype), ReduceSum, -1), 1)), -typical)
}

func check(name, input string, x *Node, rank int) {
	if x == nil || x.Rank() != rank {
		found := "nil"
		if x != nil {
			found = x.Shape().String()
		}
		panic(fmt.Errorf("encode: %s: %s must have %d axes, got %s", name, input, rank, found))
	}
}

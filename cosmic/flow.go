package cosmic

import (
	"fmt"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/ml/context"

	"github.com/transdim/vti/internal/made"
)

// Flow is the conditional transport θ = T_φ(z | m). It holds the architecture; its trainable
// variables live in the context given to ToParams and ToBase, in that context's scope.
type Flow struct {
	cfg Config
	tau univariate    // of each layer
	net *made.Network // of each layer; nil for Diagonal

	quadratic *quadratic // of each row, in place of that of cfg; nil: none
}

// New checks cfg and returns the flow it describes.
func New(cfg Config) (*Flow, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	f := &Flow{cfg: cfg.WithDefaults(), tau: affine{}}
	activation := made.LeakyReLU
	switch f.cfg.Kind {
	case Diagonal:
		return f, nil
	case Spline:
		f.tau, activation = spline{bins: f.cfg.Bins}, made.ReLU
	}
	var heads [][]int
	for _, n := range f.tau.outputs() {
		heads = append(heads, made.Repeat(f.cfg.Dim, n))
	}
	net, err := made.New(made.Config{
		Inputs:     f.cfg.Dim,
		Context:    f.cfg.context(),
		Hidden:     f.cfg.Hidden,
		Blocks:     f.cfg.Blocks,
		Activation: activation,
		Heads:      heads,
		Seed:       f.cfg.Seed,
	})
	if err != nil {
		return nil, fmt.Errorf("cosmic: %w", err)
	}
	f.net = net
	return f, nil
}

// Config returns the configuration of the flow, defaults filled in.
func (f *Flow) Config() Config { return f.cfg }

// ToParams maps reference draws to parameters in one pass. mask [B, D] Bool marks the coordinates
// the model of each row uses, feats [B, C] are its features (nil where Config.Features is 0), z [B,
// D] is Float32 or Float64 and sets the dtype of the results: theta [B, D], equal to z to the bit
// where mask is false, and logDet [B] = log |det ∂θ/∂z| over the active coordinates.
//
// Like every graph function it panics with an error value on inputs of a wrong shape or dtype.
func (f *Flow) ToParams(ctx *context.Context, mask, feats, z *graph.Node) (theta, logDet *graph.Node) {
	f.check("ToParams", mask, feats, z)
	return f.toParams(ctx.Checked(false), newPacking(mask), mask, feats, z)
}

// ToBase inverts ToParams: it maps theta [B, D] to z [B, D] and returns the same logDet [B], of the
// map from z to θ. The layers are sequential in this direction: each takes Dim passes of its
// network, unrolled in the graph.
func (f *Flow) ToBase(ctx *context.Context, mask, feats, theta *graph.Node) (z, logDet *graph.Node) {
	f.check("ToBase", mask, feats, theta)
	return f.toBase(ctx.Checked(false), newPacking(mask), mask, feats, theta)
}

func (f *Flow) toParams(ctx *context.Context, p packing, mask, feats, z *graph.Node) (theta, logDet *graph.Node) {
	cond := f.condition(ctx, feats, z.DType())
	end := f.endMap(ctx, z)
	x := z
	var logSlopes []*graph.Node // per coordinate or per slot, [B, D], zero where inactive
	if f.cfg.Kind == Diagonal {
		var logSlope *graph.Node
		x, logSlope = f.tau.toParams(f.diagonal(ctx, z, cond), z)
		logSlopes = append(logSlopes, active(mask, logSlope))
	} else {
		x = p.pack(x)
		for i, l := range f.layers(ctx, z, cond) {
			if i > 0 {
				x = p.reverse(x)
			}
			var logSlope *graph.Node
			x, logSlope = l.toParams(p.active, x)
			logSlopes = append(logSlopes, logSlope)
		}
		if f.reversed() {
			x = p.reverse(x)
		}
		x = p.unpack(x)
	}
	x = graph.Add(end.shift, graph.Mul(graph.Exp(end.logScale), x))
	logSlopes = append(logSlopes, active(mask, end.logScale))
	if a := f.anchor(ctx, mask, z.DType()); a != nil {
		var logSlope *graph.Node
		x, logSlope = a.toParams(mask, x)
		logSlopes = append(logSlopes, active(mask, logSlope))
	}
	return graph.Where(mask, x, z), total(logSlopes)
}

func (f *Flow) toBase(ctx *context.Context, p packing, mask, feats, theta *graph.Node) (z, logDet *graph.Node) {
	cond := f.condition(ctx, feats, theta.DType())
	end := f.endMap(ctx, theta)
	x := theta
	logSlopes := []*graph.Node{active(mask, end.logScale)}
	if a := f.anchor(ctx, mask, theta.DType()); a != nil {
		var logSlope *graph.Node
		x, logSlope = a.toBase(mask, x)
		logSlopes = append(logSlopes, active(mask, logSlope))
	}
	x = graph.Mul(graph.Sub(x, end.shift), graph.Exp(graph.Neg(end.logScale)))
	x = graph.Where(mask, x, theta)
	if f.cfg.Kind == Diagonal {
		var logSlope *graph.Node
		x, logSlope = f.tau.toBase(f.diagonal(ctx, theta, cond), x)
		logSlopes = append(logSlopes, active(mask, logSlope))
	} else {
		x = p.pack(x)
		if f.reversed() {
			x = p.reverse(x)
		}
		layers := f.layers(ctx, theta, cond)
		for i := len(layers) - 1; i >= 0; i-- {
			var logSlope *graph.Node
			x, logSlope = layers[i].toBase(p.active, x)
			logSlopes = append(logSlopes, logSlope)
			if i > 0 {
				x = p.reverse(x)
			}
		}
		x = p.unpack(x)
	}
	return graph.Where(mask, x, theta), total(logSlopes)
}

// reversed reports whether the reversals between layers leave the active slots in reverse order;
// one more then restores it, without which the flow would not start as the identity.
func (f *Flow) reversed() bool { return f.cfg.Layers%2 == 0 }

// layers returns the autoregressive layers, first applied to z first, in the graph and dtype of x.
func (f *Flow) layers(ctx *context.Context, x, cond *graph.Node) []layer {
	layers := make([]layer, f.cfg.Layers)
	for i := range layers {
		net := f.net.Bind(ctx.In(fmt.Sprintf("layer%d", i)), x.Graph(), x.DType(), cond)
		layers[i] = layer{tau: f.tau, net: net}
	}
	return layers
}

// condition returns what the layers are conditioned on: feats, encoded if the flow has an encoder;
// or nil.
func (f *Flow) condition(ctx *context.Context, feats *graph.Node, dtype dtypes.DType) *graph.Node {
	if f.cfg.Features == 0 {
		return nil
	}
	if feats.DType() != dtype {
		feats = graph.ConvertDType(feats, dtype)
	}
	return f.perceptron(ctx.In("encoder"), f.embed(ctx.In("embedding"), feats), f.cfg.Encoder)
}

// endMap is the affine map shift_i + exp(logScale_i)·x_i after the layers, one pair per coordinate
// in original order, free of the model. Both are [B, D] and start at zero.
type endMap struct{ shift, logScale *graph.Node }

func (f *Flow) endMap(ctx *context.Context, x *graph.Node) endMap {
	ctx = ctx.In("coordinates")
	vector := func(name string) *graph.Node {
		v := made.Variable(ctx, x.Graph(), f.cfg.Seed, name, x.DType(), made.Zeros, f.cfg.Dim)
		return graph.BroadcastToShape(graph.InsertAxes(v, 0), x.Shape())
	}
	return endMap{vector("shift"), vector("logscale")}
}

// total returns the sum [B] over coordinates and over terms, [B, D] each.
func total(terms []*graph.Node) *graph.Node {
	sum := terms[0]
	for _, t := range terms[1:] {
		sum = graph.Add(sum, t)
	}
	return graph.ReduceSum(sum, 1)
}

// check panics unless the inputs of a graph function called name have the promised shapes.
func (f *Flow) check(name string, mask, feats, x *graph.Node) {
	fail := func(what string, got *graph.Node, want string) {
		found := "nil"
		if got != nil {
			found = got.Shape().String()
		}
		panic(fmt.Errorf("cosmic: %s: %s must be %s, got %s", name, what, want, found))
	}
	has := func(n *graph.Node, dims ...int) bool {
		return n != nil && n.Rank() == 2 && n.Shape().Dim(0) == dims[0] && n.Shape().Dim(1) == dims[1]
	}
	if x == nil || x.Rank() != 2 || x.Shape().Dim(1) != f.cfg.Dim || (x.DType() != dtypes.Float32 && x.DType() != dtypes.Float64) {
		fail("z or theta", x, fmt.Sprintf("Float32 or Float64 [B, %d]", f.cfg.Dim))
	}
	batch := x.Shape().Dim(0)
	if !has(mask, batch, f.cfg.Dim) || mask.DType() != dtypes.Bool {
		fail("mask", mask, fmt.Sprintf("Bool [%d, %d]", batch, f.cfg.Dim))
	}
	if f.cfg.Features > 0 && !has(feats, batch, f.cfg.Features) {
		fail("feats", feats, fmt.Sprintf("[%d, %d]", batch, f.cfg.Features))
	}
}

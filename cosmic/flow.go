package cosmic

import (
	"fmt"
	"slices"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/ml/context"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/made"
	"github.com/transdim/vti/internal/memory"
)

// Flow is the conditional transport θ = T_φ(z | m) with weights φ. It holds the architecture; the
// weights are variables of the context passed to ToParams and ToBase, in the scope of that context.
type Flow struct {
	cfg Config
	tau univariate    // the map of one coordinate in each layer
	net *made.Network // the network of each layer; nil for Diagonal

	quadratic *quadratic   // H and b for each row, in place of Precision and Linear of cfg, or nil
	end       dtypes.DType // dtype of the anchor and of theta; if invalid, the dtype of z
	untrained bool         // whether only the anchor is evaluated
	larger    *Flow        // flow that contains this flow as a part, or nil
}

// Untrained returns the flow as it is before any training, when its layers are the identity. Only
// the anchor is evaluated.
func (f *Flow) Untrained() *Flow {
	anchor := *f
	anchor.untrained = true
	return &anchor
}

// EndingIn returns the flow with theta, logDet and the anchor in dtype, a wider type than the type
// of z and of the layers, which stays as it is. Use it if the data determine parameters to many
// digits, for example if counts are in the millions. Float32 is then too imprecise for theta, but
// precise enough for z. The result shares the variables of f.
func (f *Flow) EndingIn(dtype dtypes.DType) *Flow {
	wide := *f
	wide.end = dtype
	return &wide
}

// New checks cfg and returns the flow it describes.
func New(cfg Config) (*Flow, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	f := &Flow{cfg: cfg.WithDefaults(), tau: affine{}}
	if err := memory.Check(fmt.Sprintf("cosmic: a flow of %d layers of %d hidden units", f.cfg.Layers, f.cfg.Hidden), 4*f.cfg.Weights()); err != nil {
		return nil, err
	}
	if f.cfg.Placement != nil {
		larger, err := New(f.cfg.larger())
		f.larger = larger
		return f, err
	}
	activation := made.LeakyReLU
	switch f.cfg.Kind {
	case Diagonal:
		return f, nil
	case Spline:
		f.tau, activation = spline{bins: f.cfg.Bins}, made.ReLU
	}
	heads := apply.To(f.tau.outputs(), func(n int) []int { return slices.Repeat([]int{n}, f.cfg.Dim) })
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
// that the model of each row uses, feats [B, C] are its features (nil where Config.Features is 0).
// z [B, D] is Float32 or Float64 and sets the dtype of the results, unless EndingIn does. theta [B,
// D] equals z to the bit where mask is false, and logDet [B] = log |det ∂θ/∂z| over the active
// coordinates.
//
// Like every graph function, ToParams panics with an error if an input has a wrong shape or dtype.
func (f *Flow) ToParams(ctx *context.Context, mask, feats, z *graph.Node) (theta, logDet *graph.Node) {
	f.check("ToParams", mask, feats, z)
	theta, logDet = f.stages(ctx.Checked(false), newPacking(mask), mask, feats, z).toParams(z)
	return theta, graph.ConvertDType(logDet, theta.DType())
}

// ToBase inverts ToParams: it maps theta [B, D] to z [B, D] and returns the same logDet [B]. z has
// the dtype of theta, or is Float32 after EndingIn. Each layer evaluates its network Dim times,
// unrolled in the graph.
func (f *Flow) ToBase(ctx *context.Context, mask, feats, theta *graph.Node) (z, logDet *graph.Node) {
	f.check("ToBase", mask, feats, theta)
	like := theta // a node with the type of z
	if f.end != dtypes.InvalidDType {
		like = graph.ConvertDType(theta, dtypes.Float32)
	}
	z, logDet = f.stages(ctx.Checked(false), newPacking(mask), mask, feats, like).toBase(theta)
	return z, graph.ConvertDType(logDet, theta.DType())
}

// stages returns the maps of the flow for mask [B, D] and feats [B, C]. The argument p is the
// permutation that puts the active coordinates first.
func (f *Flow) stages(ctx *context.Context, p packing, mask, feats, x *graph.Node) (s stages) {
	if f.untrained {
		zero := graph.ZerosLike(x)
		s = stages{selected{mask, shiftAndScale{zero, zero}}}
	} else {
		s = f.trained(ctx, p, mask, feats, x)
	}
	last := x.DType()
	if f.end != dtypes.InvalidDType {
		s = append(s, converted{from: last, to: f.end})
		last = f.end
	}
	if a := f.anchor(ctx, mask, last); a != nil {
		s = append(s, selected{mask, a})
	}
	return s
}

// trained returns the stages that training changes. Before training their composition is the
// identity.
func (f *Flow) trained(ctx *context.Context, p packing, mask, feats, x *graph.Node) (s stages) {
	if f.larger != nil {
		return f.placed(ctx, mask, x)
	}
	cond := f.condition(ctx, feats, x.DType())
	end := f.endMap(ctx, x)
	if f.cfg.Kind == Diagonal {
		s = stages{selected{mask, elementwise{f.tau, f.diagonal(ctx, x, cond)}}}
	} else {
		s = stages{p.pack}
		for i := range f.cfg.Layers {
			if i > 0 {
				s = append(s, p.reverse)
			}
			s = append(s, f.layer(ctx, i, p.active, x, cond))
		}
		if f.cfg.Layers%2 == 0 { // an odd number of reversals so far; one more makes an untrained flow the identity
			s = append(s, p.reverse)
		}
		s = append(s, p.unpack)
	}
	return append(s, selected{mask, end})
}

// layer returns the i-th autoregressive layer in the graph and dtype of x. The argument active [B,
// D] marks the slots in use.
func (f *Flow) layer(ctx *context.Context, i int, active, x, cond *graph.Node) layer {
	return layer{tau: f.tau, net: f.net.Bind(ctx.In(fmt.Sprintf("layer%d", i)), x.Graph(), x.DType(), cond), active: active}
}

// condition returns the inputs that all layers share: feats, encoded if the flow has an encoder, or
// nil without features.
func (f *Flow) condition(ctx *context.Context, feats *graph.Node, dtype dtypes.DType) *graph.Node {
	if f.cfg.Features == 0 {
		return nil
	}
	if feats.DType() != dtype {
		feats = graph.ConvertDType(feats, dtype)
	}
	return f.perceptron(ctx.In("encoder"), f.embed(ctx.In("embedding"), feats), f.cfg.Encoder)
}

// endMap is the affine map after the layers, the same for all models; its parameters start at zero.
func (f *Flow) endMap(ctx *context.Context, x *graph.Node) shiftAndScale {
	ctx = ctx.In("coordinates")
	vector := func(name string) *graph.Node {
		v := made.Variable(ctx, x.Graph(), f.cfg.Seed, name, x.DType(), made.Zeros, f.cfg.Dim)
		return graph.BroadcastToShape(graph.InsertAxes(v, 0), x.Shape())
	}
	return shiftAndScale{vector("shift"), vector("logscale")}
}

// check panics unless the inputs of the named graph function have the documented shapes.
func (f *Flow) check(name string, mask, feats, x *graph.Node) {
	fail := func(input string, got *graph.Node, want string) {
		found := "nil"
		if got != nil {
			found = got.Shape().String()
		}
		panic(fmt.Errorf("cosmic: %s: %s must be %s, got %s", name, input, want, found))
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
	if f.cfg.Features > 0 && f.larger == nil && !has(feats, batch, f.cfg.Features) {
		fail("feats", feats, fmt.Sprintf("[%d, %d]", batch, f.cfg.Features))
	}
}

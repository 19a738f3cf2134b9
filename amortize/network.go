package amortize

import (
	"encoding/json"
	"fmt"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/gomlx/gomlx/pkg/ml/context"

	"github.com/transdim/vti"
	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/evaluate"
	"github.com/transdim/vti/modeldist"
	"github.com/transdim/vti/space"
)

const encoderScope = "encoder"

// Network is a network trained on a Family: q(m, θ | D) of any of its data sets in one pass.
// [Network.Beginning] opens it on one. Its methods are not safe for concurrent use.
type Network struct {
	graphs   evaluate.Graphs
	family   Family
	config   Config
	flow     *cosmic.Flow
	models   *modeldist.Autoregressive // nil where there is one model
	settings json.RawMessage
	step     int
	like     *Problem // sets the shapes of problems
	best     best
}

const bestScope = "best"

// best is the record of the best weights so far.
type best struct {
	inputs [][]any   // of the held-out batches
	losses []float64 // by problem, under the best weights
	start  float64   // mean loss of the network before any training
	step   int       // number of steps of the best weights
	last   float64   // mean loss of the last weights measured
}

// newNetwork makes a network without weights.
func newNetwork(device *gpu.Device, family Family, cfg Config, like *Problem) (*Network, error) {
	sp := family.Space()
	if err := like.check(like, sp, cfg.Objective != ReverseKL); err != nil {
		return nil, fmt.Errorf("simulated problem: %w", err)
	}
	a := &Network{graphs: evaluate.Graphs{Device: device, Variables: context.New().Checked(false)}, family: family, config: cfg, like: like}
	flow := cfg.Flow
	flow.Dim, flow.Features, flow.Seed = sp.Dim(), sp.Dim()+family.Width(), cfg.Seed
	var err error
	if a.flow, err = cosmic.New(flow); err != nil {
		return nil, err
	}
	if count, ok := space.CountCodes(sp.Cards()); !ok || count > 1 {
		if ok && like.LogMass != nil && len(like.LogMass) != count {
			return nil, fmt.Errorf("simulated problem: got %d approximate masses of models, want %d", len(like.LogMass), count)
		}
		if a.models, err = modeldist.NewAutoregressive(sp.Cards(), modeldist.AutoregressiveConfig{Hidden: cfg.Hidden, Context: family.Width(), Seed: cfg.Seed}); err != nil {
			return nil, err
		}
		if cfg.Objective != ForwardKL && cfg.Draws < 2 {
			return nil, fmt.Errorf("amortize.Config: got Draws %d, want at least 2 where there are several models", cfg.Draws)
		}
	}
	a.settings, err = json.Marshal(map[string]any{
		"family": family.Settings(), "flow": a.flow.Config(), "hidden": cfg.Hidden, "objective": cfg.Objective.String(), "steps": cfg.Steps,
		"batch": cfg.Batch, "draws": cfg.Draws, "learning_rate": cfg.LearningRate, "clip_norm": cfg.ClipNorm, "seed": cfg.Seed,
	})
	return a, err
}

// Steps is the number of training steps taken.
func (a *Network) Steps() int { return a.step }

// known holds the inputs of graphs about a batch of problems.
type known struct {
	data                       []*Node // [B, ...] in float32
	logMass, precision, linear *Node   // [R, M], [R, Q, D, D], [R, Q, D] in float64; nil: none
	// times is the number of rows per problem, B/R. Q is 1, or the number of models.
	times int
}

// batchOf returns the arrays of problems as inputs of known.
func (a *Network) batchOf(problems []*Problem) (inputs []any) {
	for i, array := range a.like.Data {
		values := make([]float32, 0, len(problems)*len(array.Values))
		for _, p := range problems {
			for _, v := range p.Data[i].Values {
				values = append(values, float32(v))
			}
		}
		inputs = append(inputs, tensors.FromFlatDataAndDimensions(values, append([]int{len(problems)}, array.Dims...)...))
	}
	add := func(valuesOf func(p *Problem) []float64, dims ...int) {
		if valuesOf(a.like) == nil {
			return
		}
		var values []float64
		for _, p := range problems {
			values = append(values, valuesOf(p)...)
		}
		inputs = append(inputs, tensors.FromFlatDataAndDimensions(values, append([]int{len(problems)}, dims...)...))
	}
	dim := a.family.Space().Dim()
	add(func(p *Problem) []float64 { return p.LogMass }, len(a.like.LogMass))
	quadratics := len(a.like.Linear) / dim
	add(func(p *Problem) []float64 { return p.Precision }, quadratics, dim, dim)
	add(func(p *Problem) []float64 { return p.Linear }, quadratics, dim)
	return inputs
}

// known reads the inputs of batchOf, and returns the inputs that follow.
func (a *Network) known(inputs []*Node) (k known, rest []*Node) {
	k.times = 1
	next := func() (input *Node) {
		input, inputs = inputs[0], inputs[1:]
		return input
	}
	for range a.like.Data {
		k.data = append(k.data, next())
	}
	if a.like.LogMass != nil {
		k.logMass = next()
	}
	if a.like.Precision != nil {
		k.precision, k.linear = next(), next()
	}
	return k, inputs
}

// repeated returns x [B, ...] with every row repeated in place.
func repeated(x *Node, times int) *Node {
	dims := x.Shape().Dimensions
	wide := BroadcastToDims(InsertAxes(x, 1), append([]int{dims[0], times}, dims[1:]...)...)
	return Reshape(wide, append([]int{dims[0] * times}, dims[1:]...)...)
}

// conditional is q(m, θ | D) in a graph, for the problems of a batch.
type conditional struct {
	*Network
	known
	ctx     *vti.Context
	context *Node // [B, C]
}

func (c conditional) repeated(times int) conditional {
	c.context, c.times = repeated(c.context, times), times
	data := c.data
	c.data = nil
	for _, x := range data {
		c.data = append(c.data, repeated(x, times))
	}
	return c
}

func (a *Network) conditional(ctx *vti.Context, k known) conditional {
	return conditional{a, k, ctx, a.family.Encode(ctx.In(encoderScope).Checked(false), k.data)}
}

// logModel is log q(m | D), [B] float64; zero for a single model.
func (c conditional) logModel(codes *Node) *Node {
	if c.models == nil {
		return Zeros(codes.Graph(), shapes.Make(dtypes.Float64, codes.Shape().Dim(0)))
	}
	return c.models.Given(c.context, c.logMass).LogProb(c.ctx.In(evaluate.ModelScope), codes)
}

// flowGiven returns the flow with the anchors of the problems, or of their models.
func (c conditional) flowGiven(codes *Node) *cosmic.Flow {
	if c.precision == nil {
		return c.flow
	}
	dims := c.linear.Shape().Dimensions
	rows, quadratics, dim := dims[0], dims[1], dims[2]
	index := MulScalar(DivScalar(Iota(codes.Graph(), shapes.Make(dtypes.Int32, codes.Shape().Dim(0), 1), 0), c.times), quadratics)
	if quadratics > 1 {
		index = Add(index, InsertAxes(space.Index(c.family.Space().Cards(), codes), -1))
	}
	precision := Gather(Reshape(c.precision, rows*quadratics, dim*dim), index)
	return c.flow.Given(Reshape(precision, -1, dim, dim), Gather(Reshape(c.linear, rows*quadratics, dim), index))
}

// logParameters is log q(θ | m, D) of theta [B, D]. [B]
func (c conditional) logParameters(codes, theta *Node) *Node {
	mask := c.family.Space().Mask(codes)
	z, logDet := c.flowGiven(codes).ToBase(c.ctx.In(evaluate.FlowScope), mask, cosmic.MaskFeatures(mask, c.context, theta.DType()), theta)
	return evaluate.LogConditional(mask, z, logDet)
}

// push maps z [B, D] to θ [B, D], with log q(θ | m, D) and log p(y, θ | m) [B].
func (c conditional) push(codes, z *Node) (theta, logQ, logJoint *Node) {
	mask := c.family.Space().Mask(codes)
	theta, logDet := c.flowGiven(codes).ToParams(c.ctx.In(evaluate.FlowScope), mask, cosmic.MaskFeatures(mask, c.context, z.DType()), z)
	return theta, evaluate.LogConditional(mask, z, logDet), c.family.LogJoint(c.data, codes, mask, theta)
}

// sample draws models [B, S] from q(m | D).
func (c conditional) sample(uniforms *Node) *Node {
	if c.models == nil {
		return Zeros(uniforms.Graph(), shapes.Make(dtypes.Int32, uniforms.Shape().Dimensions...))
	}
	return c.models.Given(c.context, c.logMass).Sample(c.ctx.In(evaluate.ModelScope), uniforms)
}

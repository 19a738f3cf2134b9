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
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/evaluate"
	"github.com/transdim/vti/modeldist"
	"github.com/transdim/vti/space"
)

const encoderScope = "encoder"

// Network is a network trained on a Family. It computes q(m, θ | D) for any data set D of the
// family in one pass. [Network.Beginning] returns its answer for a data set. Its methods are not
// safe for concurrent use.
type Network struct {
	graphs   evaluate.Graphs
	family   Family
	config   Config
	flow     *cosmic.Flow
	models   *modeldist.Autoregressive // q(m | D); nil if there is only one model
	settings json.RawMessage
	step     int
	like     *Problem // a problem with the shapes that all problems must have
	best     best
}

const bestScope = "best"

// best describes the best weights so far, which are variables in the scope bestScope.
type best struct {
	inputs [][]any   // inputs of the graph for each held-out batch
	losses []float64 // loss of each held-out problem with the best weights
	start  float64   // mean loss over held-out problems before any training
	step   int       // number of training steps after which the best weights were reached
	last   float64   // mean loss over held-out problems at the last measurement
}

// newNetwork returns a network without weights.
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

// Steps returns the number of training steps taken.
func (a *Network) Steps() int { return a.step }

// known holds, as nodes of a computation graph, the data and the approximations of a batch of R
// problems. B is the number of rows of the arrays in data, and M the number of models.
type known struct {
	data                       []*Node // [B, ...] in float32
	logMass, precision, linear *Node   // [R, M], [R, Q, D, D], [R, Q, D] in float64; nil if the problems have none
	// times is the number of rows of each problem, B/R. Q, the number of quadratic approximations
	// of a problem, is 1 or M.
	times int
}

// batchOf returns the arrays of problems as inputs of a graph, in the order in which the method
// known reads them.
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

// known returns the inputs that batchOf has made, as k, and all inputs that follow them, as rest.
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

// repeated returns x [B, ...] with each row repeated the given number of times in succession.
func repeated(x *Node, times int) *Node {
	dims := x.Shape().Dimensions
	wide := BroadcastToDims(InsertAxes(x, 1), append([]int{dims[0], times}, dims[1:]...)...)
	return Reshape(wide, append([]int{dims[0] * times}, dims[1:]...)...)
}

// conditional is q(m, θ | D) in a computation graph, for the problems of a batch.
type conditional struct {
	*Network
	known
	ctx     *vti.Context
	context *Node // [B, C]
}

func (c conditional) repeated(times int) conditional {
	c.context, c.times = repeated(c.context, times), times
	c.data = apply.To(c.data, func(x *Node) *Node { return repeated(x, times) })
	return c
}

func (a *Network) conditional(ctx *vti.Context, k known) conditional {
	return conditional{a, k, ctx, a.family.Encode(ctx.In(encoderScope).Checked(false), k.data)}
}

// logModel returns log q(m | D) of codes, [B] float64. It is zero if there is only one model.
func (c conditional) logModel(codes *Node) *Node {
	if c.models == nil {
		return Zeros(codes.Graph(), shapes.Make(dtypes.Float64, codes.Shape().Dim(0)))
	}
	return c.models.Given(c.context, c.logMass).LogProb(c.ctx.In(evaluate.ModelScope), codes)
}

// flowGiven returns the flow that starts from the quadratic approximation of each problem. If each
// model has a separate approximation, row b starts from the approximation of the model in row b of
// codes.
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

// logParameters returns log q(θ | m, D) [B] of theta [B, D].
func (c conditional) logParameters(codes, theta *Node) *Node {
	mask := c.family.Space().Mask(codes)
	z, logDet := c.flowGiven(codes).ToBase(c.ctx.In(evaluate.FlowScope), mask, cosmic.MaskFeatures(mask, c.context, theta.DType()), theta)
	return evaluate.LogConditional(mask, z, logDet)
}

// push maps reference draws z [B, D] to θ [B, D], and returns log q(θ | m, D) [B] and log p(D, θ |
// m) [B].
func (c conditional) push(codes, z *Node) (theta, logQ, logJoint *Node) {
	mask := c.family.Space().Mask(codes)
	theta, logDet := c.flowGiven(codes).ToParams(c.ctx.In(evaluate.FlowScope), mask, cosmic.MaskFeatures(mask, c.context, z.DType()), z)
	return theta, evaluate.LogConditional(mask, z, logDet), c.family.LogJoint(c.data, codes, mask, theta)
}

// sample maps uniforms [B, S] to draws of models [B, S] from q(m | D).
func (c conditional) sample(uniforms *Node) *Node {
	if c.models == nil {
		return Zeros(uniforms.Graph(), shapes.Make(dtypes.Int32, uniforms.Shape().Dimensions...))
	}
	return c.models.Given(c.context, c.logMass).Sample(c.ctx.In(evaluate.ModelScope), uniforms)
}

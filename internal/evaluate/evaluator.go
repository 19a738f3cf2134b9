package evaluate

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/gomlx/gomlx/pkg/ml/context"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/space"
)

// Evaluator evaluates a target density of models m and parameters θ, and an approximation q(m) q(θ
// | m) of it. Only training changes the variables of the approximation.
type Evaluator struct {
	Graphs
	Target    Target
	Flow      Flow
	Models    ModelDistribution
	DType     dtypes.DType // type of the flow and the target
	Batch     int          // number of models that a graph evaluates at once
	Seed      uint64
	Untrained bool // whether only the flow's anchor, an affine map, is used
	// NoQuadratics makes the flow ignore the quadratic approximations of the log density of each
	// model, if the target has them.
	NoQuadratics bool
	// Deferred, if not nil, is a change of q(m) that was put off. It is made, once, before q(m) is
	// used.
	Deferred func() error
}

// MakeDeferred makes the deferred change of q(m), if there is one.
func (e *Evaluator) MakeDeferred() error {
	deferred := e.Deferred
	if deferred == nil {
		return nil
	}
	e.Deferred = nil
	return deferred()
}

// Sizes returns the number of rows of a batch, the number of integers that describe a model, and
// the number of coordinates of its parameters.
func (e *Evaluator) Sizes() (batch, sites, dim int) {
	sp := e.Target.Space()
	return e.Batch, len(sp.Cards()), sp.Dim()
}

// Random returns a stream of random numbers for a name. Streams of different names are independent.
func (e *Evaluator) Random(name string) *rand.Rand { return stream.Rand(e.Seed, name) }

// Run executes a graph on the variables of the evaluator.
func (e *Evaluator) Run(name string, graphFn any, args ...any) ([]*tensors.Tensor, error) {
	if e.Untrained {
		name = "untrained " + name
	}
	outputs, err := e.Graphs.Run(name, graphFn, args...)
	return outputs, e.Explain(err)
}

// Explain adds the batch size that would fit into memory to an error, if the error is about memory.
func (e *Evaluator) Explain(err error) error {
	var failure *gpu.Failure
	if !errors.As(err, &failure) || !failure.OutOfMemory {
		return err
	}
	if fits := failure.Fits(e.Batch); fits > 0 {
		return fmt.Errorf("%w\na batch of %d draws is too large for the memory there is; one of %d should fit", err, e.Batch, fits)
	}
	return err
}

// DrawCodes draws one batch of models from q(m), as codes [B*S].
func (e *Evaluator) DrawCodes(random *rand.Rand) ([]int32, error) {
	return e.DrawCodesFrom("draw", e.Models, random)
}

// DrawCodesFrom draws one batch of codes [B*S] from the distribution models. The argument name
// identifies its graph.
func (e *Evaluator) DrawCodesFrom(name string, models ModelDistribution, random *rand.Rand) ([]int32, error) {
	if err := e.MakeDeferred(); err != nil {
		return nil, err
	}
	batch, sites, _ := e.Sizes()
	uniforms := apply.UpTo(batch*sites, func(int) float64 { return random.Float64() })
	outputs, err := e.Run(name, func(ctx *context.Context, uniforms *Node) []*Node {
		return []*Node{models.Sample(ctx.In(ModelScope), uniforms)}
	}, tensors.FromFlatDataAndDimensions(uniforms, batch, sites))
	if err != nil {
		return nil, err
	}
	return tensors.MustCopyFlatData[int32](outputs[0]), nil
}

// LogPrior evaluates log p(m) of each code.
func (e *Evaluator) LogPrior(codes [][]int32) ([]float64, error) {
	return e.OverCodes("prior", codes, func(_ *context.Context, codes *Node) []*Node {
		return []*Node{Float64(LogPrior(e.Target, codes))}
	})
}

// LogModel evaluates log q(m) of each code.
func (e *Evaluator) LogModel(codes [][]int32) ([]float64, error) {
	return e.LogModelOf("models", e.Models, codes)
}

// LogModelOf evaluates the log probability of each code under the given distribution. The argument
// name identifies its graph.
func (e *Evaluator) LogModelOf(name string, distribution ModelDistribution, codes [][]int32) ([]float64, error) {
	if err := e.MakeDeferred(); err != nil {
		return nil, err
	}
	return e.OverCodes(name, codes, func(ctx *context.Context, codes *Node) []*Node {
		return []*Node{Float64(distribution.LogProb(ctx.In(ModelScope), codes))}
	})
}

// fewCodes is the number of rows of the graphs for few codes, such as the models that one step of
// Markov chains over models proposes.
const fewCodes = 64

// batchOf returns how many of the remaining models the next batch holds, and the rows of its graph.
func (e *Evaluator) batchOf(remaining int) (codes, rows int) {
	batch, _, _ := e.Sizes()
	few := fewCodes
	if grouped, ok := e.Models.(interface{ Rows() int }); ok { // round up to whole groups
		few = (few + grouped.Rows() - 1) / grouped.Rows() * grouped.Rows()
	}
	if remaining <= few {
		batch = min(batch, few)
	}
	return min(batch, remaining), batch
}

// OverCodes evaluates a function of models, batch by batch. The argument name identifies its graph.
func (e *Evaluator) OverCodes(name string, codes [][]int32, graphFn func(*context.Context, *Node) []*Node) ([]float64, error) {
	return e.overRows(name, codes, nil, graphFn)
}

// overRows is OverCodes for a function of codes and, unless theta is nil, of the corresponding rows
// of theta [n,D].
func (e *Evaluator) overRows(name string, codes [][]int32, theta *mat.Dense, graphFn any) ([]float64, error) {
	most, sites, dim := e.Sizes()
	values := make([]float64, 0, len(codes))
	for start := 0; start < len(codes); start += most {
		rows, batch := e.batchOf(len(codes) - start)
		flat := make([]int32, batch*sites)
		for i := range rows {
			copy(flat[i*sites:], codes[start+i])
		}
		inputs := []any{tensors.FromFlatDataAndDimensions(flat, batch, sites)}
		if theta != nil {
			flatTheta := make([]float64, batch*dim)
			for i := range rows {
				copy(flatTheta[i*dim:], theta.RawRowView(start+i))
			}
			inputs = append(inputs, tensors.FromFlatDataAndDimensions(flatTheta, batch, dim))
		}
		outputs, err := e.Run(name, graphFn, inputs...)
		if err != nil {
			return nil, err
		}
		values = append(values, tensors.MustCopyFlatData[float64](outputs[0])[:rows]...)
	}
	return values, nil
}

// Pushed holds parameters drawn from the flow, with their densities.
type Pushed struct {
	Theta    []float64 // [B*D], 0 where inactive
	LogQ     []float64 // log q(θ | m) [B]
	LogJoint []float64 // log η(θ | m) [B]
	Noise    []float64 // z, 0 where inactive [B*D]
	Active   []float64 // number of active coordinates [B]
}

// Push maps one batch of standard normal draws z [B*D] for the models in codes [B*S] through the
// flow. At the resulting θ it evaluates log q(θ | m) and log η(θ | m) = log p(y, θ | m). The last
// stage of the flow and the densities are computed in float64: sums over rows of a table in float32
// have errors that would distort the importance weights.
func (e *Evaluator) Push(codes []int32, z []float64) (Pushed, error) {
	batch, sites, dim := e.Sizes()
	outputs, err := e.Run("push", func(ctx *context.Context, codes, z *Node) []*Node {
		mask := e.Target.Space().Mask(codes)
		theta, logQ, logJoint := e.PushGraph(ctx, codes, mask, ConvertDType(z, e.DType), dtypes.Float64)
		theta = Where(mask, theta, ZerosLike(theta))
		used := ConvertDType(mask, dtypes.Float64)
		return []*Node{Float64(theta), Float64(logQ), Float64(logJoint), Mul(used, z), ReduceSum(used, -1)}
	}, tensors.FromFlatDataAndDimensions(codes, batch, sites), tensors.FromFlatDataAndDimensions(z, batch, dim))
	if err != nil {
		return Pushed{}, err
	}
	return Pushed{
		Theta:    tensors.MustCopyFlatData[float64](outputs[0]),
		LogQ:     tensors.MustCopyFlatData[float64](outputs[1]),
		LogJoint: tensors.MustCopyFlatData[float64](outputs[2]),
		Noise:    tensors.MustCopyFlatData[float64](outputs[3]),
		Active:   tensors.MustCopyFlatData[float64](outputs[4]),
	}, nil
}

// Pull maps parameters theta [B*D] back through the flow to z, and evaluates log q(θ | m) and log
// η(θ | m) = log p(y, θ | m) at theta.
func (e *Evaluator) Pull(codes []int32, theta []float64) (Pushed, error) {
	batch, sites, dim := e.Sizes()
	outputs, err := e.Run("pull", func(ctx *context.Context, codes, theta *Node) []*Node {
		mask := e.Target.Space().Mask(codes)
		z, logDet := e.FlowOf(codes, mask, dtypes.Float64).ToBase(ctx.In(FlowScope), mask, e.Features(codes), theta)
		z = Float64(z)
		used := ConvertDType(mask, dtypes.Float64)
		return []*Node{LogConditional(mask, z, logDet), LogJoint(e.Target, codes, mask, theta), Mul(used, z), ReduceSum(used, -1)}
	}, tensors.FromFlatDataAndDimensions(codes, batch, sites), tensors.FromFlatDataAndDimensions(theta, batch, dim))
	if err != nil {
		return Pushed{}, err
	}
	return Pushed{
		Theta:    slices.Clone(theta),
		LogQ:     tensors.MustCopyFlatData[float64](outputs[0]),
		LogJoint: tensors.MustCopyFlatData[float64](outputs[1]),
		Noise:    tensors.MustCopyFlatData[float64](outputs[2]),
		Active:   tensors.MustCopyFlatData[float64](outputs[3]),
	}, nil
}

// PushGraph maps z [B,D] through the flow. It returns θ [B,D], log q(θ | m) [B] and log η(θ | m) =
// log p(y, θ | m) [B], all of type dtype. Training uses the dtype of z, and certification Float64.
func (e *Evaluator) PushGraph(ctx *context.Context, codes, mask, z *Node, dtype dtypes.DType) (theta, logQ, logJoint *Node) {
	theta, logDet := e.FlowOf(codes, mask, dtype).ToParams(ctx.In(FlowScope), mask, e.Features(codes), z)
	return theta, LogConditional(mask, ConvertDType(z, dtype), logDet), LogJoint(e.Target, codes, mask, theta)
}

// LogProb returns log q(m) + log q(θ | m) for each code and the corresponding row of theta [n,D].
func (e *Evaluator) LogProb(codes [][]int32, theta *mat.Dense) ([]float64, error) {
	if err := e.MakeDeferred(); err != nil {
		return nil, err
	}
	return e.overRows("density", codes, theta, func(ctx *context.Context, codes, theta *Node) []*Node {
		return []*Node{e.DensityGraph(ctx, codes, theta)}
	})
}

// DensityGraph returns log q(m) + log q(θ | m) [B] in float64 for codes [B,S] and theta [B,D].
func (e *Evaluator) DensityGraph(ctx *context.Context, codes, theta *Node) *Node {
	mask := e.Target.Space().Mask(codes)
	z, logDet := e.FlowOf(codes, mask, dtypes.Float64).ToBase(ctx.In(FlowScope), mask, e.Features(codes), theta)
	return Add(e.Models.LogProb(ctx.In(ModelScope), codes), LogConditional(mask, Float64(z), logDet))
}

// typed is a flow that computes in a fixed type, whatever the type of its input.
type typed struct {
	Flow
	dtype dtypes.DType
}

func (t typed) ToParams(ctx *context.Context, mask, feats, z *Node) (theta, logDet *Node) {
	return t.Flow.ToParams(ctx, mask, ConvertDType(feats, t.dtype), ConvertDType(z, t.dtype))
}

func (t typed) ToBase(ctx *context.Context, mask, feats, theta *Node) (z, logDet *Node) {
	return t.Flow.ToBase(ctx, mask, ConvertDType(feats, t.dtype), ConvertDType(theta, t.dtype))
}

// Features returns the C numbers that describe each model to the flow [B,C], in the flow's type.
func (e *Evaluator) Features(codes *Node) *Node {
	return space.Features(e.Target.Space(), codes, e.DType)
}

// FlowOf returns the flow for the models of one batch. A flow of package cosmic gets an anchor that
// computes in dtype and, if the target has one, the quadratic approximation of the log density of
// each model. Any other flow computes in dtype as a whole.
func (e *Evaluator) FlowOf(codes, mask *Node, dtype dtypes.DType) Flow {
	flow, ok := e.Flow.(*cosmic.Flow)
	if !ok {
		return typed{e.Flow, dtype}
	}
	if e.Untrained {
		flow = flow.Untrained()
	}
	if dtype != e.DType {
		flow = flow.EndingIn(dtype)
	}
	// A part of a larger flow has the kind of anchor with which the larger flow was trained.
	placement := flow.Config().Placement
	if quadratic, ok := e.Target.(quadraticTarget); ok && !e.NoQuadratics && (placement == nil || placement.Given) {
		flow = flow.Given(quadratic.Quadratic(codes, mask, dtype))
	}
	return flow
}

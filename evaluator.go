package vti

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/gomlx/gomlx/pkg/ml/context"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/internal/train"
	"github.com/transdim/vti/shard"
	"github.com/transdim/vti/space"
)

// Scopes of the variables that an evaluation reads.
const (
	flowScope  = "flow"
	modelScope = "models"
)

// evaluator evaluates a target and an approximation q(m) q(θ | m) of it, batch by batch, on a
// device. Training, pilot runs and certification all take one; only training changes its variables.
type evaluator struct {
	device    *gpu.Device
	target    Target
	flow      *cosmic.Flow
	models    ModelDistribution
	variables *context.Context
	dtype     dtypes.DType // of the flow and the target
	batch     int          // rows of every graph
	seed      uint64
	untrained bool         // the flow is its anchor alone
	shard     *shard.Shard // the part of this process in a certificate; nil: all of it

	compiled map[string]*context.Exec
	known    *keptEvidences // of models, which are found once; nil before the first
	chains   *keptChains    // over models; nil before the first certificate that has them
	summed   *ModelSum      // of a SummedTarget; nil before the first
	joint    foundJoint
}

// sizes are the rows of a batch, the sites of a code and the coordinates of theta.
func (e *evaluator) sizes() (batch, sites, dim int) {
	sp := e.target.Space()
	return e.batch, len(sp.Cards()), sp.Dim()
}

// random is a stream of random numbers of its own for every name.
func (e *evaluator) random(name string) *rand.Rand { return stream.Rand(e.seed, name) }

// run executes a graph over the variables, compiling it the first time its name is used.
func (e *evaluator) run(name string, graphFn any, args ...any) ([]*tensors.Tensor, error) {
	if e.untrained {
		name = "untrained " + name
	}
	exec, ok := e.compiled[name]
	if !ok {
		var err error
		if exec, err = context.NewExecAny(e.device.Backend(), e.variables, graphFn); err != nil {
			return nil, err
		}
		if e.compiled == nil {
			e.compiled = map[string]*context.Exec{}
		}
		e.compiled[name] = exec
	}
	outputs, err := train.Call(func() ([]*tensors.Tensor, error) { return exec.Exec(args...) })
	return outputs, e.explain(err)
}

// explain adds to an error about memory which batch would fit.
func (e *evaluator) explain(err error) error {
	var failure *gpu.Failure
	if !errors.As(err, &failure) || !failure.OutOfMemory {
		return err
	}
	if fits := failure.Fits(e.batch); fits > 0 {
		return fmt.Errorf("%w\na batch of %d draws is too large for the memory there is; one of %d should fit", err, e.batch, fits)
	}
	return err
}

// drawCodes draws one batch of models [B*S] from q(m).
func (e *evaluator) drawCodes(random *rand.Rand) ([]int32, error) {
	return e.drawCodesFrom("draw", e.models, random)
}

// drawCodesFrom draws one batch of models [B*S] from a distribution with a name of its own.
func (e *evaluator) drawCodesFrom(name string, models ModelDistribution, random *rand.Rand) ([]int32, error) {
	batch, sites, _ := e.sizes()
	uniforms := make([]float64, batch*sites)
	for i := range uniforms {
		uniforms[i] = random.Float64()
	}
	outputs, err := e.run(name, func(ctx *Context, uniforms *Node) []*Node {
		return []*Node{models.Sample(ctx.In(modelScope), uniforms)}
	}, tensors.FromFlatDataAndDimensions(uniforms, batch, sites))
	if err != nil {
		return nil, err
	}
	return tensors.MustCopyFlatData[int32](outputs[0]), nil
}

// logPrior evaluates log p(m) of each code.
func (e *evaluator) logPrior(codes [][]int32) ([]float64, error) {
	return e.overCodes("prior", codes, func(_ *Context, codes *Node) []*Node {
		return []*Node{toFloat64(logPriorOf(e.target, codes))}
	})
}

// logModel evaluates log q(m) of each code.
func (e *evaluator) logModel(codes [][]int32) ([]float64, error) {
	return e.logModelOf("models", e.models, codes)
}

// logModelOf evaluates the log density of a distribution with a name of its own.
func (e *evaluator) logModelOf(name string, distribution ModelDistribution, codes [][]int32) ([]float64, error) {
	return e.overCodes(name, codes, func(ctx *Context, codes *Node) []*Node {
		return []*Node{toFloat64(distribution.LogProb(ctx.In(modelScope), codes))}
	})
}

// overCodes evaluates a function of codes, batch by batch.
func (e *evaluator) overCodes(name string, codes [][]int32, graphFn func(*Context, *Node) []*Node) ([]float64, error) {
	batch, sites, _ := e.sizes()
	values := make([]float64, 0, len(codes))
	for start := 0; start < len(codes); start += batch {
		rows, flat := min(batch, len(codes)-start), make([]int32, batch*sites)
		for i := range rows {
			copy(flat[i*sites:], codes[start+i])
		}
		outputs, err := e.run(name, graphFn, tensors.FromFlatDataAndDimensions(flat, batch, sites))
		if err != nil {
			return nil, err
		}
		values = append(values, tensors.MustCopyFlatData[float64](outputs[0])[:rows]...)
	}
	return values, nil
}

// pushed are parameters drawn from the flow, with their densities.
type pushed struct {
	theta    []float64 // [B*D], 0 where inactive
	logQ     []float64 // log q(θ | m) [B]
	logJoint []float64 // log η(θ | m) [B]
	squares  []float64 // Σ z² over active coordinates [B]
	active   []float64 // number of active coordinates [B]
}

// push maps one batch of reference draws z [B*D] under codes [B*S] through the flow and evaluates
// both densities, in float64 from the last stage of the flow on: sums over rows of a table in
// float32 have errors that weights would take for evidence.
func (e *evaluator) push(codes []int32, z []float64) (pushed, error) {
	batch, sites, dim := e.sizes()
	outputs, err := e.run("push", func(ctx *Context, codes, z *Node) []*Node {
		mask := e.target.Space().Mask(codes)
		theta, logQ, logJoint := e.pushGraph(ctx, codes, mask, ConvertDType(z, e.dtype), dtypes.Float64)
		theta = Where(mask, theta, ZerosLike(theta))
		used := ConvertDType(mask, dtypes.Float64)
		return []*Node{toFloat64(theta), toFloat64(logQ), toFloat64(logJoint), ReduceSum(Mul(used, Square(z)), -1), ReduceSum(used, -1)}
	}, tensors.FromFlatDataAndDimensions(codes, batch, sites), tensors.FromFlatDataAndDimensions(z, batch, dim))
	if err != nil {
		return pushed{}, err
	}
	return pushed{
		theta:    tensors.MustCopyFlatData[float64](outputs[0]),
		logQ:     tensors.MustCopyFlatData[float64](outputs[1]),
		logJoint: tensors.MustCopyFlatData[float64](outputs[2]),
		squares:  tensors.MustCopyFlatData[float64](outputs[3]),
		active:   tensors.MustCopyFlatData[float64](outputs[4]),
	}, nil
}

// pull is push for given parameters theta [B*D]: it maps them back to the reference. Both densities
// and the squares are those at theta.
func (e *evaluator) pull(codes []int32, theta []float64) (pushed, error) {
	batch, sites, dim := e.sizes()
	outputs, err := e.run("pull", func(ctx *Context, codes, theta *Node) []*Node {
		mask := e.target.Space().Mask(codes)
		z, logDet := e.flowOf(codes, mask, dtypes.Float64).ToBase(ctx.In(flowScope), mask, e.features(codes), theta)
		z = toFloat64(z)
		used := ConvertDType(mask, dtypes.Float64)
		return []*Node{logConditional(mask, z, logDet), logJointOf(e.target, codes, mask, theta), ReduceSum(Mul(used, Square(z)), -1), ReduceSum(used, -1)}
	}, tensors.FromFlatDataAndDimensions(codes, batch, sites), tensors.FromFlatDataAndDimensions(theta, batch, dim))
	if err != nil {
		return pushed{}, err
	}
	return pushed{
		theta:    slices.Clone(theta),
		logQ:     tensors.MustCopyFlatData[float64](outputs[0]),
		logJoint: tensors.MustCopyFlatData[float64](outputs[1]),
		squares:  tensors.MustCopyFlatData[float64](outputs[2]),
		active:   tensors.MustCopyFlatData[float64](outputs[3]),
	}, nil
}

// pushGraph maps z [B,D] through the flow: θ [B,D], log q(θ | m) [B] and log η(θ | m) [B], all of
// dtype: that of z in training, Float64 where densities certify.
func (e *evaluator) pushGraph(ctx *Context, codes, mask, z *Node, dtype dtypes.DType) (theta, logQ, logJoint *Node) {
	theta, logDet := e.flowOf(codes, mask, dtype).ToParams(ctx.In(flowScope), mask, e.features(codes), z)
	return theta, logConditional(mask, ConvertDType(z, dtype), logDet), logJointOf(e.target, codes, mask, theta)
}

// logProb is log q(m) + log q(θ | m) of each row: a code and a row of theta [n,D].
func (e *evaluator) logProb(codes [][]int32, theta *mat.Dense) ([]float64, error) {
	batch, sites, dim := e.sizes()
	logQ := make([]float64, 0, len(codes))
	for start := 0; start < len(codes); start += batch {
		rows, flatCodes, flatTheta := min(batch, len(codes)-start), make([]int32, batch*sites), make([]float64, batch*dim)
		for i := range rows {
			copy(flatCodes[i*sites:], codes[start+i])
			copy(flatTheta[i*dim:], theta.RawRowView(start+i))
		}
		outputs, err := e.run("density", func(ctx *Context, codes, theta *Node) []*Node {
			return []*Node{e.densityGraph(ctx, codes, theta)}
		}, tensors.FromFlatDataAndDimensions(flatCodes, batch, sites), tensors.FromFlatDataAndDimensions(flatTheta, batch, dim))
		if err != nil {
			return nil, err
		}
		logQ = append(logQ, tensors.MustCopyFlatData[float64](outputs[0])[:rows]...)
	}
	return logQ, nil
}

// densityGraph is log q(m) + log q(θ | m) of codes [B,S] and theta [B,D] as float64. [B]
func (e *evaluator) densityGraph(ctx *Context, codes, theta *Node) *Node {
	mask := e.target.Space().Mask(codes)
	z, logDet := e.flowOf(codes, mask, dtypes.Float64).ToBase(ctx.In(flowScope), mask, e.features(codes), theta)
	return Add(e.models.LogProb(ctx.In(modelScope), codes), logConditional(mask, toFloat64(z), logDet))
}

// features are those of the models, in the type of the flow. [B,C]
func (e *evaluator) features(codes *Node) *Node {
	return space.Features(e.target.Space(), codes, e.dtype)
}

// flowOf is the flow as it is for the models of one batch: with the quadratics of the target, if it
// has them, and with an anchor of dtype.
func (e *evaluator) flowOf(codes, mask *Node, dtype dtypes.DType) *cosmic.Flow {
	flow := e.flow
	if e.untrained {
		flow = flow.Untrained()
	}
	if dtype != e.dtype {
		flow = flow.EndingIn(dtype)
	}
	// a flow that is part of a larger one has the anchor that it was trained with
	placement := flow.Config().Placement
	if quadratic, ok := e.target.(QuadraticTarget); ok && (placement == nil || placement.Given) {
		flow = flow.Given(quadratic.Quadratic(codes, mask, dtype))
	}
	return flow
}

// logConditional is log q(θ | m) = Σ_active log N(z; 0, 1) − logDet (eq. 5, active part). [B]
func logConditional(mask, z, logDet *Node) *Node {
	logNormal := AddScalar(MulScalar(Square(z), -0.5), -0.5*math.Log(2*math.Pi))
	return Sub(ReduceSum(Where(mask, logNormal, ZerosLike(z)), -1), logDet)
}

// toFloat64 converts to the type of densities that are compared or summed over models.
func toFloat64(x *Node) *Node { return ConvertDType(x, dtypes.Float64) }

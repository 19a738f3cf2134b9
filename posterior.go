package vti

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/gomlx/gomlx/pkg/ml/context"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/internal/train"
	"github.com/transdim/vti/space"
)

// Posterior is a trained q(m) q(θ | m) together with the target it approximates. Its methods are
// not safe for use by several goroutines at once.
type Posterior struct {
	device    *gpu.Device
	target    Target
	config    Config
	settings  json.RawMessage
	flow      *cosmic.Flow
	variables *context.Context
	step      int

	compiled map[string]*context.Exec
}

// Steps is the number of training steps behind the posterior.
func (p *Posterior) Steps() int { return p.step }

// Weights is the number of weights that training moves.
func (p *Posterior) Weights() int {
	count := 0
	for variable := range p.variables.IterVariables() {
		if variable.Trainable && (strings.HasPrefix(variable.Scope(), "/"+flowScope) || strings.HasPrefix(variable.Scope(), "/"+modelScope)) {
			count += variable.Shape().Size()
		}
	}
	return count
}

// Target is the posterior density that was approximated.
func (p *Posterior) Target() Target { return p.target }

// Sample draws n models and their parameters from q, with the seed of the configuration and the
// stream name given: another name gives independent draws. An inactive coordinate of theta [n,D] is
// 0. logQ[i] = log q(m_i) + log q(θ_i | m_i).
func (p *Posterior) Sample(n int, name string) (codes [][]int32, theta *mat.Dense, logQ []float64, err error) {
	sites, dim, batch := len(p.target.Space().Cards()), p.target.Space().Dim(), p.config.Batch
	theta = mat.NewDense(max(n, 1), dim, nil)
	for start := 0; start < n; start += batch {
		random := stream.Rand(p.config.Seed, fmt.Sprintf("sample/%s/%d", name, start/batch))
		batchCodes, err := p.drawCodes(random)
		if err != nil {
			return nil, nil, nil, err
		}
		z := make([]float64, batch*dim)
		for i := range z {
			z[i] = random.NormFloat64()
		}
		draws, err := p.push(batchCodes, z)
		if err != nil {
			return nil, nil, nil, err
		}
		rows := make([]ModelEstimate, min(batch, n-start))
		for i := range rows {
			rows[i].Code = batchCodes[i*sites : (i+1)*sites : (i+1)*sites]
			theta.SetRow(start+i, draws.theta[i*dim:(i+1)*dim])
		}
		logModel, err := p.logModel(rows)
		if err != nil {
			return nil, nil, nil, err
		}
		for i, row := range rows {
			codes = append(codes, row.Code)
			logQ = append(logQ, logModel[i]+draws.logQ[i])
		}
	}
	return codes, theta, logQ, nil
}

// drawCodes draws one batch of models [B*S] from q(m).
func (p *Posterior) drawCodes(random *rand.Rand) ([]int32, error) {
	return p.drawCodesFrom("draw", p.config.Models, random)
}

// drawCodesFrom draws one batch of models [B*S] from a distribution with a name of its own.
func (p *Posterior) drawCodesFrom(name string, models ModelDistribution, random *rand.Rand) ([]int32, error) {
	sites, batch := len(p.target.Space().Cards()), p.config.Batch
	uniforms := make([]float64, batch*sites)
	for i := range uniforms {
		uniforms[i] = random.Float64()
	}
	outputs, err := p.run(name, func(ctx *Context, uniforms *Node) []*Node {
		return []*Node{models.Sample(ctx.In(modelScope), uniforms)}
	}, tensors.FromFlatDataAndDimensions(uniforms, batch, sites))
	if err != nil {
		return nil, err
	}
	return tensors.MustCopyFlatData[int32](outputs[0]), nil
}

// LogProb is log q(m) + log q(θ | m) of each row: codes[i] is a model and row i of theta [n,D] its
// saturated parameters, of which the inactive ones are ignored.
func (p *Posterior) LogProb(codes [][]int32, theta *mat.Dense) ([]float64, error) {
	sites, dim, batch := len(p.target.Space().Cards()), p.target.Space().Dim(), p.config.Batch
	rows, columns := theta.Dims()
	if rows != len(codes) || columns != dim {
		return nil, fmt.Errorf("vti.LogProb: expected theta of %d rows (one per code) and %d columns, found %d and %d", len(codes), dim, rows, columns)
	}
	logQ := make([]float64, 0, rows)
	for start := 0; start < rows; start += batch {
		flatCodes, flatTheta := make([]int32, batch*sites), make([]float64, batch*dim)
		for i := range min(batch, rows-start) {
			if err := checkCode(p.target.Space(), codes[start+i]); err != nil {
				return nil, fmt.Errorf("vti.LogProb: row %d: %w", start+i, err)
			}
			copy(flatCodes[i*sites:], codes[start+i])
			copy(flatTheta[i*dim:], theta.RawRowView(start+i))
		}
		outputs, err := p.run("density", func(ctx *Context, codes, theta *Node) []*Node {
			sp := p.target.Space()
			mask, feats := sp.Mask(codes), p.features(codes)
			z, logDet := flowOf(p.flow, p.target, codes, mask, p.config.DType).ToBase(ctx.In(flowScope), mask, feats, ConvertDType(theta, p.config.DType))
			logQ := Add(p.config.Models.LogProb(ctx.In(modelScope), codes), ConvertDType(logConditional(mask, z, logDet), dtypes.Float64))
			return []*Node{logQ}
		}, tensors.FromFlatDataAndDimensions(flatCodes, batch, sites), tensors.FromFlatDataAndDimensions(flatTheta, batch, dim))
		if err != nil {
			return nil, err
		}
		logQ = append(logQ, tensors.MustCopyFlatData[float64](outputs[0])[:min(batch, rows-start)]...)
	}
	return logQ, nil
}

// pushed are parameters drawn from the flow, with their densities.
type pushed struct {
	theta    []float64 // [B*D], 0 where inactive
	logQ     []float64 // log q(θ | m) [B]
	logJoint []float64 // log η(θ | m) [B]
	squares  []float64 // Σ z² over active coordinates [B]
	active   []float64 // number of active coordinates [B]
}

// logWeight is log η(θ | m) − log r(θ | m) of a row whose z came from the given reference, r being
// the density of θ then.
func (d *pushed) logWeight(from reference, row int) float64 {
	return d.logJoint[row] - d.logQ[row] - from.logRatio(d.squares[row], int(d.active[row]))
}

// push maps one batch of reference draws z [B*D] under codes [B*S] through the flow and evaluates
// both densities.
func (p *Posterior) push(codes []int32, z []float64) (pushed, error) {
	sites, dim, batch := len(p.target.Space().Cards()), p.target.Space().Dim(), p.config.Batch
	outputs, err := p.run("push", func(ctx *Context, codes, z *Node) []*Node {
		sp := p.target.Space()
		mask, feats := sp.Mask(codes), p.features(codes)
		theta, logQ, logJoint := pushGraph(ctx, p.flow, p.target, codes, mask, feats, ConvertDType(z, p.config.DType))
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

// features are those of the models, in the type of the flow. [B,C]
func (p *Posterior) features(codes *Node) *Node {
	return space.Features(p.target.Space(), codes, p.config.DType)
}

// pushGraph maps z through the flow: θ, log q(θ | m) and log η(θ | m), all of z's type.
func pushGraph(ctx *Context, flow *cosmic.Flow, target Target, codes, mask, feats, z *Node) (theta, logQ, logJoint *Node) {
	theta, logDet := flowOf(flow, target, codes, mask, z.DType()).ToParams(ctx.In(flowScope), mask, feats, z)
	return theta, logConditional(mask, z, logDet), target.LogJoint(codes, mask, theta)
}

// logConditional is log q(θ | m) = Σ_active log N(z; 0, 1) − logDet (eq. 5, active part). [B]
func logConditional(mask, z, logDet *Node) *Node {
	logNormal := AddScalar(MulScalar(Square(z), -0.5), -0.5*math.Log(2*math.Pi))
	return Sub(ReduceSum(Where(mask, logNormal, ZerosLike(z)), -1), logDet)
}

// run executes a graph over the posterior's variables, compiling it the first time its name is
// used.
func (p *Posterior) run(name string, graphFn any, args ...any) ([]*tensors.Tensor, error) {
	exec, ok := p.compiled[name]
	if !ok {
		var err error
		if exec, err = context.NewExecAny(p.device.Backend(), p.variables, graphFn); err != nil {
			return nil, err
		}
		if p.compiled == nil {
			p.compiled = map[string]*context.Exec{}
		}
		p.compiled[name] = exec
	}
	outputs, err := train.Call(func() ([]*tensors.Tensor, error) { return exec.Exec(args...) })
	return outputs, p.explain(err)
}

// explain adds to an error about memory which batch would fit.
func (p *Posterior) explain(err error) error {
	var failure *gpu.Failure
	if !errors.As(err, &failure) || !failure.OutOfMemory {
		return err
	}
	if fits := failure.Fits(p.config.Batch); fits > 0 {
		return fmt.Errorf("%w\na batch of %d draws is too large for the memory there is; one of %d should fit", err, p.config.Batch, fits)
	}
	return err
}

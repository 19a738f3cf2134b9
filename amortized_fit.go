package vti

import (
	gocontext "context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"

	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/checkpoint"
	"github.com/transdim/vti/internal/parallel"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/internal/train"
)

// FitAmortized trains q(m | D) q(θ | m, D) on problems that it simulates, fresh ones in every
// step. A network is the same for a seed, whatever the number of processors.
//
// When ctx is cancelled it finishes the step in progress, writes the file of the network if the
// configuration names one, and returns the network so far together with an error that wraps
// ctx.Err(). With Resume it goes on from there, to the bit.
func FitAmortized(ctx gocontext.Context, device *gpu.Device, family Family, cfg AmortizedConfig) (*Amortized, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	like, err := family.Simulate(stream.Rand(cfg.Seed, "amortize/shape"))
	if err != nil {
		return nil, fmt.Errorf("simulating: %w", err)
	}
	a, err := newAmortized(device, family, cfg, like)
	if err != nil {
		return nil, err
	}
	if cfg.Resume {
		if a.step, err = RestoreCheckpoint(cfg.Checkpoint, a.variables, a.settings); err != nil {
			return nil, err
		}
	}
	return a, a.fit(ctx)
}

// fit takes all steps that are left.
func (a *Amortized) fit(ctx gocontext.Context) error {
	cfg := &a.config
	schedule, started := checkpoint.NewSchedule(cfg.CheckpointInterval), time.Now()
	var info AmortizedInfo
	since := 0
	for a.step < cfg.Steps {
		if err := ctx.Err(); err != nil {
			return errors.Join(fmt.Errorf("training stopped after %d of %d steps: %w", a.step, cfg.Steps, err), a.save())
		}
		inputs, err := a.draw(a.step)
		if err != nil {
			return err
		}
		outputs, err := a.run("step", a.stepGraph, inputs...)
		if err != nil {
			return fmt.Errorf("training step %d: %w", a.step+1, err)
		}
		a.step++
		since++
		values := tensors.MustCopyFlatData[float64](outputs[0])
		info.Loss += values[0]
		info.GradientNorm += values[1]
		info.Skipped += int(values[2])
		if a.step == 1 || a.step == cfg.Steps || a.step%cfg.LogEvery == 0 {
			info.Loss, info.GradientNorm = info.Loss/float64(since), info.GradientNorm/float64(since)
			info.Step, info.Steps, info.Elapsed = a.step, cfg.Steps, time.Since(started)
			if cfg.Progress != nil {
				cfg.Progress(info)
			}
			if since > 1 && 2*info.Skipped > since {
				return fmt.Errorf("gradients of %d of the last %d steps were not finite: check the densities of the family for overflow", info.Skipped, since)
			}
			info, since = AmortizedInfo{}, 0
		}
		if schedule.Due() || a.step == cfg.Steps {
			writing := time.Now()
			if err := a.save(); err != nil {
				return err
			}
			schedule.Wrote(time.Since(writing))
		}
	}
	return nil
}

// simulate draws problems, each from a random stream of its own, on all processors.
func (a *Amortized) simulate(name string, count int, truth bool) ([]*Problem, error) {
	problems := make([]*Problem, count)
	sp := a.family.Space()
	err := parallel.Do(count, func(i int) (err error) {
		if problems[i], err = a.family.Simulate(stream.Rand(a.config.Seed, fmt.Sprintf("%s/%d", name, i))); err == nil {
			err = problems[i].check(a.like, sp, truth)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("simulating: %w", err)
	}
	return problems, nil
}

// draw are the inputs of a step, counted from 0.
func (a *Amortized) draw(step int) ([]any, error) {
	cfg, sp := &a.config, a.family.Space()
	name := fmt.Sprintf("amortize/%d", step)
	problems, err := a.simulate(name, cfg.Batch, cfg.Objective != ReverseKL)
	if err != nil {
		return nil, err
	}
	inputs := append(a.batchOf(problems), float64(step+1))
	sites, dim := len(sp.Cards()), sp.Dim()
	if cfg.Objective != ReverseKL {
		var codes []int32
		var theta []float32
		for _, p := range problems {
			codes = append(codes, p.Code...)
			for _, v := range p.Theta {
				theta = append(theta, float32(v))
			}
		}
		inputs = append(inputs, tensors.FromFlatDataAndDimensions(codes, cfg.Batch, sites), tensors.FromFlatDataAndDimensions(theta, cfg.Batch, dim))
	}
	if cfg.Objective != ForwardKL {
		inputs = append(inputs, noise(stream.Rand(cfg.Seed, name+"/draws"), cfg.Batch*cfg.Draws, sites, dim)...)
	}
	return inputs, nil
}

// noise are uniforms [B, S] and normals [B, D].
func noise(random *rand.Rand, rows, sites, dim int) []any {
	uniforms, normals := make([]float64, rows*sites), make([]float32, rows*dim)
	for i := range uniforms {
		uniforms[i] = random.Float64()
	}
	for i := range normals {
		normals[i] = float32(random.NormFloat64())
	}
	return []any{tensors.FromFlatDataAndDimensions(uniforms, rows, sites), tensors.FromFlatDataAndDimensions(normals, rows, dim)}
}

// stepGraph is one training step, which changes variables: loss, norm of the gradient, and 1 where
// it was skipped. [3]
func (a *Amortized) stepGraph(ctx *Context, inputs []*Node) []*Node {
	cfg := &a.config
	k, inputs := a.known(inputs)
	step, inputs := inputs[0], inputs[1:]
	g := step.Graph()
	c := a.conditional(ctx, k)
	var loss, surrogate *Node // what is reported, and what is differentiated
	if cfg.Objective != ReverseKL {
		codes, theta := inputs[0], inputs[1]
		inputs = inputs[2:]
		loss = train.FiniteMean(Neg(Add(c.logModel(codes), toFloat64(c.logParameters(codes, theta)))))
		surrogate = loss
	}
	if cfg.Objective != ForwardKL {
		reverse, differentiated := c.reverse(inputs[0], inputs[1])
		if loss == nil {
			loss, surrogate = reverse, differentiated
		} else {
			loss, surrogate = MulScalar(Add(loss, reverse), 0.5), MulScalar(Add(surrogate, differentiated), 0.5)
		}
	}
	variables := train.VariablesIn(ctx, encoderScope, g)
	for _, scope := range []string{flowScope, modelScope} {
		variables = append(variables, train.VariablesIn(ctx, scope, g)...)
	}
	gradients := Gradient(surrogate, train.ValuesOf(g, variables)...)
	norm := train.GlobalNorm(gradients)
	apply := LogicalAnd(IsFinite(norm), IsFinite(loss))
	gradients = train.ClipByNorm(gradients, norm, cfg.ClipNorm)
	rate := train.LearningRate(step, cfg.LearningRate, cfg.Steps)
	for i, increment := range (train.Adam{}).Increments(ctx, adamScope, variables, gradients, rate, step, apply) {
		variables[i].SetValueGraph(Add(variables[i].ValueGraph(g), increment))
	}
	zero := ScalarZero(g, dtypes.Float64)
	return []*Node{Stack([]*Node{Where(apply, loss, zero), Where(apply, norm, zero), OneMinus(toFloat64(apply))}, 0)}
}

// reverse is the mean of log q(m, θ | D) − log p(m, θ, y) over draws of q, and a node with its
// gradient: along θ for the flow, and by the score function for q(m | D), each draw less the mean
// of the others of its data set.
func (c conditional) reverse(uniforms, z *Node) (loss, surrogate *Node) {
	draws := c.config.Draws
	c = c.repeated(draws)
	codes := c.sample(uniforms)
	_, logQ, logJoint := c.push(codes, z)
	logModel, logPrior := c.logModel(codes), toFloat64(c.family.LogPrior(c.data, codes))
	own := toFloat64(Sub(logQ, logJoint))
	each := Add(own, Sub(logModel, logPrior))
	loss = train.FiniteMean(each)
	surrogate = train.FiniteMean(own)
	if c.models == nil {
		return loss, surrogate
	}
	rewards := StopGradient(Where(IsFinite(each), each, BroadcastToShape(loss, each.Shape())))
	byTable := Reshape(rewards, -1, draws)
	others := MulScalar(Sub(ReduceAndKeep(byTable, ReduceSum, -1), byTable), 1/float64(draws-1))
	advantage := Reshape(Sub(byTable, others), -1)
	return loss, Add(surrogate, train.FiniteMean(Mul(advantage, logModel)))
}

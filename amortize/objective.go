package amortize

import (
	"fmt"
	"math/rand/v2"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"

	"github.com/transdim/vti"
	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/evaluate"
	"github.com/transdim/vti/internal/parallel"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/internal/train"
)

// simulate draws problems, each from a separate random stream, on all processors. If truth is true,
// it returns an error for a problem that does not state its model and parameters.
func (a *Network) simulate(name string, count int, truth bool) ([]*Problem, error) {
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

// draw returns the inputs of the graph for a step; the first step is 0. The argument name is the
// prefix of the names of the random streams.
func (a *Network) draw(name string, step int) ([]any, error) {
	cfg, sp := &a.config, a.family.Space()
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

// noise returns uniforms [rows, sites] and standard normals [rows, dim] as inputs of a graph.
func noise(random *rand.Rand, rows, sites, dim int) []any {
	uniforms := apply.UpTo(rows*sites, func(int) float64 { return random.Float64() })
	normals := apply.UpTo(rows*dim, func(int) float32 { return float32(random.NormFloat64()) })
	return []any{tensors.FromFlatDataAndDimensions(uniforms, rows, sites), tensors.FromFlatDataAndDimensions(normals, rows, dim)}
}

// objective returns the objective of each problem [B], a node whose gradient is the gradient of the
// mean objective, and the number of the step.
func (a *Network) objective(ctx *vti.Context, inputs []*Node) (each, surrogate, step *Node) {
	cfg := &a.config
	k, inputs := a.known(inputs)
	step, inputs = inputs[0], inputs[1:]
	c := a.conditional(ctx, k)
	if cfg.Objective != ReverseKL {
		codes, theta := inputs[0], inputs[1]
		inputs = inputs[2:]
		each = Neg(Add(c.logModel(codes), evaluate.Float64(c.logParameters(codes, theta))))
		surrogate = train.FiniteMean(each)
	}
	if cfg.Objective != ForwardKL {
		reverse, differentiated := c.reverse(inputs[0], inputs[1])
		reverse = ReduceMean(Reshape(reverse, -1, cfg.Draws), -1)
		if each == nil {
			each, surrogate = reverse, differentiated
		} else {
			each, surrogate = MulScalar(Add(each, reverse), 0.5), MulScalar(Add(surrogate, differentiated), 0.5)
		}
	}
	return each, surrogate, step
}

// reverse returns log q(m, θ | D) − log p(m, θ, D) of each draw of q, and a node whose gradient
// estimates the gradient of the mean of these values. The gradient for the flow is pathwise,
// through θ. The gradient for q(m | D) is the score-function gradient, where the mean of the other
// draws of the same data set is subtracted from each draw.
func (c conditional) reverse(uniforms, z *Node) (each, surrogate *Node) {
	draws := c.config.Draws
	c = c.repeated(draws)
	codes := c.sample(uniforms)
	_, logQ, logJoint := c.push(codes, z)
	logModel, logPrior := c.logModel(codes), evaluate.Float64(c.family.LogPrior(c.data, codes))
	logRatio := evaluate.Float64(Sub(logQ, logJoint))
	each = Add(logRatio, Sub(logModel, logPrior))
	loss := train.FiniteMean(each)
	surrogate = train.FiniteMean(logRatio)
	if c.models == nil {
		return each, surrogate
	}
	rewards := StopGradient(Where(IsFinite(each), each, BroadcastToShape(loss, each.Shape())))
	byTable := Reshape(rewards, -1, draws)
	others := MulScalar(Sub(ReduceAndKeep(byTable, ReduceSum, -1), byTable), 1/float64(draws-1))
	advantage := Reshape(Sub(byTable, others), -1)
	return each, Add(surrogate, train.FiniteMean(Mul(advantage, logModel)))
}

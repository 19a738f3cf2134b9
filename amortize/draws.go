package amortize

import (
	"context"
	"fmt"
	"math"
	"slices"

	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti"
	"github.com/transdim/vti/internal/evaluate"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/stream"
)

// efficiencyDraws is the number of draws of q(m, θ | D) made at a time for a problem.
const efficiencyDraws = 256

// Efficiency returns the mean over newly simulated problems of the effective share of n draws from
// q(m, θ | D), (Σw)² / (n Σw²), with weights w = p(m, θ, D) / q(m, θ | D). Weights that are not
// finite count as zero. The argument problems is the number of problems, and name the name of the
// random stream.
func (a *Network) Efficiency(ctx context.Context, problems int, name string) (float64, error) {
	fresh, err := a.simulate("efficiency/"+name, problems, false)
	if err != nil {
		return 0, err
	}
	total := 0.0
	for i, problem := range fresh {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		drawn, err := a.draws(problem, fmt.Sprintf("efficiency/%s/draws/%d", name, i))
		if err != nil {
			return 0, err
		}
		floats.Sub(drawn.logP, drawn.logQ)
		for k, w := range drawn.logP {
			if !finite(w) {
				drawn.logP[k] = math.Inf(-1)
			}
		}
		total += logsum.Effective(drawn.logP) / float64(len(drawn.logP))
	}
	return total / float64(problems), nil
}

// drawn holds draws of q(m, θ | D) with their densities.
type drawn struct {
	codes      []int32
	theta      []float64
	logQ, logP []float64 // log q(m, θ | D) and log p(m, θ, D) of each draw
}

// draws makes efficiencyDraws draws from q(m, θ | D), with the random stream of the given name.
func (a *Network) draws(problem *Problem, name string) (drawn, error) {
	sp := a.family.Space()
	inputs := append(a.batchOf([]*Problem{problem}), noise(stream.Rand(a.config.Seed, name), efficiencyDraws, len(sp.Cards()), sp.Dim())...)
	outputs, err := a.graphs.Run("draws", func(ctx *vti.Context, inputs []*Node) []*Node {
		k, rest := a.known(inputs)
		c := a.conditional(ctx, k).repeated(efficiencyDraws)
		codes := c.sample(rest[0])
		theta, logQ, logJoint := c.push(codes, rest[1])
		mask := sp.Mask(codes)
		return []*Node{
			codes, evaluate.Float64(Where(mask, theta, ZerosLike(theta))), Add(evaluate.Float64(logQ), c.logModel(codes)),
			Add(evaluate.Float64(logJoint), evaluate.Float64(c.family.LogPrior(c.data, codes))),
		}
	}, inputs...)
	if err != nil {
		return drawn{}, err
	}
	return drawn{
		tensors.MustCopyFlatData[int32](outputs[0]), tensors.MustCopyFlatData[float64](outputs[1]),
		tensors.MustCopyFlatData[float64](outputs[2]), tensors.MustCopyFlatData[float64](outputs[3]),
	}, nil
}

// Sample draws 256 models with their parameters from q(m, θ | D) for a problem. The argument name
// is the name of the random stream. A row of codes holds the outcomes of a model at the sites of
// the space of the family, and a row of theta its parameters in the coordinates of this space. logQ
// is log q(m, θ | D), and logP is log p(m, θ, D), of each draw.
func (a *Network) Sample(problem *Problem, name string) (codes [][]int32, theta *mat.Dense, logQ, logP []float64, err error) {
	if err := problem.check(a.like, a.family.Space(), false); err != nil {
		return nil, nil, nil, nil, fmt.Errorf("data set: %w", err)
	}
	d, err := a.draws(problem, "sample/"+name)
	if err != nil {
		return nil, nil, nil, nil, err
	}
	sp := a.family.Space()
	return slices.Collect(slices.Chunk(d.codes, len(sp.Cards()))), mat.NewDense(efficiencyDraws, sp.Dim(), d.theta), d.logQ, d.logP, nil
}

func finite(x float64) bool { return math.Abs(x) <= math.MaxFloat64 }

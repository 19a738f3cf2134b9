package vti

import (
	"context"
	"fmt"
	"math"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/modeldist"
	"github.com/transdim/vti/space"
)

// Place maps the space of a problem into that of its family: site s of its codes at Sites[s],
// coordinate d of its parameters at Coordinates[d]. Sites of the family that are not named have
// outcome 0. The zero value says that both spaces are one.
type Place struct{ Sites, Coordinates []int }

// Beginning is the network's answer for a data set, computed in one pass: the starting point of a
// fit with [Config.Begin], or of [Open]. sp is the space of the data set's own Target.
func (a *Amortized) Beginning(problem *Problem, sp space.Space, place Place) (*Beginning, error) {
	if err := problem.check(a.like, a.family.Space(), false); err != nil {
		return nil, fmt.Errorf("data set: %w", err)
	}
	if place.Sites == nil {
		place.Sites = upTo(len(sp.Cards()))
	}
	if place.Coordinates == nil {
		place.Coordinates = upTo(sp.Dim())
	}
	if err := a.checkPlace(sp, place); err != nil {
		return nil, err
	}
	about, err := a.contextOf(problem)
	if err != nil {
		return nil, err
	}
	b := &Beginning{weights: a.variables, flow: a.flow.Config()}
	if b.logModels, err = a.logModels(problem, about, sp.Cards(), place.Sites); err != nil {
		return nil, err
	}
	wide, dim := a.family.Space().Dim(), sp.Dim()
	b.flow.Dim, b.flow.Features = dim, 0
	b.flow.Placement = &cosmic.Placement{Dim: wide, At: place.Coordinates, Context: about}
	b.flow.Placement.Given = len(problem.Linear) > wide
	if problem.Precision != nil && !b.flow.Placement.Given {
		b.flow.Precision, b.flow.Linear = make([]float64, dim*dim), make([]float64, dim)
		for i, from := range place.Coordinates {
			b.flow.Linear[i] = problem.Linear[from]
			for j, to := range place.Coordinates {
				b.flow.Precision[i*dim+j] = problem.Precision[from*wide+to]
			}
		}
	}
	return b, nil
}

func upTo(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

func (a *Amortized) checkPlace(sp space.Space, place Place) error {
	own := a.family.Space()
	if len(place.Sites) != len(sp.Cards()) || len(place.Coordinates) != sp.Dim() {
		return fmt.Errorf("vti.Place: got %s and %s, want %d and %d", english.Count(len(place.Sites), "site"), english.Count(len(place.Coordinates), "coordinate"), len(sp.Cards()), sp.Dim())
	}
	for s, at := range place.Sites {
		if at < 0 || at >= len(own.Cards()) || own.Cards()[at] != sp.Cards()[s] {
			return fmt.Errorf("vti.Place: site %d of %d outcomes is at %d, want one of the family's %v with as many", s, sp.Cards()[s], at, own.Cards())
		}
	}
	if count, ok := space.CountCodes(sp.Cards()); !ok || count > modeldist.DefaultLimit {
		return fmt.Errorf("an amortized posterior lists its models: got %d, want at most %d", count, modeldist.DefaultLimit)
	}
	return nil
}

// contextOf encodes one data set.
func (a *Amortized) contextOf(problem *Problem) ([]float64, error) {
	outputs, err := a.run("context", func(ctx *Context, inputs []*Node) []*Node {
		k, _ := a.known(inputs)
		return []*Node{toFloat64(a.conditional(ctx, k).context)}
	}, a.batchOf([]*Problem{problem})...)
	if err != nil {
		return nil, err
	}
	return tensors.CopyFlatData[float64](outputs[0])
}

// modelsBatch is the largest number of codes whose density is evaluated at once: each batch goes
// over all approximate masses.
const modelsBatch = 4096

// logModels is log q(m | D) of all codes with outcomes cards at sites of the family, normalised
// over these.
func (a *Amortized) logModels(problem *Problem, about []float64, cards, sites []int) ([]float64, error) {
	count, _ := space.CountCodes(cards)
	if a.models == nil || count == 1 {
		return make([]float64, count), nil
	}
	wide := len(a.family.Space().Cards())
	var logQ []float64
	inputs := append(a.batchOf([]*Problem{problem}), tensors.FromFlatDataAndDimensions(about, 1, len(about)))
	batch := min(count, modelsBatch)
	flat := make([]int32, 0, batch*wide)
	flush := func() error {
		rows := len(flat) / wide
		flat = flat[:cap(flat)]
		outputs, err := a.run(fmt.Sprintf("models/%d", batch), func(ctx *Context, inputs []*Node) []*Node {
			k, rest := a.known(inputs)
			c := conditional{a, k, ctx, ConvertDType(rest[0], dtypes.Float32)}.repeated(batch)
			return []*Node{c.logModel(rest[1])}
		}, append(inputs[:len(inputs):len(inputs)], tensors.FromFlatDataAndDimensions(flat, batch, wide))...)
		if err != nil {
			return err
		}
		logQ = append(logQ, tensors.MustCopyFlatData[float64](outputs[0])[:rows]...)
		clear(flat)
		flat = flat[:0]
		return nil
	}
	for _, code := range space.All(cards) {
		at := len(flat)
		flat = flat[:at+wide]
		for s, outcome := range code {
			flat[at+sites[s]] = outcome
		}
		if len(flat) == cap(flat) {
			if err := flush(); err != nil {
				return nil, err
			}
		}
	}
	if len(flat) > 0 {
		if err := flush(); err != nil {
			return nil, err
		}
	}
	total := logsum.Of(logQ)
	for i := range logQ {
		logQ[i] -= total
	}
	return logQ, nil
}

// Open returns the posterior that cfg starts from, without training: with cfg.Begin, the answer of
// an amortized network for the target's data set, in the form that Fit returns.
func Open(ctx context.Context, device *gpu.Device, target Target, cfg Config) (*Posterior, error) {
	t, err := newTrainer(ctx, device, target, cfg, true)
	if err != nil {
		return nil, err
	}
	return t.posterior(), nil
}

// efficiencyDraws is the number of draws of a problem at a time.
const efficiencyDraws = 256

// Efficiency measures q(m, θ | D) on fresh problems: the mean of the effective fraction of its
// draws, (Σw)² / (n Σw²) with w = p(m, θ, y) / q(m, θ | D).
func (a *Amortized) Efficiency(ctx context.Context, problems int, name string) (float64, error) {
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
		for k := range drawn.logP {
			drawn.logP[k] -= drawn.logQ[k]
		}
		total += effectiveShare(drawn.logP)
	}
	return total / float64(problems), nil
}

// drawn are draws of q(m, θ | D), with their densities.
type drawn struct {
	codes      []int32
	theta      []float64
	logQ, logP []float64 // log q(m, θ | D) and log p(m, θ, y)
}

// draws are efficiencyDraws draws from a stream with a name of its own.
func (a *Amortized) draws(problem *Problem, name string) (drawn, error) {
	sp := a.family.Space()
	inputs := append(a.batchOf([]*Problem{problem}), noise(stream.Rand(a.config.Seed, name), efficiencyDraws, len(sp.Cards()), sp.Dim())...)
	outputs, err := a.run("draws", func(ctx *Context, inputs []*Node) []*Node {
		k, rest := a.known(inputs)
		c := a.conditional(ctx, k).repeated(efficiencyDraws)
		codes := c.sample(rest[0])
		theta, logQ, logJoint := c.push(codes, rest[1])
		mask := sp.Mask(codes)
		return []*Node{
			codes, toFloat64(Where(mask, theta, ZerosLike(theta))), Add(toFloat64(logQ), c.logModel(codes)),
			Add(toFloat64(logJoint), toFloat64(c.family.LogPrior(c.data, codes))),
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

// Sample draws 256 models with their parameters from q(m, θ | D) of a problem, from a stream with
// a name of its own: rows of codes [S] and theta [D], at the family's sites and coordinates. logQ
// is log q(m, θ | D), logP log p(m, θ, y).
func (a *Amortized) Sample(problem *Problem, name string) (codes [][]int32, theta *mat.Dense, logQ, logP []float64, err error) {
	if err := problem.check(a.like, a.family.Space(), false); err != nil {
		return nil, nil, nil, nil, fmt.Errorf("data set: %w", err)
	}
	d, err := a.draws(problem, "sample/"+name)
	if err != nil {
		return nil, nil, nil, nil, err
	}
	sp := a.family.Space()
	return rowsOf(d.codes, len(sp.Cards())), mat.NewDense(efficiencyDraws, sp.Dim(), d.theta), d.logQ, d.logP, nil
}

// effectiveShare is (Σw)² / (n Σw²); weights that are not numbers count as zero.
func effectiveShare(logWeights []float64) float64 {
	largest := math.Inf(-1)
	for _, w := range logWeights {
		if finite(w) {
			largest = math.Max(largest, w)
		}
	}
	var sum, squares float64
	for _, w := range logWeights {
		if finite(w) {
			x := math.Exp(w - largest)
			sum += x
			squares += x * x
		}
	}
	if squares == 0 {
		return 0
	}
	return sum * sum / squares / float64(len(logWeights))
}

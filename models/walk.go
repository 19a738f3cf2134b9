package models

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/rjmcmc"
)

// keptChains holds chains over models with all their iterations, so that every certificate can use
// the first iterations again.
type keptChains struct {
	*rjmcmc.Models
	looked *Visited // the models that the chains visited or proposed
}

// modelChains is the number of chains over models. Half and twice this number give the same answers
// (docs/benchmarks/constants.md).
const modelChains = 32

// hurriedIterations is the number of iterations after which chains check whether the time is over.
// An iteration computes the evidences of at most 96 models, each in up to some milliseconds.
const hurriedIterations = 4

// first returns the sets of items that the chains visited in their first iterations after burn-in,
// and runs the chains further if needed. If the function late reports that the time is over, it
// ends burn-in, and returns fewer iterations, but at least one.
func (k *keptChains) first(ctx context.Context, iterations int, late func() bool) ([][]int32, error) {
	want := iterations * k.Chains()
	for len(k.Sets) < want {
		if late() {
			if len(k.Sets) > 0 {
				break
			}
			k.EndBurnIn()
		}
		if err := k.Run(ctx, hurriedIterations); err != nil {
			return nil, err
		}
	}
	return k.Sets[:min(len(k.Sets), want)], nil
}

// runChains runs chains over models, and evaluates the sets that they visit. If it then finds
// members that have an effect only together it starts again, with chains that move these members
// together.
func (x *Visited) runChains(ctx context.Context, asItems items, iterations int, late func() bool) (chains *keptChains, sets [][]int32, err error) {
	for {
		if chains, err = x.modelChains(ctx, asItems); err != nil {
			return nil, nil, err
		}
		if sets, err = chains.first(ctx, iterations, late); err != nil {
			return nil, nil, err
		}
		if _, err := x.Add(ctx, apply.To(sets, asItems.code), nil); err != nil {
			return nil, nil, err
		}
		joint, err := x.searchJoint(ctx)
		if err != nil {
			return nil, nil, err
		}
		known := len(x.joint.moved)
		for _, set := range joint {
			same := func(other jointSet) bool { return slices.Equal(other.members, set.members) }
			if len(x.joint.moved) < mostMoved && !slices.ContainsFunc(x.joint.moved, same) {
				x.joint.moved = append(x.joint.moved, set)
			}
		}
		if len(x.joint.moved) == known {
			return chains, sets, nil
		}
		x.chains = nil
	}
}

// modelChains returns the chains over models. They do not depend on q, so that every run gives the
// same chains. They start in turn from no item, from one promising item at random, from a few
// promising items at random, and from many of the most promising items. Half of them start from
// models with members that have an effect only together, if there are any.
func (x *Visited) modelChains(ctx context.Context, asItems items) (*keptChains, error) {
	if x.chains != nil {
		return x.chains, nil
	}
	random := x.random("models/starts")
	weights := asItems.weights
	if weights == nil {
		weights = slices.Repeat([]float64{1}, asItems.count)
	}
	order := apply.UpTo(asItems.count, func(item int) int32 { return int32(item) })
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(weights[b], weights[a]) })
	var starts [][]int32
	for chain := range modelChains {
		var set []int32
		most := 6
		switch chain / 2 % 4 { // chains of even and chains of odd number have every kind of start
		case 0:
			most = 0
		case 1:
			most = 1
		case 3:
			set, most = slices.Clone(order[:min(12, asItems.slots, asItems.count)]), 0
		}
		for range min(most, asItems.slots) {
			if item := order[min(int(random.ExpFloat64()*8), asItems.count-1)]; !slices.Contains(set, item) {
				set = append(set, item)
			}
		}
		if n := len(x.joint.moved); n > 0 && chain/2%2 == 1 {
			set = x.members()(x.joint.moved[chain/4%n].code)
		}
		slices.Sort(set)
		starts = append(starts, set)
	}
	looked := x.Visit() // a separate Visited, since later certificates use the chains too
	positions, err := looked.Add(ctx, apply.To(starts, asItems.code), nil)
	if err != nil {
		return nil, err
	}
	for chain, at := range positions {
		if math.IsInf(looked.logMass(at), -1) { // the prior excludes the model
			starts[chain] = nil
		}
	}
	together := apply.To(x.joint.moved, func(set jointSet) []int32 { return set.members })
	chains, err := rjmcmc.NewModels(ctx, rjmcmc.ModelsConfig{
		Items: asItems.count, Slots: asItems.slots, Weights: asItems.weights, Starts: starts, Together: together, Seed: x.Seed,
		LogMasses: func(ctx context.Context, sets [][]int32) (logPriors, logEvidences []float64, err error) {
			positions, err := looked.Add(ctx, apply.To(sets, asItems.code), nil)
			if err != nil {
				return nil, nil, err
			}
			for _, at := range positions {
				logPriors, logEvidences = append(logPriors, looked.logPrior[at]), append(logEvidences, looked.evidence[at].Log)
			}
			return logPriors, logEvidences, nil
		},
	})
	if err == nil {
		x.chains = &keptChains{chains, looked}
	}
	return x.chains, err
}

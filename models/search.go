package models

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/space"
)

const (
	// searchChains and searchSteps are the number and the length of the chains that search for
	// models which r(m), the distribution of proposed models, misses. The search computes at most
	// as large a number of evidences as a sum over all models of a space that can be listed.
	searchChains = 64
	searchSteps  = 400
)

// search looks for models that q(m) does not propose. First it searches for members that have an
// effect only together. Then it runs Metropolis-Hastings chains over models, which start from the
// most probable, smallest and largest models of the certificate, from draws of q(m), and from
// models with members that have an effect only together. It adds the visited models to x.
func (x *Visited) search(ctx context.Context, c *Certificate, stream string) error {
	random := x.random(stream + "/search")
	sp := x.Space
	joint, err := x.searchJoint(ctx)
	if err != nil {
		return err
	}
	chains := x.searchStarts(c, random)
	for _, set := range joint {
		chains = append(chains, set.code)
	}
	positions, err := x.Add(ctx, chains, nil)
	if err != nil {
		return err
	}
	unused := make([]float64, sp.Dim())
	proposals, logRatio := make([][]int32, len(chains)), make([]float64, len(chains))
	for range searchSteps {
		for k := range chains {
			proposals[k] = slices.Clone(x.codes[positions[k]])
			logRatio[k] = space.Move(sp, random, proposals[k], unused)
		}
		to, err := x.Add(ctx, proposals, nil)
		if err != nil {
			return err
		}
		for k := range chains {
			accept := x.logMass(to[k]) - x.logMass(positions[k]) + logRatio[k]
			if math.IsInf(x.logMass(positions[k]), -1) || math.Log(random.Float64()) < accept {
				positions[k] = to[k]
			}
		}
	}
	return nil
}

func (x *Visited) searchStarts(c *Certificate, random *rand.Rand) [][]int32 {
	starts := apply.To(c.Models[:min(len(c.Models), searchChains/4)], func(model Estimate) []int32 { return model.Code })
	_, members := space.Outcomes(x.Space)
	size := func(model Estimate) int { return len(members(model.Code)) }
	bySize := slices.Clone(c.Models)
	slices.SortStableFunc(bySize, func(a, b Estimate) int { return size(a) - size(b) })
	for k := range min(len(bySize), searchChains/8) {
		starts = append(starts, bySize[k].Code, bySize[len(bySize)-1-k].Code)
	}
	for len(starts) < searchChains {
		starts = append(starts, c.Proposed[random.IntN(len(c.Proposed))])
	}
	return starts
}

package vti

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/psis"
	"github.com/transdim/vti/space"
)

const (
	// mostProposals bounds the models that get one, each of which takes a dozen Hessians.
	mostProposals = 512
	// laplaceError is what a Laplace evidence is allowed to be too small by, in nats, where it is
	// taken for an upper bound. Chosen by hand; TestLaplaceIsABound says how often a skewed or
	// heavy-tailed posterior exceeds it.
	laplaceError = 1.0
	// proposalMass is the probability above which a model gets a proposal for a k̂ that is small
	// enough for many draws, and not for the few it has. Chosen by hand.
	proposalMass = 1e-4
	// negligible is the share of the evidence below which a model needs no draws.
	negligible = 1e-6
)

// propose gives the models whose weights are not reliable a Laplace proposal beside the flow and an
// upper bound of their evidence, where a mode is found. Their weights so far are dropped: they come
// from the flow alone. It returns how many draws each is to have at first.
func (s *importanceSampler) propose(ctx context.Context, models []ModelEstimate, logPrior []float64) (allocation []int, err error) {
	allocation = make([]int, len(models))
	masker, ok := s.evaluator.target.Space().(space.RowMasker)
	_, _, dim := s.evaluator.sizes()
	if !ok || dim > laplaceMaxDim {
		return allocation, nil
	}
	var unreliable []int
	for i, model := range models {
		limit := psis.Reliable
		if model.Certified > proposalMass {
			limit = psis.ReliableFor(model.Draws)
		}
		if model.KHat > limit && !math.IsInf(logPrior[i], -1) {
			unreliable = append(unreliable, i)
		}
	}
	best := func(i int) float64 { // log p(m) η of the draw that stands for the model
		if s.tallies[i].one.theta == nil {
			return math.Inf(-1)
		}
		return logPrior[i] + s.tallies[i].one.logJoint
	}
	slices.SortStableFunc(unreliable, func(a, b int) int { return cmp.Compare(best(b), best(a)) })
	if len(unreliable) == 0 {
		return allocation, nil
	}
	evaluate, err := newGradientEvaluator(s.evaluator.device, s.evaluator.target, 2*dim+1)
	if err != nil {
		return nil, err
	}
	proposals := map[int]*laplaceProposal{}
	for _, i := range unreliable[:min(len(unreliable), mostProposals)] {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		active := listActive(masker.MaskRow(s.codes[i], nil))
		if len(active) == 0 {
			continue
		}
		starts := [][]float64{make([]float64, dim)}
		if s.tallies[i].one.theta != nil {
			starts = append([][]float64{slices.Clone(s.tallies[i].one.theta)}, starts...)
		}
		for _, start := range starts {
			proposal, err := newLaplaceProposal(ctx, evaluate, s.codes[i], active, start)
			if err != nil {
				return nil, err
			}
			if proposal != nil {
				proposals[i] = proposal
				break
			}
		}
	}
	// What all together come to at most: only what may hold a part of it needs draws.
	masses := make([]float64, 0, len(models))
	for i, model := range models {
		mass := math.Inf(-1)
		if !math.IsNaN(model.LogEvidence) {
			mass = logPrior[i] + model.LogEvidence
		}
		if proposal := proposals[i]; proposal != nil {
			s.tallies[i].logBound = proposal.logEvidence() + laplaceError
			mass = math.Max(mass, logPrior[i]+s.tallies[i].logBound)
		}
		masses = append(masses, mass)
	}
	total := logsum.Of(masses)
	s.proposals = make([]*laplaceProposal, len(models))
	for i, proposal := range proposals {
		if masses[i]-total < math.Log(negligible) {
			continue
		}
		s.proposals[i] = proposal
		s.tallies[i] = tally{logTotal: math.Inf(-1), logBound: s.tallies[i].logBound}
		allocation[i] = mostDraws
	}
	return allocation, nil
}

package vti

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/transdim/vti/internal/laplace"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/parallel"
	"github.com/transdim/vti/space"
)

const (
	// mostProposals bounds the number of models with a proposal, which takes a dozen Hessians each.
	mostProposals = 512
	// proposalMass is the probability above which a model gets a proposal if its k̂ is small enough
	// for many draws, but too large for its few: a fiftieth of verdict.DoubtfulMissed.
	proposalMass = 1e-4
	// negligible is the share of the evidence below which a model needs no draws.
	negligible = 1e-6
)

// propose adds a Laplace proposal to the flow for each model whose weights are not reliable, and
// bounds its evidence from above, where modes are found; other models stay without bound. Their
// earlier weights are dropped, since they come from other proposals. It returns the first number of
// draws of each model, or nothing if it found nothing new.
func (s *importanceSampler) propose(ctx context.Context, models []ModelEstimate, unreliable []int, logPrior []float64, earlier map[int][]laplace.Start) (allocation []int, err error) {
	allocation = make([]int, len(models))
	masker, ok := s.evaluator.Target.Space().(space.RowMasker)
	_, _, dim := s.evaluator.Sizes()
	if !ok || dim > laplace.MaxDim {
		return allocation, nil
	}
	best := func(i int) float64 { // log p(m) η of the draw that stands for the model
		if s.tallies[i].representative.theta == nil {
			return math.Inf(-1)
		}
		return logPrior[i] + s.tallies[i].representative.logJoint
	}
	slices.SortStableFunc(unreliable, func(a, b int) int { return cmp.Compare(best(b), best(a)) })
	if len(unreliable) == 0 {
		return allocation, nil
	}
	if s.proposals == nil {
		if s.surface, err = laplace.On(s.evaluator.Device, s.evaluator.Target, s.evaluator.engine.Known.Expand, dim); err != nil {
			return nil, err
		}
		s.proposals, s.modes = make([]*laplace.Modes, len(models)), make([]laplace.Modes, len(models))
	}
	unreliable = unreliable[:min(len(unreliable), mostProposals)]
	added := make([]bool, len(unreliable))
	find := func(k int) (err error) {
		i := unreliable[k]
		if err := ctx.Err(); err != nil {
			return err
		}
		active := laplace.Active(masker.MaskRow(s.codes[i], nil))
		if len(active) == 0 {
			return nil
		}
		modes := &s.modes[i]
		if added[k], err = modes.Find(ctx, s.surface, s.codes[i], active, s.tallies[i].modeStarts(earlier[i])); err != nil || len(modes.All()) > 0 {
			return err
		}
		added[k], err = modes.Find(ctx, s.surface, s.codes[i], active, []laplace.Start{{Theta: make([]float64, dim), LogJoint: math.Inf(-1)}})
		return err
	}
	if s.surface.Parallel {
		err = parallel.Do(len(unreliable), find)
	} else {
		for k := 0; k < len(unreliable) && err == nil; k++ {
			err = find(k)
		}
	}
	if err != nil {
		return nil, err
	}
	s.leaveUnbounded(unreliable)
	// Only models that may hold a share of the bounded total need draws.
	masses := make([]float64, 0, len(models))
	for i, model := range models {
		mass := math.Inf(-1)
		if !math.IsNaN(model.LogEvidence) {
			mass = logPrior[i] + model.LogEvidence
		}
		if modes := &s.modes[i]; len(modes.All()) > 0 {
			s.tallies[i].logBound = modes.LogEvidence() + laplace.Error
			mass = math.Max(mass, logPrior[i]+s.tallies[i].logBound)
		}
		masses = append(masses, mass)
	}
	total := logsum.Of(masses)
	for k, i := range unreliable {
		if !added[k] || masses[i]-total < math.Log(negligible) {
			continue
		}
		s.proposals[i] = &s.modes[i]
		bound := s.tallies[i].logBound
		s.tallies[i] = newTally()
		s.tallies[i].logBound = bound
		allocation[i] = mostDraws
	}
	return allocation, nil
}

// leaveUnbounded marks the models without a mode.
func (s *importanceSampler) leaveUnbounded(searched []int) {
	for _, i := range searched {
		if len(s.modes[i].All()) == 0 {
			s.tallies[i].logBound = math.Inf(1)
		}
	}
}

// modeStarts returns the starts of a model's mode search: its representative draw, then the
// heaviest draws of this certificate and of earlier ones.
func (t *tally) modeStarts(earlier []laplace.Start) (starts []laplace.Start) {
	if t.representative.theta != nil {
		starts = append(starts, laplace.Start{Theta: t.representative.theta, LogJoint: t.representative.logJoint})
	}
	heavy := slices.Clone(earlier)
	for _, draw := range t.heaviest {
		heavy = append(heavy, laplace.Start{Theta: draw.theta, LogJoint: draw.logJoint})
	}
	slices.SortStableFunc(heavy, func(a, b laplace.Start) int { return cmp.Compare(b.LogJoint, a.LogJoint) })
	return append(starts, heavy...)
}

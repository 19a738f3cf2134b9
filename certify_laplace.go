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
	// mostProposals bounds the number of models with a Laplace proposal. To find one takes about a
	// dozen Hessians.
	mostProposals = 512
	// proposalMass is a probability. A more probable model gets a Laplace proposal if its k̂ would
	// be reliable for many draws, but is not for the few draws that the model has. It is a fiftieth
	// of verdict.DoubtfulMissed.
	proposalMass = 1e-4
	// negligible is a share of the evidence. Models with smaller shares need no draws.
	negligible = 1e-6
)

// propose searches for modes of each model whose weights are not reliable. If it finds modes it
// adds a Laplace proposal (t distributions at the modes) to the proposals of the flow, sets an
// upper bound of the evidence of the model, and drops the earlier weights of the model, which come
// from other proposals. A model without modes has no bound. propose returns the number of draws
// that each model needs next, which is 0 for models without a new proposal.
func (s *importanceSampler) propose(ctx context.Context, models []ModelEstimate, unreliable []int, logPrior []float64, earlier map[int][]laplace.Start) (allocation []int, err error) {
	allocation = make([]int, len(models))
	masker, ok := s.evaluator.Target.Space().(space.RowMasker)
	_, _, dim := s.evaluator.Sizes()
	if !ok || dim > laplace.MaxDim {
		return allocation, nil
	}
	best := func(i int) float64 { // log p(m) p(y, θ | m) of the draw that represents the model
		if s.tallies[i].representative.theta == nil {
			return math.Inf(-1)
		}
		return logPrior[i] + s.tallies[i].representative.logJoint
	}
	slices.SortStableFunc(unreliable, func(a, b int) int { return cmp.Compare(best(b), best(a)) })
	if len(unreliable) == 0 {
		return allocation, nil
	}
	if s.modes == nil {
		if s.surface, err = laplace.On(s.evaluator.Device, s.evaluator.Target, s.evaluator.engine.Known.Expand, dim); err != nil {
			return nil, err
		}
		s.modes = make([]laplace.Modes, len(models))
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
	// Only models that may, by their bounds, hold more than a negligible share of the evidence need
	// draws.
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

// leaveUnbounded sets the bound of the evidence to +Inf for each searched model without a mode.
func (s *importanceSampler) leaveUnbounded(searched []int) {
	for _, i := range searched {
		if len(s.modes[i].All()) == 0 {
			s.tallies[i].logBound = math.Inf(1)
		}
	}
}

// modeStarts returns the points from which the search for modes of a model starts: its
// representative draw, and then draws of this certificate and of earlier ones, the most probable
// first.
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

package rjmcmc

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/transdim/vti/internal/english"
	"github.com/transdim/vti/internal/rank"
)

// Settings of starting points. Half or twice each value gives the same answers
// (docs/benchmarks/constants.md).
const (
	// startTries is the number of times that starting points are drawn before initialise fails.
	startTries = 100
	// startSites is the number of sites up to which starts range from sparse to dense. In larger
	// spaces starts are sparser, with at most startSites²/S sites: a chain that starts with many
	// wrong predictors can hardly leave a model that explains the data by chance.
	startSites = 16
)

// initialise draws starting points until every chain has a finite log density. Starts range from
// sparse to dense: for each chain the probability that a site has another outcome than 0 is
// different. Each retry shrinks the values towards 0 and the models towards outcome 0.
func (s *sampler) initialise() error {
	sparsity := min(1, startSites/float64(len(s.cards)))
	pending := rank.UpTo(s.rows)
	shrink := 1.0
	for try := range startTries {
		for _, c := range pending {
			rng := s.rngs[c]
			code, theta, _ := s.proposal.row(c)
			s.startModel(rng, c, sparsity*sparsity*shrink, code)
			for j := range theta {
				theta[j] = firstScale * shrink * rng.NormFloat64()
			}
		}
		if err := s.oneByOne(func(w *workspace, b *block) error { return s.startBlock(w, b, try == 0) }); err != nil {
			return err
		}
		pending = slices.DeleteFunc(pending, func(c int) bool {
			l := s.proposal.logDensity[c]
			return !math.IsNaN(l) && !math.IsInf(l, 0)
		})
		if len(pending) == 0 {
			for c := range s.rows {
				s.proposal.copyRow(s.state, c)
				s.proposal.copyApproximation(s.state, c)
				_, _, mask := s.state.row(c)
				// a model without active coordinates has no values that could move
				s.atStart[c] = slices.Contains(mask, true)
			}
			return nil
		}
		shrink *= 0.9
	}
	c := pending[0]
	code, _, _ := s.proposal.row(c)
	return fmt.Errorf("rjmcmc: no start with a finite log density for %d of %s in %d tries; chain %d has %g at codes %v: check the target, or scale its parameters to about one",
		len(pending), english.Count(s.rows, "chain"), startTries, c, s.proposal.logDensity[c], code)
}

// startBlock evaluates proposed starts. On the first try, it draws their values from the
// approximation of the target if this is a QuadraticTarget.
func (s *sampler) startBlock(w *workspace, b *block, first bool) error {
	if err := s.density.masks(s.proposal, b); err != nil {
		return err
	}
	_, mask, theta := s.proposal.rows(b)
	for i, on := range mask {
		if !on {
			theta[i] = 0
		}
	}
	if s.proposal.models == nil {
		if err := s.density.quadratics(s.proposal, b); err != nil {
			return err
		}
	}
	if s.density.quadratic != nil && first {
		for c := b.first; c < b.last; c++ {
			s.startValues(w, c)
		}
	}
	return s.evaluate(s.proposal, b)
}

// startModel writes the first model of chain c. It comes from Config.Starts, or is drawn at random
// such that the share of sites with another outcome than 0 is uniform up to the argument share.
func (s *sampler) startModel(rng *rand.Rand, c int, share float64, code []int32) {
	if len(s.cfg.Starts) > 0 {
		copy(code, s.cfg.Starts[c%len(s.cfg.Starts)])
		return
	}
	dense := rng.Float64() * share
	if s.list != nil {
		var set []int32
		for len(set) < s.list.Slots() && rng.Float64() < dense {
			if item := int32(rng.IntN(s.list.Items())); !slices.Contains(set, item) {
				set = append(set, item)
			}
		}
		s.list.Code(set, code)
		return
	}
	for site := range code {
		code[site] = 0
		if rng.Float64() < dense {
			code[site] = int32(rng.IntN(s.cards[site]))
		}
	}
}

// startValues draws values from the approximation of row c's model, if it exists, with three times
// its standard deviation.
func (s *sampler) startValues(w *workspace, c int) {
	w.reset()
	_, theta, mask := s.proposal.row(c)
	active := w.active(mask)
	st, ok := s.standardOf(w, s.proposal, c, active, nil)
	if !ok {
		return
	}
	u := w.take(len(active))
	for a := range u {
		u[a] = 3 * s.rngs[c].NormFloat64()
	}
	st.fromStandard(u)
	for a, j := range active {
		theta[j] = u[a]
	}
}

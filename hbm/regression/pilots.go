package regression

import (
	gocontext "context"
	"fmt"
	"math"
	"slices"

	"github.com/transdim/vti/internal/psis"
)

// Draws of the hyperparameters of each of several models before it is known which matter: of all;
// of those that are then less than hopelessNats below the best; and, once those that have a part in
// the answer have a proposal that suits them, of these. A proposal suits if it leaves pilotESS of
// the draws; evidences by one that does not may be too small by missedNats more than mayMatter
// allows for. Weights of a model with a notable part in the answer whose tail is heavier than
// mendedK cost many draws later, so that its proposal is refined once more. Chosen by hand: on
// verbagg the proposal of the largest model, which suits few others, left evidences up to 7 nats
// too small.
const (
	glanceDraws  = 1 << 4
	pilotDraws   = 1 << 6
	notableDraws = 1 << 8
	hopelessNats = 50
	missedNats   = 6
	pilotESS     = 0.2
	mostRefined  = 2 // times
)

// pilots makes draws of every model, of those that cannot matter a few, from the proposal of the
// largest or, where it does not suit a model that may matter, from one that was refined for it.
// Models with monotonic effects have proposals of their own. The last of the models has all
// hyperparameters: those of others are about as far from zero, and their modes not far.
func (f *integral) pilots(ctx gocontext.Context, e effort) error {
	last := f.list[len(f.list)-1]
	if err := f.begin(ctx, last, e, pilotDraws); err != nil {
		return err
	}
	best := last.logPrior + last.weights.LogMean
	for _, m := range f.list[:len(f.list)-1] {
		var err error
		if f.r.sticks(m.mask) > 0 { // its effect may have the other sign, and other shares
			err = f.begin(ctx, m, e, pilotDraws)
		} else {
			f.follow(last, m, e)
			err = f.extend(ctx, m, glanceDraws, "glance")
		}
		if err != nil {
			return err
		}
		best = max(best, m.logPrior+m.weights.LogMean)
	}
	for _, m := range f.list {
		if m.logPrior+m.weights.LogMean > best-hopelessNats {
			if err := f.extend(ctx, m, pilotDraws-len(m.sample.Points), "pilot"); err != nil {
				return err
			}
		}
	}
	for round := range mostRefined {
		f.combine()
		for k, m := range f.list {
			if !m.suited() && mayMatter(m.evidence(), f.Probability[k]*math.Exp(missedNats)) {
				if err := f.refine(ctx, m, fmt.Sprintf("refine/%d", round)); err != nil {
					return err
				}
			}
		}
	}
	f.combine()
	for k, m := range f.list {
		if mayMatter(m.evidence(), f.Probability[k]) {
			if err := f.extend(ctx, m, notableDraws-len(m.sample.Points), "notable"); err != nil {
				return err
			}
		}
	}
	f.combine()
	for k, m := range f.list {
		if m.proposal != nil && m.weights.K > mendedK && f.Probability[k] > 10*notableModel {
			if err := f.refine(ctx, m, "mended"); err != nil {
				return err
			}
		}
	}
	return nil
}

// follow gives a model the proposal, and the searches for modes, of one that has its
// hyperparameters and others.
func (f *integral) follow(of, m *modelIntegral, e effort) {
	m.by = of.by
	if len(m.free) == 0 {
		return
	}
	var places []int
	for _, j := range m.free {
		places = append(places, slices.Index(of.free, j))
	}
	m.proposal = of.proposal.Of(places, f.problem(m, e).LogDensity)
}

// suited reports whether enough of the draws of a pilot are effective.
func (m *modelIntegral) suited() bool {
	return len(m.free) == 0 || m.weights.K <= psis.Reliable && m.weights.ESS >= pilotESS*float64(len(m.sample.Points))
}

// refine takes the proposal of a pilot to where the weights of its draws are, and draws anew.
func (f *integral) refine(ctx gocontext.Context, m *modelIntegral, what string) error {
	better, err := m.proposal.Refined(ctx, m.sample, f.random(m, what))
	if err != nil || better == nil {
		return err
	}
	n := len(m.sample.Points)
	m.restart(better)
	return f.extend(ctx, m, n, what+"/draws")
}

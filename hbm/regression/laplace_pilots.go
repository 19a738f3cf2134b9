package regression

import (
	gocontext "context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/transdim/vti/internal/integrate"
	"github.com/transdim/vti/internal/psis"
	"github.com/transdim/vti/internal/stream"
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

// neighbour is what is known of a model that has the hyperparameters of another, and maybe more:
// those of the other are about as far from zero, and its modes not far.
type neighbour struct {
	free     []int
	proposal *integrate.Proposal
	effects  *laplaceEffects // with searches that start at a mode
	pairs    int
}

// estimates makes a model estimate its density by the searches of its neighbour.
func (of *neighbour) estimates(m *modelIntegral, seed uint64) {
	m.estimate = func(i int, h []float64) float64 {
		random := stream.Rand(seed, fmt.Sprintf("hbm/outer/%v/%d", m.code, i))
		var logEstimate float64
		logEstimate, m.outer[i] = of.effects.estimate(m, h, of.pairs, random)
		return logEstimate
	}
}

// follow gives a model the proposal of its neighbour.
func (of *neighbour) follow(m *modelIntegral, seed uint64) {
	of.estimates(m, seed)
	if len(m.free) == 0 {
		return
	}
	var places []int
	for _, j := range m.free {
		places = append(places, slices.Index(of.free, j))
	}
	m.proposal = of.proposal.Of(places, func(h []float64) float64 {
		return of.effects.logMarginal(m.mask, m.at(h, make([]float64, of.effects.r.Dim())))
	})
}

// pilots makes draws of every model, of those that cannot matter a few, from the proposal of the
// largest or, where it does not suit a model that may matter, from one that was refined for it.
// Models with monotonic effects have proposals of their own. The last of models has all
// hyperparameters.
func (l *laplaceEffects) pilots(ctx gocontext.Context, models []*modelIntegral, logPrior []float64, seed uint64) error {
	last := models[len(models)-1]
	of, err := l.begin(ctx, last, pilotDraws, seed)
	if err != nil {
		return fmt.Errorf("%s: %w", l.r.FormulaOf(last.code), err)
	}
	random := func(m *modelIntegral, what string) *rand.Rand {
		return stream.Rand(seed, fmt.Sprintf("hbm/%s/%v", what, m.code))
	}
	best := last.weights.LogMean + logPrior[len(models)-1]
	for k, m := range models[:len(models)-1] {
		if l.r.sticks(m.mask) > 0 { // its effect may have the other sign, and other shares
			if _, err := l.begin(ctx, m, pilotDraws, seed); err != nil {
				return fmt.Errorf("%s: %w", l.r.FormulaOf(m.code), err)
			}
			best = max(best, m.weights.LogMean+logPrior[k])
			continue
		}
		of.follow(m, seed)
		if err := m.extend(ctx, glanceDraws, random(m, "glance")); err != nil {
			return err
		}
		best = max(best, m.weights.LogMean+logPrior[k])
	}
	for k, m := range models {
		if more := pilotDraws - len(m.sample.Points); more > 0 && m.weights.LogMean+logPrior[k] > best-hopelessNats {
			if err := m.extend(ctx, more, random(m, "pilot")); err != nil {
				return err
			}
		}
	}
	for round := range mostRefined {
		for k, estimate := range l.r.certificateOf(models, logPrior).Models {
			m := models[k]
			if m.suited() {
				continue
			}
			if estimate.Certified *= math.Exp(missedNats); !mayMatter(estimate) {
				continue
			}
			if err := m.refine(ctx, random(m, fmt.Sprintf("refine/%d", round))); err != nil {
				return err
			}
		}
	}
	for k, estimate := range l.r.certificateOf(models, logPrior).Models {
		m := models[k]
		if more := notableDraws - len(m.sample.Points); more > 0 && mayMatter(estimate) {
			if err := m.extend(ctx, more, random(m, "notable")); err != nil {
				return err
			}
		}
	}
	for k, estimate := range l.r.certificateOf(models, logPrior).Models {
		m := models[k]
		if len(m.free) > 0 && m.weights.K > mendedK && estimate.Certified > 10*notableModel {
			if err := m.refine(ctx, random(m, "mended")); err != nil {
				return err
			}
		}
	}
	return nil
}

// suited reports whether enough of the draws of a pilot are effective.
func (m *modelIntegral) suited() bool {
	return len(m.free) == 0 || m.weights.K <= psis.Reliable && m.weights.ESS >= pilotESS*float64(len(m.sample.Points))
}

// refine takes the proposal of a pilot to where the weights of its draws are, and draws anew.
func (m *modelIntegral) refine(ctx gocontext.Context, random *rand.Rand) error {
	better, err := m.proposal.Refined(ctx, m.sample, random)
	if err != nil || better == nil {
		return err
	}
	n := len(m.sample.Points)
	m.proposal, m.sample, m.outer, m.kept = better, &integrate.Sample{}, nil, nil
	return m.extend(ctx, n, random)
}

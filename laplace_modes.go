package vti

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/transdim/vti/internal/logsum"
)

const (
	// mostModes bounds the modes of a model's proposal. Chosen by hand.
	mostModes = 32
	// thinlyProposed is how many times larger than the mean the weight of a draw has to be for
	// there to be another mode to look for where it is. Chosen by hand.
	thinlyProposed = 5.0
	// leastModeShare is the part of the draws, divided evenly, that goes to all modes whatever
	// their Laplace evidence: that of a skewed mode can be far too small. Chosen by hand.
	leastModeShare = 0.25
	// vainClimbs is the number of climbs to modes that are known, or to none, after which no more
	// are tried. Chosen by hand.
	vainClimbs = 16
)

// laplaceModes is a mixture of Laplace proposals of one model, one for each mode that was found.
type laplaceModes struct {
	modes  []*laplaceProposal
	shares []float64
}

// climbStart is a point to climb from, with log η there; −Inf where it is not known.
type climbStart struct {
	theta    []float64
	logJoint float64
}

// find climbs from those starts, in order, that the modes so far do not cover, and adds the modes
// that are new. It reports whether there was one.
func (m *laplaceModes) find(ctx context.Context, on surface, code []int32, active []int, starts []climbStart) (found bool, err error) {
	vain := 0
	for _, start := range starts {
		if len(m.modes) == mostModes || vain == vainClimbs {
			break
		}
		if len(m.modes) > 0 && start.logJoint-m.logDensity(start.theta)-m.logEvidence() <= math.Log(thinlyProposed) {
			continue
		}
		mode, err := newLaplaceProposal(ctx, on, code, active, slices.Clone(start.theta))
		if err != nil {
			return found, err
		}
		if mode == nil || slices.ContainsFunc(m.modes, func(known *laplaceProposal) bool { return known.near(mode) }) {
			vain++
			continue
		}
		m.modes, found = append(m.modes, mode), true
		m.share()
	}
	return found, nil
}

// share gives modes their parts of the draws.
func (m *laplaceModes) share() {
	total := m.logEvidence()
	m.shares = make([]float64, len(m.modes))
	for k, mode := range m.modes {
		m.shares[k] = leastModeShare/float64(len(m.modes)) + (1-leastModeShare)*math.Exp(mode.logEvidence()-total)
	}
}

// logEvidence is the Laplace approximation of log Z_m, the sum over the modes.
func (m *laplaceModes) logEvidence() float64 {
	terms := make([]float64, len(m.modes))
	for k, mode := range m.modes {
		terms[k] = mode.logEvidence()
	}
	return logsum.Of(terms)
}

// draw writes a draw to theta [D]; inactive coordinates are 0.
func (m *laplaceModes) draw(random *rand.Rand, theta []float64) {
	last := len(m.modes) - 1
	if last == 0 {
		m.modes[0].draw(random, theta)
		return
	}
	u, chosen := random.Float64(), last
	for k, share := range m.shares {
		if u -= share; u < 0 {
			chosen = k
			break
		}
	}
	m.modes[chosen].draw(random, theta)
}

// logDensity is that of the mixture at theta [D].
func (m *laplaceModes) logDensity(theta []float64) float64 {
	terms := make([]float64, len(m.modes))
	for k, mode := range m.modes {
		terms[k] = math.Log(m.shares[k]) + mode.logDensity(theta)
	}
	return logsum.Of(terms)
}

// near reports whether another mode is this one, found again: a climb ends well within a hundredth
// of a standard deviation, two maxima are never that close.
func (p *laplaceProposal) near(other *laplaceProposal) bool {
	const closeTo = 0.05
	return p.square(other.mode) < closeTo*closeTo
}

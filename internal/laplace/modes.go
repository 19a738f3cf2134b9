package laplace

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/dense"
	"github.com/transdim/vti/internal/distinct"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/pick"
	"github.com/transdim/vti/internal/proposal"
)

const (
	// Error is the amount, in nats, that is added to a Laplace approximation of a log evidence to
	// make it an upper bound. TestLaplaceIsABound counts the skewed and heavy-tailed posteriors
	// whose evidence exceeds the bound.
	Error = 1.0
	// degrees is the number of degrees of freedom of the t distribution at a mode. It is small
	// enough that the tails are heavier than the tails of any posterior with a proper normal prior,
	// and large enough that little efficiency is lost in some tens of dimensions. Half and twice
	// give the same answers (docs/benchmarks/constants.md).
	degrees = 5
	// mostModes is the largest number of modes of a model's proposal. Half and twice give the same
	// answers (docs/benchmarks/constants.md).
	mostModes = 32
	// thinlyProposed is the ratio of the weight of a draw to the mean weight above which a search
	// for another mode starts at the draw. Smaller ratios cost more searches. Half and twice give
	// the same answers (docs/benchmarks/constants.md).
	thinlyProposed = 5.0
	// leastModeShare is the fraction of the draws that is divided evenly among all modes. The
	// Laplace evidence, by which the other draws are divided, can be far too small for a skewed
	// mode. Half and twice give the same answers (docs/benchmarks/constants.md).
	leastModeShare = 0.25
	// vainClimbs is the number of climbs in a row without a new mode after which a search ends.
	// With more climbs, rarer modes are found and searches take longer.
	vainClimbs = 16
)

// Modes is a mixture of t distributions at the modes of one model. It is a proposal that does not
// depend on a flow.
type Modes struct {
	modes  []*Mode
	shares []float64
}

// Mode is a mode of log η(θ) = log p(y, θ | m), the joint density of data y and parameters θ.
type Mode struct {
	// Theta [D] is the mode, AtMode is log η at the mode, and LogEvidence is the contribution of
	// this mode to the Laplace approximation of log p(y | m).
	Theta               []float64
	AtMode, LogEvidence float64

	active []int
	t      proposal.T // distribution of the coordinates that the model uses
}

// Start is a point from which a search for a mode starts, with the log density there, or −Inf if
// the density is not known.
type Start struct {
	Theta    []float64
	LogJoint float64
}

// newMode climbs from start, which it overwrites. It returns nil if it finds no mode with negative
// curvature.
func newMode(ctx context.Context, on Surface, code []int32, active []int, start []float64) (*Mode, error) {
	precision, _, top, err := on.Climb(ctx, code, active, start)
	if err != nil || precision == nil {
		return nil, err
	}
	k, dim := len(active), len(start)
	point, hessian := make([]float64, k), make([]float64, k*k)
	for a, i := range active {
		point[a] = start[i]
		for b, j := range active {
			hessian[a*k+b] = precision[i*dim+j]
		}
	}
	factor, ok := dense.Factorize(hessian, k, 0)
	if !ok {
		return nil, nil
	}
	t := proposal.New(point, factor, degrees)
	return &Mode{start, top, t.LogIntegral(top), active, t}, nil
}

// draw writes a draw to theta [D]; inactive coordinates are 0.
func (m *Mode) draw(random *rand.Rand, theta []float64) {
	x := make([]float64, len(m.active))
	m.t.Draw(random, x)
	clear(theta)
	for a, j := range m.active {
		theta[j] = x[a]
	}
}

// activeOf are the active coordinates of theta [D].
func (m *Mode) activeOf(theta []float64) []float64 {
	return distinct.At(theta, m.active)
}

// logDensity returns the log density of the t distribution at theta [D].
func (m *Mode) logDensity(theta []float64) float64 {
	x := m.activeOf(theta)
	return m.t.LogDensity(x, x)
}

// matches reports whether m and the argument other are the same mode: climbs to one mode end within
// a hundredth of a standard deviation of each other, and two modes are never that close.
func (m *Mode) matches(other *Mode) bool {
	const closeTo = 0.05
	x := m.activeOf(other.Theta)
	return m.t.Square(x, x) < closeTo*closeTo
}

// All returns the modes found so far.
func (m *Modes) All() []*Mode { return m.modes }

// Find climbs from each start at which the density is much larger than the modes found so far
// explain, and adds the new modes. The result found reports whether there are any modes.
func (m *Modes) Find(ctx context.Context, on Surface, code []int32, active []int, starts []Start) (found bool, err error) {
	vain := 0
	for _, start := range starts {
		if len(m.modes) == mostModes || vain == vainClimbs {
			break
		}
		if len(m.modes) > 0 && start.LogJoint-m.LogDensity(start.Theta)-m.LogEvidence() <= math.Log(thinlyProposed) {
			continue
		}
		mode, err := newMode(ctx, on, code, active, slices.Clone(start.Theta))
		if err != nil {
			return found, err
		}
		if mode == nil || slices.ContainsFunc(m.modes, func(known *Mode) bool { return known.matches(mode) }) {
			vain++
			continue
		}
		m.modes, found = append(m.modes, mode), true
		m.share()
	}
	return found, nil
}

func (m *Modes) share() {
	total := m.LogEvidence()
	m.shares = make([]float64, len(m.modes))
	for k, mode := range m.modes {
		m.shares[k] = leastModeShare/float64(len(m.modes)) + (1-leastModeShare)*math.Exp(mode.LogEvidence-total)
	}
}

// LogEvidence returns the Laplace approximation of log p(y | m), the log of the sum over the modes.
func (m *Modes) LogEvidence() float64 {
	terms := apply.To(m.modes, func(mode *Mode) float64 { return mode.LogEvidence })
	return logsum.Of(terms)
}

// Draw writes a draw to theta [D]; inactive coordinates are 0.
func (m *Modes) Draw(random *rand.Rand, theta []float64) {
	chosen := 0
	if len(m.modes) > 1 {
		chosen = pick.Func(len(m.modes), random.Float64(), func(k int) float64 { return m.shares[k] })
	}
	m.modes[chosen].draw(random, theta)
}

// LogDensity returns the log density of the mixture at theta [D].
func (m *Modes) LogDensity(theta []float64) float64 {
	terms := make([]float64, len(m.modes))
	for k, mode := range m.modes {
		terms[k] = math.Log(m.shares[k]) + mode.logDensity(theta)
	}
	return logsum.Of(terms)
}

package regression

import (
	gocontext "context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/transdim/vti/internal/integrate"
	"github.com/transdim/vti/internal/psis"
	"github.com/transdim/vti/internal/stream"
)

// modelIntegral is the integral over the hyperparameters of one model.
type modelIntegral struct {
	code     []int32
	mask     []bool
	free     []int // the coordinates that are integrated over
	proposal *integrate.Proposal
	sample   *integrate.Sample
	weights  psis.Result
	// estimate, of responses that are not gaussian, estimates the density at the i-th point, and
	// outer has the effects that were drawn for it.
	estimate func(i int, h []float64) float64
	outer    []outerDraws
	// kept, where a density is dear, is what moments and draws need of each point
	kept []keptEffects
	// mended counts how often the proposal was
	mended int
	pilot  bool // its draws are few, from the proposal of another model
}

// keptEffects are the effects given hyperparameters, without their factor, and a draw of them.
type keptEffects struct {
	given *conditional
	drawn []float64
}

// keep makes a model keep the effects of every point, so that no density is computed twice.
func (m *modelIntegral) keep(effects *jointEffects, seed uint64) {
	m.estimate = func(i int, h []float64) float64 {
		theta := m.at(h, make([]float64, effects.r.Dim()))
		given, ok := effects.given(m.mask, theta)
		if !ok {
			return math.Inf(-1)
		}
		m.kept[i] = keptEffects{given, given.draw(stream.Rand(seed, fmt.Sprintf("hbm/kept/%v/%d", m.code, i)))}
		given.factor = nil
		return given.logDensity + effects.r.logPriorOfHyperparameters(m.mask, theta)
	}
}

// effectsAt are the effects given the hyperparameters of a point, and a draw of them; theta is
// overwritten. It reports false where they cannot be computed.
func (m *modelIntegral) effectsAt(effects *jointEffects, place int, theta []float64, random *rand.Rand) (*conditional, []float64, bool) {
	if m.kept != nil {
		return m.kept[place].given, m.kept[place].drawn, true
	}
	given, ok := effects.given(m.mask, m.at(m.sample.Points[place], theta))
	if !ok {
		return nil, nil, false
	}
	return given, given.draw(random), true
}

// begin leaves out all draws, those of a pilot.
func (m *modelIntegral) begin() {
	*m = modelIntegral{code: m.code, mask: m.mask, free: m.free, sample: &integrate.Sample{}}
}

// extend makes n more draws.
func (m *modelIntegral) extend(ctx gocontext.Context, n int, random *rand.Rand) (err error) {
	if n == 0 {
		return nil
	}
	if m.estimate != nil {
		m.outer, m.kept = append(m.outer, make([]outerDraws, n)...), append(m.kept, make([]keptEffects, n)...)
	}
	switch {
	case m.estimate == nil:
		err = m.proposal.Draw(ctx, m.sample, n, random)
	case m.proposal != nil:
		err = m.proposal.Estimate(ctx, m.sample, n, random, m.estimate)
	default: // no hyperparameters
		for i := len(m.sample.Points); n > 0; i, n = i+1, n-1 {
			if ctx.Err() != nil {
				return fmt.Errorf("integration stopped: %w", ctx.Err())
			}
			m.sample.Points, m.sample.LogProposal = append(m.sample.Points, nil), append(m.sample.LogProposal, 0)
			m.sample.LogDensity = append(m.sample.LogDensity, m.estimate(i, nil))
		}
	}
	m.weights = psis.Smooth(m.sample.LogWeights())
	return err
}

// evaluate weighs a sample of another distribution than the proposal, by a log density where the
// model does not estimate it.
func (m *modelIntegral) evaluate(ctx gocontext.Context, logDensity func(h []float64) float64) error {
	at := func(_ int, h []float64) float64 { return logDensity(h) }
	if m.estimate != nil {
		m.outer, m.kept, at = make([]outerDraws, len(m.sample.Points)), make([]keptEffects, len(m.sample.Points)), m.estimate
	}
	err := m.sample.Evaluate(ctx, at)
	m.weights = psis.Smooth(m.sample.LogWeights())
	return err
}

// mend begins a sample anew, from a proposal that covers where the weights of this one are largest,
// if their tail says that it would help. It reports whether it did.
func (m *modelIntegral) mend() bool {
	if m.estimate != nil || m.mended == mends || m.weights.K <= mendedK {
		return false
	}
	better := m.proposal.Mended(m.sample)
	if better == nil {
		return false
	}
	m.proposal, m.sample = better, &integrate.Sample{}
	m.mended++
	return true
}

// at puts hyperparameters into coordinates θ, which it returns.
func (m *modelIntegral) at(h, theta []float64) []float64 {
	for i, j := range m.free {
		theta[j] = h[i]
	}
	return theta
}

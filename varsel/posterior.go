package varsel

import (
	"fmt"
	"slices"

	"github.com/transdim/vti"
	"github.com/transdim/vti/likelihood"
	engine "github.com/transdim/vti/models"
	"github.com/transdim/vti/rjmcmc"
	"github.com/transdim/vti/varsel/exact"
	"github.com/transdim/vti/varsel/regression"
)

// anchoredPosterior is a posterior with approximations of all models, from which a flow starts.
type anchoredPosterior struct {
	*Target
	*modelAnchors
}

var (
	_ vti.KnownTarget     = (*Target)(nil)
	_ vti.KnownTarget     = (*SlotTarget)(nil)
	_ vti.QuadraticTarget = anchoredPosterior{}
)

// Known implements vti.KnownTarget: it returns the functions by which the engine computes answers
// without training, such as evidences in closed form.
func (t *Target) Known() engine.Known { return t.known() }

// Known implements vti.KnownTarget.
func (t *SlotTarget) Known() engine.Known { return t.base.known() }

// Posterior returns Slots, or Target if Slots is nil.
func (p *Problem) Posterior() vti.Target {
	if p.anchors != nil && p.forms() == nil {
		return anchoredPosterior{p.Target, p.anchors}
	}
	return p.models()
}

// known returns the functions by which the engine computes answers without training: closed forms
// or draws around modes, and searches for predictors that matter only together. For likelihoods
// with many modes it returns functions that find the modes instead.
func (p *Problem) known() (known engine.Known) {
	submodels, forms := p.models(), p.forms()
	if forms != nil {
		known.Evidences, known.Alone = engine.FromExact(forms), p.Model.Slab != (exact.Slab{})
	}
	if p.Model.Likelihood.Conjugate() && !known.Alone {
		if p.Slots != nil {
			known.BirthDeath = p.Slots.birthDeath()
		} else if p.summed() && len(p.Design.Predictors) > mostListed {
			known.Sum = p.sumModels
		}
	}
	switch concave := p.Model.Likelihood.LogConcave(); {
	case concave:
		known.Evidences = p.aroundModes()
		fallthrough
	case p.Model.Likelihood.Conjugate():
		search := jointSearch{submodels}
		known.Together, known.Instead, known.Enters = search.together, search.instead, search.enters
	default:
		// Given its precision, the log density of the beta likelihood is nearly concave. Under the
		// zero-inflated likelihood, where zeros have two possible sources, the density has
		// plateaus. Draws with a scale for each side of a mode reach these; a flow trained on few
		// rows does not.
		if p.Model.Likelihood == likelihood.BetaKind || p.Model.Likelihood == likelihood.ZeroInflatedKind {
			known.Evidences = p.aroundModes()
		}
		known.Expand, known.ModeStarts = heavyTailed{submodels}.expand(), heavyTailed{submodels}.modeStarts
	}
	if p.Slots != nil {
		known.Collapsed = p.Slots.augmented()
	} else if c := p.Target.collapse(); c != nil {
		known.Collapsed = func([][]int32) rjmcmc.Collapsed { return c }
	}
	return known
}

// aroundModes returns a proposer that estimates evidences by draws around modes.
func (p *Problem) aroundModes() engine.Proposer {
	proposer := engine.Proposer{Propose: laplaceProposals{p.models()}.propose}
	if p.UnknownScale() { // posteriors may be ridges
		proposer.First = firstOfRidge
	}
	return proposer
}

// forms returns evidences and posteriors in closed form, or by a quadrature over one parameter for
// each model. It returns nil if the likelihood and prior allow neither.
func (p *Problem) forms() engine.Exact {
	switch {
	case p.Model.Slab != (exact.Slab{}):
		always := func(coordinate int) bool { return slices.Contains(p.Design.Always, coordinate) }
		if p.Slots != nil {
			always = func(coordinate int) bool { return coordinate < len(p.Slots.fixed) }
		}
		return slabForms(p.models(), p.Model.Slab, always)
	case p.Model.Likelihood.Conjugate():
		forms := closedForms{
			models: p.models(), evidence: p.Target.LogEvidence,
			form: func(a regression.Active) (regression.Closed, error) { return p.Target.Posterior(a) },
		}
		if p.summed() {
			forms.all = p.allEvidences
		}
		return forms
	case p.Slots == nil && !p.Model.Likelihood.LogConcave():
		if assigned := p.assigned(); assigned != nil {
			return closedForms{models: p.Target, form: assigned.Of}
		}
	}
	return nil
}

// heavyTailed holds models under likelihoods with heavy tails, whose posteriors have many modes.
type heavyTailed struct{ models }

// expand returns a function that computes the log density of a model with its first and second
// derivatives. It returns nil for likelihoods without this function.
func (h heavyTailed) expand() func(code []int32, theta, slope, curvature []float64) (logJoint float64) {
	t := h.bits()
	heavy, ok := t.Responses.Likelihood.(likelihood.HeavyTailed)
	if !ok {
		return nil
	}
	return func(code []int32, theta, slope, curvature []float64) (logJoint float64) {
		return t.Expand(heavy, h.active(code), theta, slope, curvature)
	}
}

// modeStarts returns starting points of searches for the modes of a model, in all coordinates, and
// their log joint densities. The argument most bounds their number.
func (h heavyTailed) modeStarts(code []int32, most int) (theta [][]float64, logJoint []float64) {
	return h.bits().ElementalSets(h.active(code), h.Space().Dim(), most, fmt.Sprint("modes/", code))
}

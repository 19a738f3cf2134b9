package varsel

import (
	gocontext "context"

	"github.com/transdim/vti"
	"github.com/transdim/vti/rjmcmc"
	"github.com/transdim/vti/space"
)

// The posteriors of a problem, by what is known of their models beside densities: models as bits or
// as lists, with closed forms, proposals around a mode, or likelihoods with heavy tails.
type (
	exactBits struct {
		*Target
		closedForms
		jointSearch
	}
	exactSlots struct {
		*SlotTarget
		closedForms
		jointSearch
	}
	summedBits struct {
		exactBits
		problem *Problem
	}
	slabBits struct {
		*Target
		slabForms
		jointSearch
	}
	slabSlots struct {
		*SlotTarget
		slabForms
		jointSearch
	}
	laplaceBits struct {
		*Target
		laplaceProposals
		jointSearch
	}
	laplaceSlots struct {
		*SlotTarget
		laplaceProposals
		jointSearch
	}
	heavyBits struct {
		*Target
		heavyTailed
	}
	heavySlots struct {
		*SlotTarget
		heavyTailed
	}
	assignedBits struct {
		heavyBits
		*assignments
	}
	// with the approximations that a flow begins with
	anchoredLaplaceBits struct {
		laplaceBits
		*modelAnchors
	}
	anchoredHeavyBits struct {
		heavyBits
		*modelAnchors
	}
)

var (
	_ vti.ExactTarget      = exactBits{}
	_ vti.SummedTarget     = summedBits{}
	_ vti.BirthDeathTarget = exactSlots{}
	_ vti.QuadraticTarget  = exactSlots{}
	_ vti.SubstituteTarget = slabBits{}
	_ vti.SubstituteTarget = slabSlots{}
	_ vti.LaplaceTarget    = laplaceBits{}
	_ vti.LaplaceTarget    = laplaceSlots{}
	_ vti.JointTarget      = laplaceBits{}
	_ vti.CurvedTarget     = heavyBits{}
	_ vti.ModeStarter      = heavySlots{}
	_ vti.CollapsedTarget  = heavyBits{}
	_ vti.ExactTarget      = assignedBits{}
	_ vti.QuadraticTarget  = anchoredHeavyBits{}
)

// BirthDeath is the posterior for a process of births and deaths.
func (t exactSlots) BirthDeath() rjmcmc.Collapsed { return t.birthDeath() }

// SumModels is Exact.
func (t summedBits) SumModels(ctx gocontext.Context, progress func(done, total int)) (vti.ModelSum, bool, error) {
	return t.problem.sumModels(ctx, progress)
}

// Collapsed is the posterior without coefficients; nil where there is none.
func (t heavyBits) Collapsed() rjmcmc.Collapsed { return t.collapse() }

// Posterior is the target to work on: Slots if there is one, else Target, with all that is known of
// its models. Where the response is normal given its noise scale it is a vti.ExactTarget too, where
// its likelihood is log-concave a vti.LaplaceTarget.
func (p *Problem) Posterior() vti.Target {
	exact, concave, joint := p.Model.Likelihood.Conjugate(), p.Model.Likelihood.LogConcave(), jointSearch{p.models()}
	if p.Slots != nil {
		switch {
		case p.Model.Slab != (Slab{}):
			return slabSlots{p.Slots, p.slabForms(p.Slots), joint}
		case exact:
			return exactSlots{p.Slots, closedForms{p.Slots}, joint}
		case concave:
			return laplaceSlots{p.Slots, laplaceProposals{p.Slots}, joint}
		}
		return heavySlots{p.Slots, heavyTailed{p.Slots}}
	}
	switch {
	case p.Model.Slab != (Slab{}):
		return slabBits{p.Target, p.slabForms(p.Target), joint}
	case exact:
		bits := exactBits{p.Target, closedForms{p.Target}, joint}
		if _, ok := space.Count(p.Target.space); ok && len(p.Design.Predictors) > mostListed {
			return summedBits{bits, p}
		}
		return bits
	case concave:
		bits := laplaceBits{p.Target, laplaceProposals{p.Target}, joint}
		if anchors := p.anchors(); anchors != nil {
			return anchoredLaplaceBits{bits, anchors}
		}
		return bits
	}
	bits := heavyBits{p.Target, heavyTailed{p.Target}}
	if assigned := p.assigned(); assigned != nil {
		return assignedBits{bits, assigned}
	}
	if anchors := p.anchors(); anchors != nil {
		return anchoredHeavyBits{bits, anchors}
	}
	return bits
}

// slabForms are the closed forms under a mixture of g-priors.
func (p *Problem) slabForms(of models) slabForms {
	always := p.Design.Always
	if p.Slots != nil && of == models(p.Slots) { // the first coordinates
		always = always[:0:0]
		for j := range p.Design.Always {
			always = append(always, j)
		}
	}
	return slabForms{of, p.Model.Slab, always}
}

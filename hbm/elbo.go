package hbm

import (
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/ml/context"

	"github.com/transdim/vti/internal/stream"
)

// elbo draws from the family at the members of a replica and returns the reduced ELBO of each draw,
// [draws] Float64 (PAVI eq. 5 and 6).
func (p *Posterior) elbo(ctx *context.Context, r *replica, draws int) *Node {
	logJoint, logQ := p.densities(ctx, r, draws)
	return Sub(logJoint, logQ)
}

// densities draws from the family at the members of a replica, leaves the values in it, and returns
// log p and log q of each draw, [draws] Float64.
func (p *Posterior) densities(ctx *context.Context, r *replica, draws int) (logJoint, logQ *Node) {
	return p.densitiesAt(ctx, r, p.noise(ctx, r, draws))
}

// noise is what draws of each latent variable are made of, [plates..., draws, U]. It comes in pairs
// of opposite sign: what is odd in it, near the optimum most of the gradient with respect to
// locations, cancels.
func (p *Posterior) noise(ctx *context.Context, r *replica, draws int) []*Node {
	noise := make([]*Node, len(p.family.latents))
	for i, l := range p.family.latents {
		dims := append(r.dims(l.Variable), (draws+1)/2, l.dim)
		half := stream.Normal(ctx, r.graph, p.config.Seed, "noise/"+l.scope(), shapes.Make(r.dtype, dims...))
		noise[i] = SliceAxis(Concatenate([]*Node{half, Neg(half)}, -2), -2, AxisRange(0, draws))
	}
	return noise
}

// densitiesAt is densities for given standard normal noise, [plates..., draws, U] for each latent
// variable.
func (p *Posterior) densitiesAt(ctx *context.Context, r *replica, noise []*Node) (logJoint, logQ *Node) {
	logPs, logQs := p.termsAt(ctx, r, noise)
	for _, v := range p.model.variables {
		if v.role != Constant {
			logJoint = plus(logJoint, r.weigh(v, logPs[v]))
		}
		if v.role == Latent {
			logQ = plus(logQ, r.weigh(v, logQs[v]))
		}
	}
	return logJoint, logQ
}

// termsAt are the terms of densitiesAt: the log density under the model of each member of each
// variable with a density, and that under the family of the latent ones, [plates..., draws].
func (p *Posterior) termsAt(ctx *context.Context, r *replica, noise []*Node) (logP, logQ map[*Variable]*Node) {
	z := map[*Variable]*Node{}
	for i, l := range p.family.latents {
		z[l.Variable] = ConvertDType(noise[i], r.dtype)
	}
	logQ = p.family.draw(ctx.In(familyScope).Checked(false), r, z)
	logP = map[*Variable]*Node{}
	for _, v := range p.model.variables {
		if v.role != Constant {
			logP[v] = r.logProb(v)
		}
	}
	return logP, logQ
}

// plus adds to a sum that is nil at first, and broadcasts over draws.
func plus(sum, x *Node) *Node {
	if sum == nil {
		return x
	}
	return Add(sum, x)
}

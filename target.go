package vti

import (
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/transdim/vti/space"
)

// Target is a transdimensional posterior known up to its normalising constants: which models there
// are, their prior probabilities, and for each the joint density of data and parameters.
//
// The methods build graphs. B is a batch of (model, parameters) pairs; the float type of theta is
// the type to compute in. A Target never adds a density for inactive coordinates: the engine accounts for
// them, and they cancel (eq. 9).
type Target interface {
	// Space is the set of models and the coordinates each of them uses.
	Space() space.Space
	// LogPrior is log p(m), normalised over the space where that is possible. [B,S] int32 -> [B].
	LogPrior(codes *graph.Node) *graph.Node
	// LogJoint is log p(y, θ | m) = log η(θ | m), the prior of the active coordinates included and all
	// constants kept, so that it integrates to the evidence of m. It must not depend on theta
	// where mask is false. codes [B,S] int32, mask [B,D] bool, theta [B,D] -> [B].
	LogJoint(codes, mask, theta *graph.Node) *graph.Node
}

// ModelDistribution is q_ψ(m), a distribution over codes. Its variables live in the context it is given.
type ModelDistribution interface {
	// LogProb is log q(m) of codes [B,S] int32 -> [B] float64.
	LogProb(ctx *Context, codes *graph.Node) *graph.Node
	// Sample maps uniforms [B,S] float64 in [0,1) to codes [B,S] int32, a deterministic function of them.
	Sample(ctx *Context, uniforms *graph.Node) *graph.Node
}

// Flow is q_φ(θ | m) as a map between reference draws and saturated parameters, identity on inactive coordinates (CoSMIC).
// mask [B,D] bool, feats [B,C], z and theta [B,D]; logDet [B] is that of z -> theta in both directions.
type Flow interface {
	ToParams(ctx *Context, mask, feats, z *graph.Node) (theta, logDet *graph.Node)
	ToBase(ctx *Context, mask, feats, theta *graph.Node) (z, logDet *graph.Node)
}

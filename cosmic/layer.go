package cosmic

import (
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"

	"github.com/transdim/vti/internal/made"
)

// univariate is a monotone bijection τ_ρ of ℝ with parameters ρ, which is the identity at ρ = 0
// (section 2 of the VTI paper).
type univariate interface {
	// outputs lists, for each head (group of outputs) of the network, the number of parameters that
	// it gives a coordinate.
	outputs() []int
	// toParams returns θ = τ_ρ(z) and log dθ/dz, both [B, D], for rho[h] of shape [B,
	// D·outputs()[h]] and z [B, D]. Neither the results nor their gradients are NaN for finite
	// inputs, in active and in inactive coordinates: selection cannot hide a NaN from a gradient.
	toParams(rho []*graph.Node, z *graph.Node) (theta, logSlope *graph.Node)
	// toBase returns the z with τ_ρ(z) = θ, and log dθ/dz.
	toBase(rho []*graph.Node, theta *graph.Node) (z, logSlope *graph.Node)
}

// layer is one autoregressive step of a CoSMIC flow. Its coordinates are slots: the active
// coordinates first, then the inactive ones. The parameters ρ of slot s depend on the slots before
// s. Inactive slots stay unchanged.
type layer struct {
	tau    univariate
	net    *made.Bound
	active *graph.Node // [B, D] Bool: slots in use
}

// toParams maps z to θ, both [B, D] in slots, in one pass.
func (l layer) toParams(z *graph.Node) (theta, logSlope *graph.Node) {
	return selected{l.active, elementwise{l.tau, l.net.Outputs(z)}}.toParams(z)
}

// toBase inverts toParams. Each of its D passes through the network gives the final value of one
// more slot. Slots that are not yet final hold 0. Without this, their values might grow to infinity
// over the passes, and a masked weight of 0 times infinity would make other slots NaN.
func (l layer) toBase(theta *graph.Node) (z, logSlope *graph.Node) {
	slot := graph.Iota(theta.Graph(), shapes.Make(dtypes.Int32, theta.Shape().Dimensions...), 1)
	z = graph.Where(l.active, graph.ZerosLike(theta), theta)
	for s := range theta.Shape().Dim(1) {
		var candidate *graph.Node
		candidate, logSlope = l.tau.toBase(l.net.Outputs(z), theta)
		here := graph.Equal(slot, graph.Scalar(theta.Graph(), dtypes.Int32, s))
		z = graph.Where(graph.LogicalAnd(l.active, here), candidate, z)
	}
	// Before the last pass every slot but the last was final, and no ρ depends on the last slot.
	// All ρ of the last pass are therefore final.
	return z, active(l.active, logSlope)
}

package cosmic

import (
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/ml/context"

	"github.com/transdim/vti/internal/made"
)

// anchor is the fixed map that ends a flow with a Precision H and a Linear term b. For a model with
// active coordinates A it sends N(0, I) to N(μ_A, H_AA⁻¹) with H_AA μ_A = b_A. That is the posterior of
// every submodel at once where the log density of the saturated model is -½ θᵀHθ + bᵀθ and a model
// sets the other coordinates to zero, so the layers before it only learn what is not quadratic.
//
//	θ_A = U L⁻ᵀ (x_A + h)   with  U = diag(H_AA)^-½,  L Lᵀ = U H_AA U,  L h = U b_A
//
// It has no trainable variables. Nodes hold the batch last, [D, B], so that each step of the
// factorisation is one pass along contiguous memory.
type anchor struct {
	logUnit *graph.Node // log U [D, 1]
	shift   *graph.Node // h [D, B], or [D, 1] without factor
	factor  *factor     // nil where H is diagonal
}

// anchor returns the anchor of the flow for mask [B, D], or nil if it has none. Its constants are
// variables, so that they are part of a checkpoint; those in ctx take precedence over the Config.
func (f *Flow) anchor(ctx *context.Context, mask *graph.Node, dtype dtypes.DType) *anchor {
	ctx = ctx.In("anchor")
	dim, initial := f.cfg.Dim, f.cfg.standardised()
	constant := func(name string, values []float64, dims ...int) *graph.Node {
		if values == nil && ctx.GetVariable(name) == nil {
			return nil
		}
		node := made.Variable(ctx, mask.Graph(), f.cfg.Seed, name, dtype, made.Values(values), dims...)
		ctx.GetVariable(name).SetTrainable(false)
		return node
	}
	logUnit, linear := constant("logunit", initial.logUnit, dim, 1), constant("linear", initial.linear, dim, 1)
	if logUnit == nil {
		return nil
	}
	a := &anchor{logUnit: logUnit, shift: linear}
	if couplings := constant("couplings", initial.couplings, dim, dim); couplings != nil {
		a.factor = newFactor(mask, couplings, linear)
		a.shift = a.factor.shift
	}
	return a
}

// toParams maps x to θ, both [B, D], and returns log ∂θ_i/∂x_i [B, D]; both count where mask is true.
func (a *anchor) toParams(mask, x *graph.Node) (theta, logSlope *graph.Node) {
	y := graph.Add(turned(active(mask, x)), a.shift)
	if l := a.factor; l != nil {
		y = linearMap(y, l.solveTransposed, l.solve)
	}
	return turned(graph.Mul(graph.Exp(a.logUnit), y)), a.logSlope(x)
}

// toBase inverts toParams and returns the same logSlope.
func (a *anchor) toBase(mask, theta *graph.Node) (x, logSlope *graph.Node) {
	y := graph.Mul(graph.Exp(graph.Neg(a.logUnit)), turned(active(mask, theta)))
	if l := a.factor; l != nil {
		y = linearMap(y, l.multiplyTransposed, l.multiply)
	}
	return turned(graph.Sub(y, a.shift)), a.logSlope(theta)
}

func (a *anchor) logSlope(like *graph.Node) *graph.Node {
	logSlope := a.logUnit
	if a.factor != nil {
		logSlope = graph.Sub(logSlope, graph.StopGradient(graph.Log(stacked(a.factor.diagonal))))
	}
	return graph.BroadcastToShape(turned(logSlope), like.Shape())
}

// active returns x with zeros where mask is false. The anchor multiplies what is there by zero, which would
// not hide an infinity.
func active(mask, x *graph.Node) *graph.Node { return graph.Where(mask, x, graph.ZerosLike(x)) }

func turned(x *graph.Node) *graph.Node { return graph.TransposeAllAxes(x, 1, 0) }

func stacked(rows []*graph.Node) *graph.Node { return graph.Concatenate(rows, 0) }

// linearMap returns M x, given functions that apply M and Mᵀ. It does not differentiate the former,
// which would repeat its steps at length, but takes the gradient from the latter.
func linearMap(x *graph.Node, apply, transposed func(*graph.Node) *graph.Node) *graph.Node {
	value := graph.StopGradient(x)
	carrier := graph.IdentityWithCustomGradient(x, func(_, gradient *graph.Node) *graph.Node { return transposed(gradient) })
	return graph.Add(graph.StopGradient(apply(value)), graph.Sub(carrier, value)) // plus exactly zero
}

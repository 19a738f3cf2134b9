package cosmic

import (
	"fmt"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/ml/context"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/made"
)

// anchor is the fixed last map of a flow whose Config has a Precision H and a Linear term b. For a
// model with active coordinates A it sends x_A ~ N(0, I) to N(μ_A, H_AA⁻¹), where H_AA μ_A = b_A:
//
//	θ_A = U L⁻ᵀ (x_A + h)   with  U = diag(H_AA)^-½,  L Lᵀ = U H_AA U,  L h = U b_A
//
// It has no trainable variables. The batch is the last axis of nodes, [D, B], so that each step of
// the factorisation is one pass along contiguous memory.
//
// All rows of a batch share the H and b of the Config, or each row has its own from [Flow.Given].
type anchor struct {
	mask    *graph.Node // [B, D] Bool
	logUnit *graph.Node // log U, [D, 1] if all rows share it and [D, B] if each row has its own
	shift   *graph.Node // h, [D, B], or [D, 1] if factor is nil
	factor  *factor     // L; nil if H is diagonal
}

// quadratic holds H and b of the quadratic -½ θᵀHθ + bᵀθ of each row of a batch.
type quadratic struct{ precision, linear *graph.Node } // [B, D, D], [B, D]

// Given returns a flow with a separate anchor for each row of a batch. The precision H [B, D, D]
// and the linear term b [B, D] replace Precision and Linear of the Config. For each row, an
// untrained flow is then the normal distribution N(H_AA⁻¹b_A, H_AA⁻¹) on the active coordinates A
// of the row. Only the entries of active coordinates are used. If H_AA is not positive definite,
// the anchor is some other normal distribution, and the flow is still valid. No gradient passes
// through precision or linear. The returned flow can be used only in the graph of these nodes. It
// shares the variables of f.
func (f *Flow) Given(precision, linear *graph.Node) *Flow {
	dim := f.cfg.Dim
	if precision.Rank() != 3 || precision.Shape().Dim(1) != dim || precision.Shape().Dim(2) != dim || linear.Rank() != 2 || linear.Shape().Dim(1) != dim {
		panic(fmt.Errorf("cosmic: Given: want a precision [B, %d, %d] and a linear term [B, %d], got %s and %s", dim, dim, dim, precision.Shape(), linear.Shape()))
	}
	anchored := *f
	anchored.quadratic = &quadratic{graph.StopGradient(precision), graph.StopGradient(linear)}
	return &anchored
}

// Mode returns the θ [B, D] that maximises each row's quadratic -½ θᵀHθ + bᵀθ over the active
// coordinates A: θ_A = H_AA⁻¹ b_A, and zero elsewhere. The arguments are mask [B, D] Bool,
// precision H [B, D, D] and linear b [B, D].
func Mode(mask, precision, linear *graph.Node) *graph.Node {
	zeros := graph.ZerosLike(linear)
	q := quadratic{graph.StopGradient(precision), graph.StopGradient(linear)}
	theta, _ := selected{mask, q.anchor(mask, linear.DType())}.toParams(zeros)
	return theta
}

func (q *quadratic) anchor(mask *graph.Node, dtype dtypes.DType) *anchor {
	dim := q.linear.Shape().Dim(1)
	// [D, D, B]
	precision := graph.TransposeAllAxes(graph.ConvertDType(q.precision, dtype), 1, 2, 0)
	diagonal := apply.UpTo(dim, func(j int) *graph.Node {
		return graph.Reshape(graph.Slice(precision, graph.AxisElem(j), graph.AxisElem(j)), 1, -1)
	})
	ones := graph.OnesLike(turned(graph.ConvertDType(mask, dtype)))
	positive := graph.Where(turned(mask), stacked(diagonal), ones)
	positive = graph.Where(graph.GreaterThan(positive, graph.ZerosLike(positive)), positive, ones)
	logUnit := graph.MulScalar(graph.Log(positive), -0.5)
	unit := graph.Exp(logUnit) // [D, B]
	couplings := graph.Mul(precision, graph.Mul(graph.InsertAxes(unit, 0), graph.InsertAxes(unit, 1)))
	linear := graph.Mul(turned(active(mask, graph.ConvertDType(q.linear, dtype))), unit)
	a := &anchor{mask: mask, logUnit: logUnit, factor: newFactor(mask, couplings, linear)}
	a.shift = a.factor.shift
	return a
}

// anchor returns the anchor of the flow for mask [B, D], or nil if it has none. The constants of
// the anchor are variables, so that a checkpoint contains them; variables already in ctx take
// precedence over the Config.
func (f *Flow) anchor(ctx *context.Context, mask *graph.Node, dtype dtypes.DType) *anchor {
	if f.quadratic != nil {
		return f.quadratic.anchor(mask, dtype)
	}
	ctx = ctx.In("anchor")
	dim, initial := f.cfg.Dim, f.cfg.standardised()
	constant := func(name string, values []float64, dims ...int) *graph.Node {
		if values == nil && ctx.GetVariable(name) == nil {
			return nil
		}
		// Float64 keeps all digits of the constants, whatever the dtype of the graph.
		node := made.Variable(ctx, mask.Graph(), f.cfg.Seed, name, dtypes.Float64, made.Values(values), dims...)
		ctx.GetVariable(name).SetTrainable(false)
		return graph.ConvertDType(node, dtype)
	}
	logUnit, linear := constant("logunit", initial.logUnit, dim, 1), constant("linear", initial.linear, dim, 1)
	if logUnit == nil {
		return nil
	}
	a := &anchor{mask: mask, logUnit: logUnit, shift: linear}
	if couplings := constant("couplings", initial.couplings, dim, dim); couplings != nil {
		a.factor = newFactor(mask, graph.InsertAxes(couplings, -1), linear)
		a.shift = a.factor.shift
	}
	return a
}

// toParams maps x to θ, both [B, D], and returns log ∂θ_i/∂x_i [B, D], valid where mask is true.
func (a *anchor) toParams(x *graph.Node) (theta, logSlope *graph.Node) {
	y := graph.Add(turned(active(a.mask, x)), a.shift)
	if l := a.factor; l != nil {
		y = linearMap(y, l.solveTransposed, l.solve)
	}
	return turned(graph.Mul(graph.Exp(a.logUnit), y)), a.logSlope(x)
}

func (a *anchor) toBase(theta *graph.Node) (x, logSlope *graph.Node) {
	y := graph.Mul(graph.Exp(graph.Neg(a.logUnit)), turned(active(a.mask, theta)))
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

func turned(x *graph.Node) *graph.Node { return graph.TransposeAllAxes(x, 1, 0) }

func stacked(rows []*graph.Node) *graph.Node { return graph.Concatenate(rows, 0) }

// linearMap returns M x for a matrix M. The argument apply computes the product with M. The
// argument transposed computes the product with Mᵀ and is used for the gradient, because
// differentiating apply would repeat its steps.
func linearMap(x *graph.Node, apply, transposed func(*graph.Node) *graph.Node) *graph.Node {
	value := graph.StopGradient(x)
	carrier := graph.IdentityWithCustomGradient(x, func(_, gradient *graph.Node) *graph.Node { return transposed(gradient) })
	// The second term is exactly zero and carries the gradient.
	return graph.Add(graph.StopGradient(apply(value)), graph.Sub(carrier, value))
}

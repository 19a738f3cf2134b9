package made

import (
	"fmt"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/ml/context"

	"github.com/transdim/vti/internal/apply"
)

// nearlyIdentity is the half-width of the initial values of the last layer of a residual block. It
// is small, so that each block starts near the identity. It is not zero, so that both layers of a
// block have a gradient from the start.
const nearlyIdentity = 1e-3

// Bound is a network in one graph, together with its weights and with everything that depends on
// cond alone. Evaluating it several times repeats only the work that depends on x.
type Bound struct {
	net    *Network
	first  affine
	act0   *graph.Node // term that cond adds after the first layer, [B, H]; nil without cond
	blocks []boundBlock
	heads  []affine
}

// boundBlock is the map h + second(act(first(act(h)))) of a residual block, where act is the
// activation. The contribution of cond is part of the offset of the layer first.
type boundBlock struct{ first, second affine }

// affine maps x to x·weight + offset; a nil weight means zero.
type affine struct {
	weight *graph.Node // masked, [n, m]
	offset *graph.Node // [1, m] or [B, m]
}

func (a affine) apply(x *graph.Node) *graph.Node {
	return graph.Add(graph.MatMul(x, a.weight), a.offset)
}

// Bind returns the network with the weights in ctx's scope, conditioned on cond [B, C]. The
// argument cond must be nil if Context is 0.
func (n *Network) Bind(ctx *context.Context, g *graph.Graph, dtype dtypes.DType, cond *graph.Node) *Bound {
	switch {
	case n.cfg.Context == 0 && cond != nil:
		panic(errorf("Bind: the network has no context, got one of shape %s", cond.Shape()))
	case n.cfg.Context > 0 && cond == nil:
		panic(errorf("Bind: the network needs a context [B, %d], got nil", n.cfg.Context))
	case cond != nil:
		cond.AssertDims(-1, n.cfg.Context)
	}
	b := &Bound{net: n}
	h := n.cfg.Hidden
	hidden := n.hiddenMask().node(g, dtype)
	weight := func(ctx *context.Context, m *graph.Node, init Init) *graph.Node {
		return graph.Mul(Variable(ctx, g, n.cfg.Seed, "weight", dtype, init, m.Shape().Dimensions...), m)
	}
	bias := func(ctx *context.Context, size int, init Init) *graph.Node {
		return row(Variable(ctx, g, n.cfg.Seed, "bias", dtype, init, size))
	}
	condition := func(ctx *context.Context) *graph.Node {
		c := n.cfg.Context
		return Linear(ctx.In("context"), n.cfg.Seed, cond, h, FanIn(c), FanIn(c))
	}

	d := n.cfg.Inputs
	in := ctx.In("input")
	b.first.offset = bias(in, h, FanIn(d))
	if d > 1 { // a single input reaches no unit, since output 0 must not depend on it
		b.first.weight = weight(in, n.inputMask().node(g, dtype), FanIn(d))
	}
	if cond != nil {
		b.act0 = n.cfg.Activation.Apply(condition(in))
	}
	for i := range n.cfg.Blocks {
		scope := ctx.In(fmt.Sprintf("block%d", i))
		in, out := scope.In("first"), scope.In("second")
		block := boundBlock{
			first:  affine{weight(in, hidden, FanIn(h)), bias(in, h, FanIn(h))},
			second: affine{weight(out, hidden, Uniform(nearlyIdentity)), bias(out, h, Uniform(nearlyIdentity))},
		}
		if cond != nil {
			block.first.offset = graph.Add(block.first.offset, condition(in))
		}
		b.blocks = append(b.blocks, block)
	}
	for i, outputs := range n.cfg.Heads {
		scope := ctx.In(fmt.Sprintf("head%d", i))
		m := n.headMask(outputs)
		b.heads = append(b.heads, affine{weight(scope, m.node(g, dtype), Zeros), bias(scope, m.cols, Zeros)})
	}
	return b
}

// Outputs evaluates the network at x [B, D]: one node [B, ΣHeads[h]] per head.
func (b *Bound) Outputs(x *graph.Node) []*graph.Node {
	x.AssertDims(-1, b.net.cfg.Inputs)
	act := b.net.cfg.Activation.Apply
	var h *graph.Node // [B, H]
	if b.first.weight != nil {
		h = b.first.apply(x)
	} else {
		h = graph.BroadcastToDims(b.first.offset, x.Shape().Dim(0), b.net.cfg.Hidden)
	}
	if b.act0 != nil {
		h = graph.Add(h, b.act0)
	}
	for _, block := range b.blocks {
		h = graph.Add(h, block.second.apply(act(block.first.apply(act(h)))))
	}
	return apply.To(b.heads, func(head affine) *graph.Node { return head.apply(h) })
}

package simd

import (
	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/pkg/errors"
)

// compile turns the operations that a builder recorded into an executable. It translates the nodes
// that outputs depend on into the compiler's own graph (graph.go, simplify.go, contract.go,
// fold.go), groups the nodes of that graph into units (fuse.go), and lowers the units to the steps
// of a program (lower.go).
func compile(b *Builder, outputs []*node) (_ *executable, err error) {
	// The compiler panics if an operation does not support the type of its operands.
	defer func() {
		if r := recover(); r != nil {
			cause, ok := r.(error)
			if !ok {
				panic(r)
			}
			err = errors.WithMessagef(cause, "simd: computation %q", b.name)
		}
	}()
	g := &graph{backend: b.backend, equal: map[string]*node{}, folding: true}
	translated := make([]*node, len(b.nodes))
	for _, n := range reachable(b.nodes, outputs) {
		inputs := make([]*node, len(n.inputs))
		for i, in := range n.inputs {
			inputs[i] = translated[in.id]
		}
		translated[n.id] = g.translate(n, inputs)
	}
	e := &executable{name: b.name}
	for _, n := range b.inputs {
		e.names = append(e.names, n.attr.(parameterAttr).name)
		e.inputShapes = append(e.inputShapes, n.shape())
	}
	results := make([]*node, len(outputs))
	taken := map[*node]bool{}
	for i, n := range outputs {
		e.outputShapes = append(e.outputShapes, shapes.Make(n.dtype, n.dims...))
		results[i] = g.output(translated[n.id], taken)
	}
	e.program = lower(b.backend, g.live(results), results, b.inputs)
	if observe := b.backend.observe; observe != nil {
		observe(e.program)
	}
	return e, nil
}

// reachable returns the nodes that outputs depend on, in the order of the argument nodes, without
// dead code.
func reachable(nodes, outputs []*node) []*node {
	needed := make([]bool, len(nodes))
	for _, n := range outputs {
		needed[n.id] = true
	}
	for i := len(nodes) - 1; i >= 0; i-- {
		if needed[i] {
			for _, in := range nodes[i].inputs {
				needed[in.id] = true
			}
		}
	}
	var kept []*node
	for i, n := range nodes {
		if needed[i] {
			kept = append(kept, n)
		}
	}
	return kept
}

// output returns a node that has the elements of n and that a program can compute as an output.
// Such a node is neither a view, a parameter nor a constant, and not in the set taken, which holds
// other outputs. The result is n, the node that n is a view of, or a copy of n.
func (g *graph) output(n *node, taken map[*node]bool) *node {
	if base, v := viewOf(n); base != n && v.dense(base.size()) && base.op != backends.OpTypeParameter && base.op != backends.OpTypeConstant && !taken[base] {
		// n and base have the same elements in the same order. Their shapes differ, but the
		// executable keeps the shape of the output itself.
		n = base
	}
	if n.op == opView || n.op == backends.OpTypeParameter || n.op == backends.OpTypeConstant || taken[n] {
		n = &node{id: len(g.nodes), op: backends.OpTypeIdentity, dtype: n.dtype, dims: n.dims, inputs: []*node{n}}
		g.nodes = append(g.nodes, n)
	}
	taken[n] = true
	return n
}

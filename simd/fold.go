package simd

import (
	"github.com/gomlx/gomlx/backends"
)

// maxFolded bounds the elements of a constant that the compiler computes, and so its time and
// memory.
const maxFolded = 1 << 20

// foldable reports whether a node depends on constants only and is small enough to be computed now.
func foldable(n *node) bool {
	if len(n.inputs) == 0 || n.op == opView || n.size() > maxFolded {
		return false
	}
	for _, in := range n.inputs {
		base, v := viewOf(in)
		if base.op != backends.OpTypeConstant {
			return false
		}
		if n.op == backends.OpTypeIdentity && v.uniform() && v.size() > 1 {
			// an array of zeros to scatter into: filling it in place is cheaper than keeping and
			// copying it
			return false
		}
	}
	return true
}

// evaluate computes one node whose inputs are constants, as a program of its own.
func (g *graph) evaluate(n *node) *block {
	alone := &graph{backend: g.backend, equal: map[string]*node{}}
	inputs := make([]*node, len(n.inputs))
	for i, in := range n.inputs {
		base, v := viewOf(in)
		inputs[i] = alone.seen(alone.constant(base.dtype, base.dims, base.attr.(constantAttr).data), v)
	}
	out := alone.add(n.op, n.dtype, n.dims, n.attr, inputs...)
	p := lower(g.backend, alone.live([]*node{out}), []*node{out}, nil)
	result := &block{words: make([]uint64, n.bytes()/8+1)}
	f := p.newFrame()
	f.memory[p.outputs[0].id] = result.pointer()
	f.run()
	return result
}

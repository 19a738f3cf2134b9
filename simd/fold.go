package simd

import (
	"github.com/gomlx/gomlx/backends"
)

// maxFolded is the largest number of elements of a node that is computed at compile time. It bounds
// the time and memory of compilation.
const maxFolded = 1 << 20

// foldable reports whether node n is computed at compile time: its inputs are constants and it has
// at most maxFolded elements.
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
			// The value is an array of equal elements, for instance zeros to scatter into. Filling
			// the array at run time is cheaper than keeping and copying it.
			return false
		}
	}
	return true
}

// evaluate computes node n, whose inputs are constants, with a program that consists of this node
// alone.
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

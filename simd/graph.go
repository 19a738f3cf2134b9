package simd

import (
	"fmt"
	"hash/maphash"
	"slices"
	"strconv"
	"unsafe"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
)

// graph is the compiler's own copy of a computation. In it,
//   - an operation that only rearranges elements is a node with operation opView (a view), whose
//     input is not a view;
//   - inputs of an element-wise operation have exactly its dimensions, since broadcasts are views;
//   - equal nodes are one node, and a node that depends on constants only is a constant.
//
// Method add creates nodes in topological order and looks for an equal node first.
type graph struct {
	backend *Backend
	nodes   []*node
	equal   map[string]*node
	folding bool // whether nodes that depend on constants only are computed at compile time
}

var hashSeed = maphash.MakeSeed()

// add returns a node with the given operation: an equal node of g if there is one, or a new node.
func (g *graph) add(op backends.OpType, dtype dtypes.DType, dims []int, attr any, inputs ...*node) *node {
	key := g.key(op, dtype, dims, attr, inputs)
	if n, ok := g.equal[key]; ok && !(op == backends.OpTypeConstant && !sameConstant(n, attr)) {
		return n
	}
	n := &node{id: len(g.nodes), op: op, dtype: dtype, dims: dims, attr: attr, inputs: inputs}
	if g.folding && foldable(n) {
		n = g.constant(dtype, dims, g.evaluate(n))
	} else {
		g.nodes = append(g.nodes, n)
	}
	g.equal[key] = n
	return n
}

func (g *graph) key(op backends.OpType, dtype dtypes.DType, dims []int, attr any, inputs []*node) string {
	key := make([]byte, 0, 64)
	key = strconv.AppendInt(key, int64(op), 10)
	key = append(key, ':')
	key = strconv.AppendInt(key, int64(dtype), 10)
	for _, d := range dims {
		key = append(key, ',')
		key = strconv.AppendInt(key, int64(d), 10)
	}
	for _, in := range inputs {
		key = append(key, '#')
		key = strconv.AppendInt(key, int64(in.id), 10)
	}
	switch attr := attr.(type) {
	case nil:
	case constantAttr:
		key = append(key, '=')
		key = strconv.AppendUint(key, maphash.Bytes(hashSeed, blockBytes(attr.data)), 16)
	default:
		key = append(key, '|')
		key = fmt.Append(key, attr)
	}
	return string(key)
}

func sameConstant(n *node, attr any) bool {
	return slices.Equal(n.attr.(constantAttr).data.words, attr.(constantAttr).data.words)
}

func blockBytes(b *block) []byte { return unsafe.Slice((*byte)(b.pointer()), 8*len(b.words)) }

func (g *graph) constant(dtype dtypes.DType, dims []int, data *block) *node {
	return g.add(backends.OpTypeConstant, dtype, dims, constantAttr{data})
}

// scalar returns a constant node without axes.
func (g *graph) scalar(dtype dtypes.DType, value float64) *node {
	data := &block{words: make([]uint64, 1)}
	storeNumber(dtype, data.pointer(), value)
	return g.constant(dtype, nil, data)
}

// viewOf returns n as a view of the node that holds the elements of n in memory.
func viewOf(n *node) (base *node, v view) {
	if n.op == opView {
		return n.inputs[0], n.attr.(view)
	}
	return n, rowMajor(n.dims)
}

// seen returns a node that is the view v of base. base must not be a view itself.
func (g *graph) seen(base *node, v view) *node {
	if slices.Equal(v.dims, base.dims) && v.dense(base.size()) {
		return base
	}
	return g.add(opView, base.dtype, v.dims, v, base)
}

// reshaped returns n with new dimensions. It copies elements only if no view is the result.
func (g *graph) reshaped(n *node, dims []int) *node {
	base, v := viewOf(n)
	if r, ok := v.reshape(dims); ok {
		return g.seen(base, r)
	}
	return g.seen(g.copied(n), rowMajor(dims))
}

// copied returns a node that holds the elements of n in row-major order.
func (g *graph) copied(n *node) *node {
	if n.op != opView {
		return n
	}
	return g.add(backends.OpTypeIdentity, n.dtype, n.dims, nil, n)
}

// broadcastTo repeats n to dimensions dims, by the rules of binary operations.
func (g *graph) broadcastTo(n *node, dims []int) *node {
	if slices.Equal(n.dims, dims) {
		return n
	}
	base, v := viewOf(n)
	return g.seen(base, v.broadcastTo(dims))
}

// translate adds node n of a builder to g and returns its translation. The argument inputs holds
// the translations of the inputs of n.
func (g *graph) translate(n *node, inputs []*node) *node {
	first := func() (*node, view) { return viewOf(inputs[0]) }
	switch n.op {
	case backends.OpTypeIdentity:
		return inputs[0]
	case backends.OpTypeReshape:
		return g.reshaped(inputs[0], n.dims)
	case backends.OpTypeTranspose:
		base, v := first()
		return g.seen(base, v.transpose(n.attr.([]int)))
	case backends.OpTypeBroadcastInDim:
		base, v := first()
		attr := n.attr.(broadcastAttr)
		return g.seen(base, v.broadcast(attr.dims, attr.axes))
	case backends.OpTypeSlice:
		base, v := first()
		attr := n.attr.(sliceAttr)
		return g.seen(base, v.slice(attr.starts, attr.limits, attr.steps))
	case backends.OpTypeReverse:
		base, v := first()
		return g.seen(base, v.reverse(n.attr.([]int)))
	case backends.OpTypeIota:
		return g.iota(n.dtype, n.dims, n.attr.(int))
	case backends.OpTypeDotGeneral:
		return g.dotGeneral(n.dims, n.attr.(productAttr), inputs[0], inputs[1])
	case backends.OpTypeConcatenate: // its step can read views
		return g.add(n.op, n.dtype, n.dims, n.attr, inputs...)
	case backends.OpTypePad:
		return g.add(n.op, n.dtype, n.dims, n.attr, inputs[0], g.copied(inputs[1]))
	}
	switch {
	case isElementwise(n.op):
		return g.elementwise(n.op, n.dtype, n.dims, inputs...)
	case isReduction(n.op):
		return g.reduction(n.op, n.dims, n.attr.([]int), inputs[0])
	}
	dense := make([]*node, len(inputs))
	for i, in := range inputs {
		dense[i] = g.copied(in)
	}
	return g.add(n.op, n.dtype, n.dims, n.attr, dense...)
}

// iota returns a view of the constant 0, 1, 2, … that counts along axis.
func (g *graph) iota(dtype dtypes.DType, dims []int, axis int) *node {
	size := dtype.Size()
	data := &block{words: make([]uint64, dims[axis]*size/8+1)}
	for i := range dims[axis] {
		storeNumber(dtype, unsafe.Add(data.pointer(), i*size), float64(i))
	}
	v := view{dims: dims, strides: make([]int, len(dims))}
	v.strides[axis] = 1
	return g.seen(g.constant(dtype, []int{dims[axis]}, data), v)
}

// live returns the nodes that outputs depend on, in topological order. It numbers these nodes anew,
// from 0.
func (g *graph) live(outputs []*node) []*node {
	kept := reachable(g.nodes, outputs)
	for i, n := range kept {
		n.id = i
	}
	return kept
}

package simd

import (
	"unsafe"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/pkg/errors"
)

// lowering turns units into the steps of a program.
type lowering struct {
	*program
	stored []*value // memory of each node; nil for views and for results used only inside a group
	uses   []int    // how often each node is used by other nodes and as an output
	unit   map[*node]*unit

	outMask  map[*node][]bool  // elements of a product that are used; absent if all are
	patterns map[string][]bool // results of zeroPattern
	plans    map[any]any       // plans of products, by planKey
}

// lower compiles nodes, the nodes that outputs depend on in topological order, into a program. The
// outputs must be distinct nodes, and no parameters, constants or views. The argument parameters
// holds all parameters of the computation in order.
func lower(b *Backend, nodes, outputs, parameters []*node) *program {
	l := &lowering{
		program: &program{backend: b, parameters: make([]*value, len(parameters))},
		stored:  make([]*value, len(nodes)),
		uses:    make([]int, len(nodes)),
		unit:    map[*node]*unit{},

		outMask:  map[*node][]bool{},
		patterns: map[string][]bool{},
		plans:    map[any]any{},
	}
	for _, n := range nodes {
		for _, in := range n.inputs {
			l.uses[in.id]++
		}
		switch n.op {
		case backends.OpTypeParameter:
			l.stored[n.id] = l.newValue(n.dtype, n.size(), parameter)
			l.parameters[n.attr.(parameterAttr).index] = l.stored[n.id]
		case backends.OpTypeConstant:
			l.stored[n.id] = l.newValue(n.dtype, n.size(), constant)
			l.stored[n.id].data = n.attr.(constantAttr).data
		}
	}
	for _, n := range outputs {
		l.uses[n.id]++
		l.stored[n.id] = l.newValue(n.dtype, n.size(), output)
		l.outputs = append(l.outputs, l.stored[n.id])
	}
	units := fuse(nodes, !b.config.unfused)
	for _, u := range units {
		for _, n := range u.nodes {
			l.unit[n] = u
		}
	}
	l.storeResults(nodes)
	l.findOutMasks(nodes)
	for _, u := range units {
		switch {
		case u.size == 0 && u.nodes[0].size() == 0: // nothing to compute
		case !u.fused:
			l.lowerNode(u.nodes[0])
		case l.rearranges(u):
			l.lowerRearrangement(u.nodes[0])
		default:
			l.lowerGroup(u)
		}
	}
	l.planMemory()
	return l.program
}

func (l *lowering) newValue(dtype dtypes.DType, size int, kind valueKind) *value {
	v := &value{id: len(l.values), dtype: dtype, size: size, kind: kind, firstStep: -1, lastStep: -1}
	l.values = append(l.values, v)
	return v
}

// storeResults creates values for the results that need memory: all results except those that are
// used only inside a group.
func (l *lowering) storeResults(nodes []*node) {
	store := func(n *node) {
		if l.stored[n.id] == nil {
			l.stored[n.id] = l.newValue(n.dtype, n.size(), temporary)
		}
	}
	for _, n := range nodes {
		if n.op == opView {
			continue
		}
		if u := l.unit[n]; u != nil && (!u.fused || isReduction(n.op)) {
			store(n)
		}
		for _, in := range n.inputs {
			base, v := viewOf(in)
			if l.unit[base] != l.unit[n] || !v.dense(base.size()) {
				store(base)
			}
		}
	}
}

// emit appends a step.
func (l *lowering) emit(s scheduled) {
	l.steps = append(l.steps, s)
}

// operand returns n as a view of the value that holds the elements of n.
func (l *lowering) operand(n *node) (*value, view) {
	base, v := viewOf(n)
	return l.stored[base.id], v
}

// lowerNode emits the step of a node that is neither element-wise nor a reduction.
func (l *lowering) lowerNode(n *node) {
	switch n.op {
	case backends.OpTypeDotGeneral:
		l.lowerProduct(n)
	case backends.OpTypeConcatenate:
		l.lowerConcatenate(n)
	case backends.OpTypePad:
		l.lowerPad(n)
	case backends.OpTypeBitcast:
		l.lowerBitcast(n)
	case backends.OpTypeDynamicSlice:
		l.lowerDynamicSlice(n)
	case backends.OpTypeDynamicUpdateSlice:
		l.lowerDynamicUpdateSlice(n)
	case backends.OpTypeGather:
		l.lowerGather(n)
	case backends.OpTypeScatterSum, backends.OpTypeScatterMax, backends.OpTypeScatterMin:
		l.lowerScatter(n)
	case backends.OpTypeArgMinMax:
		l.lowerArgMinMax(n)
	case backends.OpTypeReduceWindow:
		l.lowerReduceWindow(n)
	case backends.OpTypeSelectAndScatterMax, backends.OpTypeSelectAndScatterMin:
		l.lowerSelectAndScatter(n)
	case opRandomState, opRandomBits:
		l.lowerRandom(n)
	default:
		panic(errors.Errorf("simd: internal: no step for operation %s", n.op))
	}
}

// elementAddress returns the address of element i of an array of type dtype that starts at p.
func elementAddress(p unsafe.Pointer, dtype dtypes.DType, i int) unsafe.Pointer {
	return unsafe.Add(p, i*dtype.Size())
}

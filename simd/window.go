package simd

import (
	"unsafe"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
)

// windowStep reduces the elements under a window that moves over an array.
type windowStep struct {
	windowAttr
	src, dst      int // ids of values
	in, out       view
	neutral       *block
	elem          int
	combine, copy tileFunc
	span          int // results per task
}

func (l *lowering) lowerReduceWindow(n *node) {
	attr := n.attr.(windowAttr)
	reduction := map[backends.ReduceOpType]backends.OpType{
		backends.ReduceOpSum: backends.OpTypeReduceSum, backends.ReduceOpProduct: backends.OpTypeReduceProduct,
		backends.ReduceOpMax: backends.OpTypeReduceMax, backends.ReduceOpMin: backends.OpTypeReduceMin,
	}[attr.reduce]
	if n.dtype == dtypes.Bool { // false < true
		reduction = map[backends.ReduceOpType]backends.OpType{
			backends.ReduceOpMax: backends.OpTypeReduceLogicalOr, backends.ReduceOpMin: backends.OpTypeReduceLogicalAnd,
		}[attr.reduce]
	}
	src, dst := l.stored[n.inputs[0].id], l.stored[n.id]
	start := (&graph{backend: l.backend, equal: map[string]*node{}}).neutral(reduction, n.dtype)
	l.emit(scheduled{
		step: &windowStep{windowAttr: attr, src: src.id, dst: dst.id, in: rowMajor(n.inputs[0].dims), out: rowMajor(n.dims),
			neutral: start.attr.(constantAttr).data, elem: n.dtype.Size(),
			combine: l.backend.kernels.vectors[opType{combines[reduction], n.dtype}],
			copy:    l.backend.kernels.vectors[opType{backends.OpTypeIdentity, n.dtype}],
			span:    max(1, gatherWork/product(attr.window))},
		reads: []*value{src}, writes: []*value{dst},
	})
}

func (s *windowStep) run(f *frame) { f.parallel(s, 0, (s.out.size()+s.span-1)/s.span) }

func (s *windowStep) task(f *frame, _, task, _ int) {
	src, dst := f.memory[s.src], f.memory[s.dst]
	window := rowMajor(s.window)
	for i := task * s.span; i < min((task+1)*s.span, s.out.size()); i++ {
		result := unsafe.Add(dst, i*s.elem)
		s.copy(result, s.neutral.pointer(), nil, nil, 1)
		for w := range window.size() {
			if from, ok := s.source(i, w); ok {
				s.combine(result, result, unsafe.Add(src, from*s.elem), nil, 1)
			}
		}
	}
}

// source returns the index of the element of the array at position w of the window of result i. ok
// is false if that position is outside the array or between elements that dilation moves apart.
func (s *windowStep) source(i, w int) (index int, ok bool) {
	for axis := len(s.out.dims) - 1; axis >= 0; axis-- {
		p := i%s.out.dims[axis]*s.steps[axis] + w%s.window[axis]*s.dilation[axis] - s.paddings[axis][0]
		i /= s.out.dims[axis]
		w /= s.window[axis]
		if p < 0 || p%s.baseDilation[axis] != 0 {
			return 0, false
		}
		if p /= s.baseDilation[axis]; p >= s.in.dims[axis] {
			return 0, false
		}
		index += p * s.in.strides[axis]
	}
	return index, true
}

// selectStep is the gradient of windowStep. A second array, the source, has one element for each
// window. The step adds this element at the position of the extreme element of the window.
type selectStep struct {
	windowStep
	from   int // id of the value of the source
	bytes  int // bytes of the result
	better func(x unsafe.Pointer, i, best int) bool
}

func (l *lowering) lowerSelectAndScatter(n *node) {
	attr := n.attr.(windowAttr)
	operand, source, dst := l.stored[n.inputs[0].id], l.stored[n.inputs[1].id], l.stored[n.id]
	l.emit(scheduled{
		step: &selectStep{
			windowStep: windowStep{windowAttr: attr, src: operand.id, dst: dst.id, in: rowMajor(n.dims), out: rowMajor(n.inputs[1].dims),
				elem: n.dtype.Size(), combine: l.backend.kernels.vectors[opType{backends.OpTypeAdd, n.dtype}]},
			from: source.id, bytes: dst.bytes(), better: betterOf(n.dtype, attr.reduce == backends.ReduceOpMin),
		},
		reads: []*value{operand, source}, writes: []*value{dst},
	})
}

func (s *selectStep) run(f *frame) {
	operand, dst := f.memory[s.src], f.memory[s.dst]
	clear(elements[byte](dst, s.bytes))
	window := product(s.window)
	for i := range s.out.size() {
		best := -1
		for w := range window {
			if j, ok := s.source(i, w); ok && (best < 0 || s.better(operand, j, best)) {
				best = j
			}
		}
		if best >= 0 {
			sum := unsafe.Add(dst, best*s.elem)
			s.combine(sum, sum, unsafe.Add(f.memory[s.from], i*s.elem), nil, 1)
		}
	}
}

// betterOf returns a function that reports whether element i of an array of type dtype is better
// than element best: smaller if smallest is true, and larger otherwise.
func betterOf(dtype dtypes.DType, smallest bool) func(x unsafe.Pointer, i, best int) bool {
	return map[dtypes.DType]func(bool) func(x unsafe.Pointer, i, best int) bool{
		dtypes.Int8: better[int8], dtypes.Int16: better[int16], dtypes.Int32: better[int32], dtypes.Int64: better[int64],
		dtypes.Uint8: better[uint8], dtypes.Uint16: better[uint16], dtypes.Uint32: better[uint32], dtypes.Uint64: better[uint64],
		dtypes.Float32: better[float32], dtypes.Float64: better[float64],
	}[dtype](smallest)
}

func better[T number](smallest bool) func(x unsafe.Pointer, i, best int) bool {
	return func(x unsafe.Pointer, i, best int) bool {
		data := elements[T](x, max(i, best)+1)
		if smallest {
			return data[i] < data[best]
		}
		return data[i] > data[best]
	}
}

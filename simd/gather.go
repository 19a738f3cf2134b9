package simd

import (
	"slices"
	"unsafe"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
)

// loadIndex returns element i of an integer array as an int.
func loadIndex(dtype dtypes.DType, p unsafe.Pointer, i int) int {
	switch dtype {
	case dtypes.Int32:
		return int(*(*int32)(elementAddress(p, dtype, i)))
	case dtypes.Int64:
		return int(*(*int64)(elementAddress(p, dtype, i)))
	case dtypes.Int8:
		return int(*(*int8)(elementAddress(p, dtype, i)))
	case dtypes.Int16:
		return int(*(*int16)(elementAddress(p, dtype, i)))
	case dtypes.Uint8:
		return int(*(*uint8)(elementAddress(p, dtype, i)))
	case dtypes.Uint16:
		return int(*(*uint16)(elementAddress(p, dtype, i)))
	case dtypes.Uint32:
		return int(*(*uint32)(elementAddress(p, dtype, i)))
	default:
		return int(min(*(*uint64)(elementAddress(p, dtype, i)), 1<<62))
	}
}

// indexed describes the part that Gather and Scatter have in common. Both move data between windows
// of an array (the operand) and slices of a second array, which holds one slice per window. All
// windows have the same shape. The position of each window is an index vector in an array of
// indices.
type indexed struct {
	array, indices, slices int // ids of values
	dtype                  dtypes.DType
	elem                   int
	count                  int  // number of windows
	start                  view // [count]: where the index vector of each window begins in indices
	depth, depthStride     int  // length of an index vector, and the stride between its numbers
	// For each axis that is indexed: its stride in the array, and the last position at which a
	// window fits.
	axisStrides, limits []int
	batch               view // [count]: where each slice begins in slices
	// window holds the offsets of the elements of a window from its first element in the array.
	// windowSlices holds the offsets of the same elements in slices, from the first element of
	// their slice. Neighbouring axes are merged where one stride serves both (collapsePair).
	window, windowSlices view
	// run is the number of elements that are neighbours both in the array and in slices: the size
	// of the last axis of the window, or 1 if elements along this axis are apart in one of them.
	run              int
	runs, runsSlices view // where runs begin, in a window and in a slice
	// simple is true if each window is a single run, and if slices and index vectors lie one after
	// the other in memory.
	simple bool
}

// newIndexed returns the description of an operation. The argument windowAxes lists the axes of
// slicesNode that belong to a window, and windowDims is the shape of a window in the array. The
// shape is 1 along the axes in collapsed, which slicesNode lacks. The argument indexedAxes lists
// the axes of the array to which the numbers of an index vector belong.
func newIndexed(array, indices, slicesNode *node, indexAxis int, windowAxes, collapsed, indexedAxes, windowDims []int) indexed {
	x := indexed{dtype: indices.dtype, elem: array.dtype.Size(), depth: len(indexedAxes)}
	all := rowMajor(indices.dims)
	x.depthStride = all.strides[indexAxis]
	x.start = view{
		dims:    slices.Delete(slices.Clone(all.dims), indexAxis, indexAxis+1),
		strides: slices.Delete(slices.Clone(all.strides), indexAxis, indexAxis+1),
	}
	x.count = x.start.size()
	x.start = x.start.collapse()

	strides := rowMajorStrides(array.dims)
	for _, axis := range indexedAxes {
		x.axisStrides = append(x.axisStrides, strides[axis])
		x.limits = append(x.limits, array.dims[axis]-windowDims[axis])
	}
	to := rowMajor(slicesNode.dims)
	var whole, part view
	next := 0
	for axis, d := range windowDims {
		if slices.Contains(collapsed, axis) {
			continue
		}
		whole.dims, whole.strides = append(whole.dims, d), append(whole.strides, strides[axis])
		part.dims, part.strides = append(part.dims, d), append(part.strides, to.strides[windowAxes[next]])
		next++
	}
	x.window, x.windowSlices = collapsePair(whole, part)
	x.run, x.runs, x.runsSlices = 1, x.window, x.windowSlices
	if last := len(x.window.dims) - 1; last >= 0 && x.window.strides[last] == 1 && x.windowSlices.strides[last] == 1 {
		x.run = x.window.dims[last]
		x.runs = view{dims: x.window.dims[:last], strides: x.window.strides[:last]}
		x.runsSlices = view{dims: x.window.dims[:last], strides: x.windowSlices.strides[:last]}
	}
	for axis, d := range slicesNode.dims {
		if !slices.Contains(windowAxes, axis) {
			x.batch.dims, x.batch.strides = append(x.batch.dims, d), append(x.batch.strides, to.strides[axis])
		}
	}
	x.batch = x.batch.collapse()
	x.simple = x.isSimple()
	return x
}

// position returns where a window starts in the array, given that its index vector begins at
// element i of indices. If clamp is true, a window that reaches outside the array is moved inside;
// otherwise ok is false for it.
func (x *indexed) position(indices unsafe.Pointer, i int, clamp bool) (p int, ok bool) {
	for d := range x.depth {
		index := loadIndex(x.dtype, indices, i+d*x.depthStride)
		if clamped := min(max(index, 0), x.limits[d]); clamped != index {
			if !clamp {
				return 0, false
			}
			index = clamped
		}
		p += index * x.axisStrides[d]
	}
	return p, true
}

// isSimple computes the field simple of x.
func (x *indexed) isSimple() bool {
	inOrder := func(v view, stride int) bool {
		return len(v.dims) == 0 || len(v.dims) == 1 && v.strides[0] == stride
	}
	return len(x.runs.dims) == 0 && inOrder(x.batch, x.run) && inOrder(x.start, x.depth) && (x.depth <= 1 || x.depthStride == 1)
}

// windowAt returns where the index vector of window i begins, and where slice i begins in slices.
func (x *indexed) windowAt(i int) (start, slice int) {
	if x.simple {
		return i * x.depth, i * x.run
	}
	return x.start.at(i), x.batch.at(i)
}

// gatherStep copies the windows of an array to slices.
type gatherStep struct {
	indexed
	span int // windows per task
}

func (l *lowering) lowerGather(n *node) {
	attr := n.attr.(gatherAttr)
	s := &gatherStep{indexed: newIndexed(n.inputs[0], n.inputs[1], n, attr.indexAxis, attr.offsetAxes, attr.collapsedAxes,
		attr.startMap, attr.sliceDims)}
	array, indices, out := l.stored[n.inputs[0].id], l.stored[n.inputs[1].id], l.stored[n.id]
	s.array, s.indices, s.slices = array.id, indices.id, out.id
	s.span = max(1, gatherWork/max(1, n.size()/max(1, s.count)+4))
	l.emit(scheduled{step: s, reads: []*value{array, indices}, writes: []*value{out}})
}

// gatherWork is the number of elements that a task copies, where an index vector counts as four
// elements. A task of this size takes about as long as a task of copyWork elements.
const gatherWork = 1 << 14

func (s *gatherStep) run(f *frame) { f.parallel(s, 0, (s.count+s.span-1)/s.span) }

func (s *gatherStep) task(f *frame, _, task, _ int) {
	first, end := task*s.span, min((task+1)*s.span, s.count)
	array, indices, out := f.memory[s.array], f.memory[s.indices], f.memory[s.slices]
	if s.simple && s.run1() && s.dtype == dtypes.Int32 {
		switch s.elem {
		case 4:
			gatherElements[uint32](out, array, indices, first, end, s.axisStrides[0], s.limits[0])
			return
		case 8:
			gatherElements[uint64](out, array, indices, first, end, s.axisStrides[0], s.limits[0])
			return
		}
	}
	bytes := s.indexed.run * s.elem
	for i := first; i < end; i++ {
		start, to := s.windowAt(i)
		from, _ := s.position(indices, start, true)
		if len(s.runs.dims) == 0 {
			copy(elements[byte](unsafe.Add(out, to*s.elem), bytes), elements[byte](unsafe.Add(array, from*s.elem), bytes))
			continue
		}
		copyAxes(unsafe.Add(out, to*s.elem), unsafe.Add(array, from*s.elem), s.window.dims, s.windowSlices.strides,
			s.window.strides, s.elem, nil)
	}
}

// run1 reports whether windows are single elements, each chosen by a single index.
func (x *indexed) run1() bool { return x.run == 1 && x.depth == 1 }

func gatherElements[T uint32 | uint64](out, array, indices unsafe.Pointer, first, end, stride, limit int) {
	to, index := elements[T](out, end)[first:], elements[int32](indices, end)[first:]
	from := elements[T](array, limit*stride+1)
	for i := range to {
		to[i] = from[min(max(int(index[i]), 0), limit)*stride]
	}
}

// scatterStep combines slices, in order, with the windows of a copy of the operand.
type scatterStep struct {
	indexed
	operand int // id of the value that is copied to the result first
	bytes   int // bytes of the result
	combine tileFunc
	// add is a faster way to add single elements at int32 indices; it is nil for other operations.
	add func(array, updates, indices unsafe.Pointer, count, stride, limit int)
}

func (l *lowering) lowerScatter(n *node) {
	attr := n.attr.(scatterAttr)
	operand, indices, updates := n.inputs[0], n.inputs[1], n.inputs[2]
	windowDims := slices.Repeat([]int{1}, len(n.dims))
	next := 0
	for axis := range n.dims {
		if !slices.Contains(attr.insertedAxes, axis) {
			windowDims[axis] = updates.dims[attr.windowAxes[next]]
			next++
		}
	}
	s := &scatterStep{indexed: newIndexed(operand, indices, updates, attr.indexAxis, attr.windowAxes, attr.insertedAxes,
		attr.operandAxes, windowDims)}
	op := map[backends.OpType]backends.OpType{backends.OpTypeScatterSum: backends.OpTypeAdd,
		backends.OpTypeScatterMax: backends.OpTypeMax, backends.OpTypeScatterMin: backends.OpTypeMin}[n.op]
	s.combine = l.backend.kernels.vectors[opType{op, n.dtype}]
	if op == backends.OpTypeAdd && indices.dtype == dtypes.Int32 && s.simple && s.run1() {
		s.add = map[dtypes.DType]func(array, updates, indices unsafe.Pointer, count, stride, limit int){
			dtypes.Float32: scatterAdd[float32], dtypes.Float64: scatterAdd[float64],
			dtypes.Int32: scatterAdd[int32], dtypes.Int64: scatterAdd[int64],
		}[n.dtype]
	}
	from, indicesValue, slicesValue, out := l.stored[operand.id], l.stored[indices.id], l.stored[updates.id], l.stored[n.id]
	s.array, s.indices, s.slices, s.operand, s.bytes = out.id, indicesValue.id, slicesValue.id, from.id, out.bytes()
	e := scheduled{step: s, reads: []*value{from, indicesValue, slicesValue}, writes: []*value{out}}
	if from != indicesValue && from != slicesValue && from.kind != constant && from.kind != output {
		e.reuse = []reuse{{result: out, operand: from}}
	}
	l.emit(e)
}

func (s *scatterStep) run(f *frame) {
	array, indices, updates := f.memory[s.array], f.memory[s.indices], f.memory[s.slices]
	if from := f.memory[s.operand]; from != array {
		copy(elements[byte](array, s.bytes), elements[byte](from, s.bytes))
	}
	if s.count == 0 || s.indexed.run == 0 || s.window.size() == 0 {
		return
	}
	if s.add != nil {
		s.add(array, updates, indices, s.count, s.axisStrides[0], s.limits[0])
		return
	}
	for i := range s.count {
		start, from := s.windowAt(i)
		to, ok := s.position(indices, start, false)
		if !ok {
			continue
		}
		for w := range s.runs.size() {
			sum := unsafe.Add(array, (to+s.runs.at(w))*s.elem)
			s.combine(sum, sum, unsafe.Add(updates, (from+s.runsSlices.at(w))*s.elem), nil, s.indexed.run)
		}
	}
}

func scatterAdd[T number](array, updates, indices unsafe.Pointer, count, stride, limit int) {
	sum, index := elements[T](array, limit*stride+1), elements[int32](indices, count)
	for i, x := range elements[T](updates, count) {
		if j := int(index[i]); j >= 0 && j <= limit {
			sum[j*stride] += x
		}
	}
}

package simd

import (
	"slices"
	"unsafe"

	"github.com/gomlx/gomlx/backends"
)

// copyStep assembles a result from parts of other arrays: concatenation, padding, transposes,
// dynamic slices and updates.
type copyStep struct {
	dst   int        // id of a value
	elem  int        // bytes of an element
	size  int        // elements of dst
	fill  int        // id of the scalar value that fills dst first; -1 if there is none
	parts []copyPart // they do not overlap in dst

	filler strided
	update *copyPart // copied after parts
	moves  *moves
}

// copyPart describes a copy of the elements of src under the view from to the positions of dst
// under the view to. The two views have the same dimensions, and collapsePair has simplified them.
type copyPart struct {
	src      int // id of a value
	from, to view
	srcMoves *movingOffset // added to from.offset at run time; may be nil
	dstMoves *movingOffset
}

// movingOffset computes where a dynamic slice starts, in elements from the start of the array: the
// sum over the axes a of strides[a]·clamp(start of the slice along a, 0, limits[a]). The
// field starts holds the start along each axis.
type movingOffset struct {
	starts          []*value
	limits, strides []int
}

func (m *movingOffset) offsetIn(f *frame) int {
	if m == nil {
		return 0
	}
	offset := 0
	for axis, v := range m.starts {
		offset += m.strides[axis] * min(max(loadIndex(v.dtype, f.memory[v.id], 0), 0), m.limits[axis])
	}
	return offset
}

// copyWork is the largest number of elements that a task copies. A task of this size takes some
// microseconds, many times longer than it takes to start a task.
const copyWork = 1 << 15

func (s *copyStep) run(f *frame) {
	if s.fill >= 0 {
		s.filler.fill(f.memory[s.dst], f.memory[s.fill], 0, s.size)
	}
	f.parallel(s, 0, len(s.parts))
	if s.update != nil {
		s.copy(f, s.update)
	}
}

func (s *copyStep) task(f *frame, _, task, _ int) { s.copy(f, &s.parts[task]) }

func (s *copyStep) copy(f *frame, p *copyPart) {
	from := unsafe.Add(f.memory[p.src], (p.from.offset+p.srcMoves.offsetIn(f))*s.elem)
	to := unsafe.Add(f.memory[s.dst], (p.to.offset+p.dstMoves.offsetIn(f))*s.elem)
	if from != to { // they are equal if the result takes over the memory of the operand
		copyAxes(to, from, p.to.dims, p.to.strides, p.from.strides, s.elem, s.moves)
	}
}

func (l *lowering) newCopy(n *node) (*copyStep, scheduled) {
	dst := l.stored[n.id]
	s := &copyStep{dst: dst.id, elem: n.dtype.Size(), size: dst.size, fill: -1, moves: l.backend.kernels.moves[n.dtype.Size()]}
	return s, scheduled{step: s, writes: []*value{dst}}
}

// add appends part p to s. It simplifies the views of p and cuts a large p along its first axis.
func (s *copyStep) add(p copyPart) {
	p.to, p.from = collapsePair(p.to, p.from)
	if len(p.to.dims) == 0 || p.to.size() <= copyWork {
		s.parts = append(s.parts, p)
		return
	}
	whole := p.to.dims
	rows := max(1, copyWork*whole[0]/p.to.size())
	for first := 0; first < whole[0]; first += rows {
		piece := p
		piece.to.dims = append([]int{min(rows, whole[0]-first)}, whole[1:]...)
		piece.from.dims = piece.to.dims
		piece.to.offset += first * p.to.strides[0]
		piece.from.offset += first * p.from.strides[0]
		s.parts = append(s.parts, piece)
	}
}

// rearranges reports whether a unit is a copy that changes the order of elements, as a transpose
// does. Then the last axis of the source, after its axes are simplified, has a stride other than 0
// (repeated elements) and 1 (neighbouring elements). Such a unit becomes a copyStep, because
// copying large blocks is faster than copying tiles.
func (l *lowering) rearranges(u *unit) bool {
	if len(u.nodes) > 1 || u.nodes[0].op != backends.OpTypeIdentity {
		return false
	}
	_, v := viewOf(u.nodes[0].inputs[0])
	v = v.collapse()
	last := len(v.dims) - 1
	return last > 0 && v.strides[last] != 0 && v.strides[last] != 1
}

// lowerRearrangement emits the step of n, the node of a unit for which rearranges is true.
func (l *lowering) lowerRearrangement(n *node) {
	s, e := l.newCopy(n)
	src, from := l.operand(n.inputs[0])
	s.add(copyPart{src: src.id, from: from, to: rowMajor(n.dims)})
	e.reads = []*value{src}
	l.emit(e)
}

func (l *lowering) lowerConcatenate(n *node) {
	axis := n.attr.(int)
	s, e := l.newCopy(n)
	to := rowMajor(n.dims)
	for _, in := range n.inputs {
		src, from := l.operand(in)
		part := to
		part.dims = in.dims
		to.offset += in.dims[axis] * to.strides[axis]
		if in.size() == 0 {
			continue
		}
		s.add(copyPart{src: src.id, from: from, to: part})
		e.reads = append(e.reads, src)
	}
	l.emit(e)
}

func (l *lowering) lowerPad(n *node) {
	s, e := l.newCopy(n)
	src, from := l.operand(n.inputs[0])
	fill, _ := l.operand(n.inputs[1])
	e.reads = []*value{src, fill}
	s.fill = fill.id
	s.filler = l.backend.kernels.strided(view{dims: []int{s.size}, strides: []int{0}}, s.elem)
	to := rowMajor(n.dims)
	to.dims = make([]int, len(n.dims))
	from = view{offset: from.offset, dims: to.dims, strides: from.strides}
	strides := make([]int, len(n.dims))
	for axis, p := range n.attr.(padAttr).axes {
		step := p.Interior + 1
		// Element i of the operand has the position p.Start + i·step in the result, which exists
		// for lo ≤ i < hi.
		lo := max(0, (-p.Start+step-1)/step)
		hi := min(n.inputs[0].dims[axis], (n.dims[axis]-p.Start+step-1)/step)
		to.dims[axis] = max(0, hi-lo)
		to.offset += (p.Start + lo*step) * to.strides[axis]
		from.offset += lo * from.strides[axis]
		strides[axis] = step * to.strides[axis]
	}
	to.strides = strides
	if to.size() > 0 {
		s.add(copyPart{src: src.id, from: from, to: to})
	}
	l.emit(e)
}

// lowerBitcast emits a copy of the bytes of the operand, since only the type of the elements
// changes.
func (l *lowering) lowerBitcast(n *node) {
	s, e := l.newCopy(n)
	src, _ := l.operand(n.inputs[0])
	flat := rowMajor([]int{n.size()})
	s.add(copyPart{src: src.id, from: flat, to: flat})
	e.reads = []*value{src}
	l.emit(e)
}

// moving returns the offset at which a slice of shape dims starts in an array of shape whole.
// The argument starts holds the start along each axis.
func (l *lowering) moving(starts []*node, whole, dims []int) *movingOffset {
	m := &movingOffset{strides: rowMajorStrides(whole)}
	for axis, in := range starts {
		v, _ := l.operand(in)
		m.starts = append(m.starts, v)
		m.limits = append(m.limits, whole[axis]-dims[axis])
	}
	return m
}

func (l *lowering) lowerDynamicSlice(n *node) {
	s, e := l.newCopy(n)
	src, _ := l.operand(n.inputs[0])
	from := rowMajor(n.inputs[0].dims)
	from.dims = n.dims
	m := l.moving(n.inputs[1:], n.inputs[0].dims, n.dims)
	s.add(copyPart{src: src.id, from: from, to: rowMajor(n.dims), srcMoves: m})
	e.reads = append([]*value{src}, m.starts...)
	l.emit(e)
}

func (l *lowering) lowerDynamicUpdateSlice(n *node) {
	s, e := l.newCopy(n)
	src, _ := l.operand(n.inputs[0])
	update, _ := l.operand(n.inputs[1])
	all := rowMajor([]int{n.size()})
	// This part costs nothing if the result takes over the memory of src.
	s.add(copyPart{src: src.id, from: all, to: all})
	e.reads = append(e.reads, src, update)
	if n.inputs[1].size() > 0 {
		to := rowMajor(n.dims)
		to.dims = n.inputs[1].dims
		m := l.moving(n.inputs[2:], n.dims, to.dims)
		target, source := collapsePair(to, rowMajor(to.dims))
		s.update = &copyPart{src: update.id, from: source, to: target, dstMoves: m}
		e.reads = append(e.reads, m.starts...)
	}
	if src != update && src.kind != constant && src.kind != output && !slices.Contains(e.reads[1:], src) {
		e.reuse = []reuse{{result: l.stored[n.id], operand: src}}
	}
	l.emit(e)
}

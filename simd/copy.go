package simd

import (
	"slices"
	"unsafe"

	"github.com/gomlx/gomlx/backends"
)

// copyStep assembles a result from parts of other arrays: concatenation, padding, transposes,
// dynamic slices and updates.
type copyStep struct {
	dst   int        // value
	elem  int        // bytes of an element
	size  int        // elements of dst
	fill  int        // value whose one element fills dst first; -1: none
	parts []copyPart // do not overlap in dst

	filler strided
	update *copyPart // copied after parts
	moves  *moves
}

// copyPart copies the elements of a view of src to the elements of a view of dst of the same
// dimensions, collapsed together.
type copyPart struct {
	src      int // value
	from, to view
	srcMoves *movingOffset // added to from.offset at run time
	dstMoves *movingOffset
}

// movingOffset is where a dynamic slice starts: Σ strides[a]·clamp(start a, 0, limits[a]).
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

// copyWork is the number of elements that a task copies: some microseconds, many times the cost of
// handing out a task. The work of the tasks of other steps is similar.
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
	if from != to { // the result may have taken over the memory of the operand
		copyAxes(to, from, p.to.dims, p.to.strides, p.from.strides, s.elem, s.moves)
	}
}

func (l *lowering) newCopy(n *node) (*copyStep, scheduled) {
	dst := l.stored[n.id]
	s := &copyStep{dst: dst.id, elem: n.dtype.Size(), size: dst.size, fill: -1, moves: l.backend.kernels.moves[n.dtype.Size()]}
	return s, scheduled{step: s, writes: []*value{dst}}
}

// add appends a part, simplified, and cut along its first axis if it is large.
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

// rearranges reports whether a unit only copies elements in an order that is neither theirs nor a
// repetition: transposes and the like, which want larger blocks than tiles.
func (l *lowering) rearranges(u *unit) bool {
	if len(u.nodes) > 1 || u.nodes[0].op != backends.OpTypeIdentity {
		return false
	}
	_, v := viewOf(u.nodes[0].inputs[0])
	v = v.collapse()
	last := len(v.dims) - 1
	return last > 0 && v.strides[last] != 0 && v.strides[last] != 1
}

// lowerRearrangement emits the step of such a unit.
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
		// Elements lo ≤ i < hi of the operand land at p.Start + i·step inside the result.
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

// lowerBitcast copies: the elements stay in place, only their type changes.
func (l *lowering) lowerBitcast(n *node) {
	s, e := l.newCopy(n)
	src, _ := l.operand(n.inputs[0])
	flat := rowMajor([]int{n.size()})
	s.add(copyPart{src: src.id, from: flat, to: flat})
	e.reads = []*value{src}
	l.emit(e)
}

// moving describes the start of a slice of dims of an array of shape whole.
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
	// nothing to do when the result takes over its memory
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

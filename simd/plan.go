package simd

import "slices"

// arenaBlock is a part of the arena, in bytes. It holds one value, or several values one after the
// other.
type arenaBlock struct {
	size, offset int
	first, last  int // the steps in which its first value is written and its last value is last read
}

// arenaAlign is the alignment of values in bytes. Values do not share cache lines.
const arenaAlign = 64

// planMemory finds the steps in which each value is in use and places all temporaries in one arena,
// so that temporaries in use at the same time do not overlap.
func (l *lowering) planMemory() {
	for i, s := range l.steps {
		for _, v := range s.writes {
			if v.firstStep < 0 {
				v.firstStep = i
			}
			v.lastStep = i
		}
		for _, v := range s.reads {
			v.lastStep = i
		}
	}
	l.planDonations()
	l.place(l.blocks())
}

// blocks gives every temporary a block. The temporary takes over the block of an operand, if the
// step that first writes the temporary is the last one that uses the operand and can write over it.
// Otherwise it gets a new block.
func (l *lowering) blocks() []*arenaBlock {
	var blocks []*arenaBlock
	for i, s := range l.steps {
		for _, v := range s.writes {
			if v.kind != temporary || v.firstStep != i || v.block != nil {
				continue
			}
			for _, r := range s.reuse {
				if o := r.operand; r.result == v && o.block != nil && o.lastStep == i && o.block.last == i {
					v.block = o.block
					v.block.last = v.lastStep
					break
				}
			}
			if v.block == nil {
				v.block = &arenaBlock{size: (v.bytes() + arenaAlign - 1) / arenaAlign * arenaAlign, first: i, last: v.lastStep}
				blocks = append(blocks, v.block)
			}
		}
	}
	return blocks
}

// place assigns offsets to blocks, to the largest block first. Each block gets the lowest offset
// that is free in all steps in which the block is in use.
func (l *lowering) place(blocks []*arenaBlock) {
	slices.SortStableFunc(blocks, func(a, b *arenaBlock) int { return b.size - a.size })
	var placed []*arenaBlock // sorted by offset
	for _, b := range blocks {
		offset := 0
		for _, other := range placed {
			if other.last < b.first || b.last < other.first {
				continue
			}
			if other.offset >= offset+b.size {
				break
			}
			offset = max(offset, other.offset+other.size)
		}
		b.offset = offset
		l.arenaSize = max(l.arenaSize, offset+b.size)
		at, _ := slices.BinarySearchFunc(placed, b, func(x, y *arenaBlock) int { return x.offset - y.offset })
		placed = slices.Insert(placed, at, b)
	}
	for _, v := range l.values {
		if v.block != nil {
			v.offset = v.block.offset
		}
	}
}

// planDonations pairs each output with a parameter whose memory the output can take over. The
// parameter has the same size, and is read for the last time before the output is written, or in
// the same step if the step can work in place.
func (l *lowering) planDonations() {
	l.donations = make([]int, len(l.outputs))
	taken := make([]bool, len(l.parameters))
	for i, out := range l.outputs {
		l.donations[i] = -1
		if out.firstStep < 0 {
			continue
		}
		for j, p := range l.parameters {
			if p == nil || taken[j] || p.bytes() != out.bytes() || p.bytes() == 0 {
				continue
			}
			inPlace := slices.ContainsFunc(l.steps[out.firstStep].reuse, func(r reuse) bool { return r.result == out && r.operand == p })
			if p.lastStep < out.firstStep || p.lastStep == out.firstStep && inPlace {
				l.donations[i], taken[j] = j, true
				break
			}
		}
	}
}

package simd

import (
	"unsafe"
)

// tileProgram is the step of a group. It divides the elements of the group, in row-major order,
// into tiles of some thousand. For each tile, it fills registers (scratch memory in the L1 cache)
// with the operands that cannot be read in place, runs each instruction on the whole tile, and then
// the reductions. A task is a sequence of tiles. Its first element depends on shapes alone.
type tileProgram struct {
	order      tileOrder
	size, cols int // number of elements, and length of the rows for reductions
	tile       int // elements of a tile; a multiple of cols for shortRows
	span       int // elements of a task: a multiple of tile
	chunks     int // tasks per row, for longRows
	tasks      int

	slots  []slot
	fixed  []tileLoad // loads that are the same for every tile: run once per task
	loads  []tileLoad // loads that are run for every tile
	code   []tileInstruction
	along  []rowReduction
	down   []columnReduction
	shared int // id of the value with partial results of tasks; -1 if there is none
}

// tileOrder is the order in which a group takes its elements.
type tileOrder int

const (
	linear    tileOrder = iota // no reductions: tiles are any neighbouring elements
	shortRows                  // tiles of whole rows
	// longRows is for reductions along rows that are longer than a tile: tiles are parts of one
	// row.
	longRows
	// longColumns is for reductions down columns if rows are longer than a tile: the tiles of a
	// task are parts of all rows, one below the other.
	longColumns
)

// maxTile is the largest number of elements in a tile: as float64, they take half of an L1 cache.
const maxTile = 2048

// slot says where an operand or result of a tile lies in memory. For the tile that begins at
// element start, this is at offset + start·scale bytes in the memory of a value, or at offset bytes
// in the registers of the worker if value is -1.
type slot struct{ value, offset, scale int }

type tileInstruction struct {
	do           tileFunc
	dst, a, b, c int // indices of slots
}

// tileLoad fills a register with elements of memory that do not lie one after the other.
type tileLoad struct {
	dst, src int // indices of slots
	read     strided
}

// rowReduction reduces each row to one result. Its partial results, one per task, start at byte
// partial of the shared value.
type rowReduction struct {
	do           rowFunc
	combine      tileFunc
	src          int // slot
	result       int // id of a value
	elem         int // bytes of an element
	scratch      int // register offset of one element
	partial      int
	directResult bool // whether tasks consist of whole rows, so that there are no partial results
}

// columnReduction reduces each column to one result. Its accumulator is a tile of partial sums.
type columnReduction struct {
	combine     tileFunc
	copy        tileFunc
	src         int // slot
	result      int // id of a value
	elem        int
	accumulator int // register offset
	partial     int
}

func (t *tileProgram) run(f *frame) {
	f.parallel(t, 0, t.tasks)
	if t.shared >= 0 {
		t.finish(f)
	}
}

func (t *tileProgram) task(f *frame, _, task, worker int) {
	w := &f.workers[worker]
	bases := w.bases[:len(t.slots)]
	for i, s := range t.slots {
		base := w.registers
		if s.value >= 0 {
			base = f.memory[s.value]
		}
		bases[i] = unsafe.Add(base, s.offset)
	}
	for i := range t.fixed {
		l := &t.fixed[i]
		l.read.fill(bases[l.dst], bases[l.src], 0, min(t.tile, t.size))
	}
	switch t.order {
	case linear, shortRows:
		start := task * t.span
		end := min(start+t.span, t.size)
		for first := start; start < end; start += t.tile {
			n := min(t.tile, end-start)
			t.compute(bases, start, n)
			for i := range t.along {
				r := &t.along[i]
				r.do(unsafe.Add(f.memory[r.result], start/t.cols*r.elem), t.address(bases, r.src, start), n/t.cols, t.cols)
			}
			for i := range t.down {
				t.down[i].add(t, w, bases, start, n, start == first)
			}
		}
		for i := range t.down {
			t.down[i].fold(t, f, w, task)
		}
	case longRows:
		start := task/t.chunks*t.cols + task%t.chunks*t.span
		end := min(start+t.span, (task/t.chunks+1)*t.cols)
		for first := start; start < end; start += t.tile {
			n := min(t.tile, end-start)
			t.compute(bases, start, n)
			for i := range t.along {
				t.along[i].add(t, f, w, bases, task, start, n, start == first)
			}
		}
	case longColumns:
		col := task * t.tile
		n := min(t.tile, t.cols-col)
		for start := col; start < t.size; start += t.cols {
			t.compute(bases, start, n)
			for i := range t.down {
				r := &t.down[i]
				sum, term := unsafe.Add(f.memory[r.result], col*r.elem), t.address(bases, r.src, start)
				if start == col {
					r.copy(sum, term, nil, nil, n)
				} else {
					r.combine(sum, sum, term, nil, n)
				}
			}
		}
	}
}

// address returns where slot i is for the tile that begins at element start.
func (t *tileProgram) address(bases []unsafe.Pointer, i, start int) unsafe.Pointer {
	return unsafe.Add(bases[i], start*t.slots[i].scale)
}

// compute runs the loads and instructions on the tile of n elements that begins at element start.
func (t *tileProgram) compute(bases []unsafe.Pointer, start, n int) {
	for i := range t.loads {
		l := &t.loads[i]
		l.read.fill(t.address(bases, l.dst, start), bases[l.src], start, n)
	}
	for i := range t.code {
		in := &t.code[i]
		in.do(t.address(bases, in.dst, start), t.address(bases, in.a, start), t.address(bases, in.b, start),
			t.address(bases, in.c, start), n)
	}
}

// add includes n elements of a row in the partial result of the task. The argument first reports
// whether they are the first elements of the task.
func (r *rowReduction) add(t *tileProgram, f *frame, w *worker, bases []unsafe.Pointer, task, start, n int, first bool) {
	sum := unsafe.Add(f.memory[r.result], task*r.elem)
	if !r.directResult {
		sum = unsafe.Add(f.memory[t.shared], r.partial+task*r.elem)
	}
	if first {
		r.do(sum, t.address(bases, r.src, start), 1, n)
		return
	}
	term := unsafe.Add(w.registers, r.scratch)
	r.do(term, t.address(bases, r.src, start), 1, n)
	r.combine(sum, sum, term, nil, 1)
}

func (r *columnReduction) add(t *tileProgram, w *worker, bases []unsafe.Pointer, start, n int, first bool) {
	sum, term := unsafe.Add(w.registers, r.accumulator), t.address(bases, r.src, start)
	if first {
		r.copy(sum, term, nil, nil, n)
	} else {
		r.combine(sum, sum, term, nil, n)
	}
}

// fold combines the rows of the accumulator and stores the results of the task. They are the
// results of the reduction if there is only one task.
func (r *columnReduction) fold(t *tileProgram, f *frame, w *worker, task int) {
	sum := unsafe.Add(w.registers, r.accumulator)
	n := min(t.tile, t.span, t.size-task*t.span)
	for rows := n / t.cols; rows > 1; {
		kept := rows / 2
		if rows%2 == 1 {
			kept = rows - 1
		}
		r.combine(sum, sum, unsafe.Add(sum, kept*t.cols*r.elem), nil, (rows-kept)*t.cols)
		rows = kept
	}
	to := f.memory[r.result]
	if t.tasks > 1 {
		to = unsafe.Add(f.memory[t.shared], r.partial+task*t.cols*r.elem)
	}
	r.copy(to, sum, nil, nil, t.cols)
}

// finish combines the partial results of all tasks, in order.
func (t *tileProgram) finish(f *frame) {
	for i := range t.along {
		r := &t.along[i]
		if r.directResult {
			continue
		}
		for row := range t.size / t.cols {
			sum := unsafe.Add(f.memory[r.result], row*r.elem)
			part := unsafe.Add(f.memory[t.shared], r.partial+row*t.chunks*r.elem)
			r.do(sum, part, 1, t.chunks)
		}
	}
	if t.order != shortRows {
		return
	}
	for i := range t.down {
		r := &t.down[i]
		sum, part := f.memory[r.result], unsafe.Add(f.memory[t.shared], r.partial)
		r.copy(sum, part, nil, nil, t.cols)
		for task := 1; task < t.tasks; task++ {
			r.combine(sum, sum, unsafe.Add(part, task*t.cols*r.elem), nil, t.cols)
		}
	}
}

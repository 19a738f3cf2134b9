package kernel

import "fmt"

// RunTask runs one task, 0 <= task < Tasks(phase), of one phase, 0 <= phase < Phases(), of the
// product c = a·b, or c += a·b if accumulate is true. All tasks of a product must be called with
// the same arguments, except for local.
//
// a and b may have any strides. c must have ColStride 1 and must not overlap a or b. shared must
// have at least SharedScratch() elements and local at least LocalScratch() elements. Tasks that run
// at the same time must have different local. RunTask allocates no memory.
func (p *ProductPlan[T]) RunTask(phase, task int, c, a, b Matrix[T], accumulate bool, shared, local []T) {
	if phase < 0 || phase >= p.Phases() || task < 0 || task >= p.Tasks(phase) {
		panic(fmt.Sprintf("kernel.ProductPlan.RunTask: no task %d of phase %d", task, phase))
	}
	if len(shared) < p.SharedScratch() || len(local) < p.LocalScratch() {
		panic(fmt.Sprintf("kernel.ProductPlan.RunTask: want scratch of %d and %d elements, got %d and %d",
			p.SharedScratch(), p.LocalScratch(), len(shared), len(local)))
	}
	a.check("a", p.m, p.k)
	b.check("b", p.k, p.n)
	c.check("c", p.m, p.n)
	if c.ColStride != 1 {
		panic(fmt.Sprintf("kernel.ProductPlan.RunTask: c: want column stride 1, got %d", c.ColStride))
	}
	if phase == 0 && p.shareB {
		p.packPanels(task*p.panelsPerPacking, (task+1)*p.panelsPerPacking, &b, shared)
		return
	}
	t := productTask[T]{ProductPlan: p, c: c, a: a, b: b, accumulate: accumulate, packedB: shared}
	t.row = task / p.colTasks * p.rowsPerTask
	t.rowEnd = min(t.row+p.rowsPerTask, p.m)
	t.panel = task % p.colTasks * p.panelsPerTask
	t.panelEnd = min(t.panel+p.panelsPerTask, len(p.panels))
	if p.packA {
		t.packedA, local = local[:p.localA()], local[p.localA():]
	}
	if !p.shareB {
		t.packedB, t.packedFrom = local, p.panels[t.panel].packed
		p.packPanels(t.panel, t.panelEnd, &b, local)
	}
	t.run()
}

// Run runs all phases and tasks of a product one after the other.
func (p *ProductPlan[T]) Run(c, a, b Matrix[T], accumulate bool, shared, local []T) {
	for phase := range p.Phases() {
		for task := range p.Tasks(phase) {
			p.RunTask(phase, task, c, a, b, accumulate, shared, local)
		}
	}
}

// productTask holds the state of a task that computes a block of C.
type productTask[T Float] struct {
	*ProductPlan[T]
	c, a, b          Matrix[T]
	accumulate       bool
	row, rowEnd      int
	panel, panelEnd  int
	packedA, packedB []T
	packedFrom       int // offset of packedB[0] from the start of the first packed panel
}

func (t *productTask[T]) run() {
	for block := 0; block == 0 || block*blockK < t.k; block++ {
		lo := block * blockK
		a := t.a
		if t.packA {
			a = t.packBlock(t.packedA, &t.a, t.row, t.rowEnd, lo, min(lo+blockK, t.k))
		}
		for j := t.panel; j < t.panelEnd; j++ {
			q := &t.panels[j]
			if q.firstRow < 0 {
				if block == 0 {
					t.clear(q, t.row, t.rowEnd)
				}
				continue
			}
			for _, s := range q.spans[block] {
				t.addSpan(j, s, a, lo)
			}
		}
	}
}

// strip is a span of a panel with the operands of its multiplication.
type strip[T Float] struct {
	*panel
	span
	a          Matrix[T] // A or a packed block of it
	aRow, aCol int       // the row of A in row 0 of a, and the column of a with column lo of A
	b, next    *T        // row lo of the panel of B, and the memory that is read after the panel
	bStride    int
}

// addSpan adds the terms of span s to panel j. The argument a is the matrix A itself, or its packed
// block that starts at column first.
func (t *productTask[T]) addSpan(j int, s span, a Matrix[T], first int) {
	st := strip[T]{panel: &t.panels[j], span: s, a: a, aCol: s.lo}
	if t.packA {
		st.aRow, st.aCol = t.row, s.lo-first
	}
	st.b, st.bStride = t.panelRow(st.panel, s.lo)
	st.next = st.b
	if j+1 < t.panelEnd {
		st.next, _ = t.panelRow(&t.panels[j+1], s.lo)
	}
	if t.needed == nil {
		t.addRows(&st, t.row, t.rowEnd)
		return
	}
	height := t.kernels.height()
	for row := t.row; row < t.rowEnd; {
		needed := t.tileNeeded(row, j)
		end := row + height
		for end < t.rowEnd && t.tileNeeded(end, j) == needed {
			end += height
		}
		end = min(end, t.rowEnd)
		if needed {
			t.addRows(&st, row, end)
		} else if s.lo == st.firstRow {
			t.clear(st.panel, row, end)
		}
		row = end
	}
}

func (t *productTask[T]) tileNeeded(row, j int) bool {
	return t.needed[row/t.kernels.height()*len(t.panels)+j]
}

// addRows adds the terms of strip s to rows row <= i < end of C.
func (t *productTask[T]) addRows(s *strip[T], row, end int) {
	for _, k := range t.kernels.shapes {
		tiles := (end - row) / k.rows
		if tiles == 0 {
			continue
		}
		c := t.c.element(row, s.col)
		start, startStride := c, t.c.RowStride
		if s.lo == s.firstRow && !t.accumulate {
			start, startStride = nil, 0
		}
		k.run[s.width/t.kernels.lanes-1](tiles, s.hi-s.lo, s.a.element(row-s.aRow, s.aCol), s.a.RowStride, s.a.ColStride,
			s.b, s.bStride, c, t.c.RowStride, start, startStride, s.cols, s.next, (s.width+tiles-1)/tiles)
		row += tiles * k.rows
	}
}

// panelRow returns a pointer to row i of panel q and the distance to the next row, in B or in a
// packed copy.
func (t *productTask[T]) panelRow(q *panel, i int) (*T, int) {
	if t.readInPlace(q, &t.b) {
		return t.b.element(i, q.col), t.b.RowStride
	}
	return &t.packedB[q.packed-t.packedFrom+i*q.width], q.width
}

// clear sets rows row <= i < end of panel q of C, to which no terms are added, to 0. It leaves them
// unchanged if the product is added to C.
func (t *productTask[T]) clear(q *panel, row, end int) {
	if t.accumulate {
		return
	}
	for i := row; i < end; i++ {
		clear(t.c.Data[i*t.c.RowStride+q.col:][:q.cols])
	}
}

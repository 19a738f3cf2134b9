package kernel

import (
	"fmt"
	"slices"
)

// Matrix is a view of Rows × Cols elements: element (i, j) is Data[i*RowStride + j*ColStride].
// Strides are not negative; a stride of 0 repeats the same elements.
type Matrix[T Float] struct {
	Data                 []T
	Rows, Cols           int
	RowStride, ColStride int
}

// Dense returns a matrix of rows × cols elements whose rows lie in data one after the other.
func Dense[T Float](data []T, rows, cols int) Matrix[T] {
	return Matrix[T]{data, rows, cols, cols, 1}
}

// Transpose returns the matrix with rows and columns exchanged. It shares the data of x.
func (x Matrix[T]) Transpose() Matrix[T] {
	return Matrix[T]{x.Data, x.Cols, x.Rows, x.ColStride, x.RowStride}
}

// element returns a pointer to element (i, j).
func (x *Matrix[T]) element(i, j int) *T { return &x.Data[i*x.RowStride+j*x.ColStride] }

func (x *Matrix[T]) check(name string, rows, cols int) {
	if x.Rows != rows || x.Cols != cols {
		panic(fmt.Sprintf("kernel.ProductPlan.RunTask: %s: want [%d, %d], got [%d, %d]", name, rows, cols, x.Rows, x.Cols))
	}
	if x.RowStride < 0 || x.ColStride < 0 {
		panic(fmt.Sprintf("kernel.ProductPlan.RunTask: %s: negative stride %d, %d", name, x.RowStride, x.ColStride))
	}
	if rows > 0 && cols > 0 {
		if last := (rows-1)*x.RowStride + (cols-1)*x.ColStride; last >= len(x.Data) {
			panic(fmt.Sprintf("kernel.ProductPlan.RunTask: %s: want at least %d elements, got %d", name, last+1, len(x.Data)))
		}
	}
}

// ProductPlan is the compiled form of C = A·B or C += A·B for fixed masks and fixed shapes: A has
// m×k, B has k×n and C has m×n elements. It does not change after its creation: any number of
// products may use it at once.
//
// A product runs in phases. Each phase consists of independent tasks. All tasks of a phase must
// have ended before the next phase starts. The division into tasks depends on shapes, masks and
// instruction set alone, and no two tasks of a phase access the same element of C. So results do
// not depend on the number of goroutines or on which goroutine runs a task. Element (i, j) is the
// sum over p of A(i, p)·B(p, j) in ascending order of p, in fused multiply-adds on AVX2 and AVX512.
// After at most [blockK] terms, the sum is stored in C and loaded again, which does not change it.
type ProductPlan[T Float] struct {
	m, k, n int
	kernels *tileKernels[T]
	panels  []panel
	needed  []bool // [row tiles × len(panels)]: whether outMask selects an element of the tile; nil means all

	// shareB is true if B is large: phase 0 then packs B for all tasks. Otherwise each task packs
	// the panels of B that it needs.
	shareB           bool
	packA            bool // whether tasks copy their blocks of A, which are then read often
	rowsPerTask      int  // a multiple of the height of a tile
	panelsPerTask    int
	rowTasks         int
	colTasks         int
	panelsPerPacking int // panels that a task of phase 0 packs
}

// panel is a range of columns of B and C that is as wide as a tile; the last one may be narrower.
type panel struct {
	col, cols int
	width     int      // cols rounded up to whole vectors
	packed    int      // where the packed panel [k, width] starts, in elements
	spans     [][]span // for each block of blockK rows of B: the rows that are not all zero in the panel
	firstRow  int      // first row of the first span; -1 if there are no spans
}

// span is a range of rows of B, lo <= p < hi.
type span struct{ lo, hi int }

const (
	// blockK is the number of terms of the sums that are added at once. A packed panel of B with
	// this number of rows stays in the L1 cache.
	blockK = 256
	// maxGap is the largest number of successive rows of zeros that are not skipped.
	maxGap      = 8
	taskWork    = 1 << 19 // about the smallest number of multiply-adds for which a task pays off
	localB      = 1 << 13 // largest number of elements of B for which every task packs B itself
	packingWork = 1 << 16 // elements that a task of phase 0 packs
)

// NewProductPlan returns a plan of products of a matrix A of m×k elements and a matrix B of k×n
// elements on isa, which must be one of [Available].
//
// rhsMask, of k*n elements in row-major order, is false where B is 0. The plan then skips blocks of
// zeros and assumes that all elements of A are finite. outMask, of m*n elements in row-major order,
// is true for the elements of C that the caller needs. Each other element becomes either its true
// value or 0; if the product is added to C, each becomes its true value or stays unchanged. A nil
// mask is true everywhere.
func NewProductPlan[T Float](isa ISA, m, k, n int, rhsMask, outMask []bool) *ProductPlan[T] {
	mustHave("NewProductPlan", isa)
	switch {
	case m < 0 || k < 0 || n < 0:
		panic(fmt.Sprintf("kernel.NewProductPlan: negative size in %d, %d, %d", m, k, n))
	case rhsMask != nil && len(rhsMask) != k*n:
		panic(fmt.Sprintf("kernel.NewProductPlan: rhsMask: want %d elements, got %d", k*n, len(rhsMask)))
	case outMask != nil && len(outMask) != m*n:
		panic(fmt.Sprintf("kernel.NewProductPlan: outMask: want %d elements, got %d", m*n, len(outMask)))
	}
	p := &ProductPlan[T]{m: m, k: k, n: n, kernels: tileKernelsOf[T](isa)}
	p.splitColumns(rhsMask)
	if outMask != nil {
		p.findNeeded(outMask)
	}
	p.splitTasks()
	return p
}

// splitColumns divides the columns of B into panels.
func (p *ProductPlan[T]) splitColumns(rhsMask []bool) {
	width, packed := p.kernels.width(), 0
	for col := 0; col < p.n; col += width {
		cols := min(width, p.n-col)
		q := panel{col: col, cols: cols, packed: packed, firstRow: -1}
		q.width = (cols + p.kernels.lanes - 1) / p.kernels.lanes * p.kernels.lanes
		for lo := 0; lo < p.k; lo += blockK {
			spans := p.findSpans(rhsMask, &q, lo, min(lo+blockK, p.k))
			if q.firstRow < 0 && len(spans) > 0 {
				q.firstRow = spans[0].lo
			}
			q.spans = append(q.spans, spans)
		}
		packed += p.k * q.width
		p.panels = append(p.panels, q)
	}
}

// findSpans returns the spans of panel q within rows lo <= p < hi. Spans that are at most maxGap
// rows apart are joined.
func (p *ProductPlan[T]) findSpans(rhsMask []bool, q *panel, lo, hi int) []span {
	if rhsMask == nil {
		return []span{{lo, hi}}
	}
	var spans []span
	for i := lo; i < hi; i++ {
		if !slices.Contains(rhsMask[i*p.n+q.col:][:q.cols], true) {
			continue
		}
		if last := len(spans) - 1; last >= 0 && i-spans[last].hi <= maxGap {
			spans[last].hi = i + 1
		} else {
			spans = append(spans, span{i, i + 1})
		}
	}
	return spans
}

func (p *ProductPlan[T]) findNeeded(outMask []bool) {
	height := p.kernels.height()
	for row := 0; row < p.m; row += height {
		for _, q := range p.panels {
			needed := false
			for i := row; i < min(row+height, p.m); i++ {
				needed = needed || slices.Contains(outMask[i*p.n+q.col:][:q.cols], true)
			}
			p.needed = append(p.needed, needed)
		}
	}
}

// splitTasks divides C into the blocks of the tasks. It divides rows first, so that a block has at
// least minTaskRows rows and about taskWork multiply-adds, and then columns if there would be fewer
// than minTasks blocks.
func (p *ProductPlan[T]) splitTasks() {
	height := p.kernels.height()
	rowTiles := (p.m + height - 1) / height
	tileWork := max(1, height*p.k*p.n) // multiply-adds of a row of tiles
	tiles := max(minTaskRows/height, taskWork/tileWork)
	p.rowTasks = (rowTiles + tiles - 1) / tiles
	if p.rowTasks > 0 {
		tiles = (rowTiles + p.rowTasks - 1) / p.rowTasks // tasks of about the same height
	}
	p.rowsPerTask = tiles * height

	panelWork := max(1, min(p.rowsPerTask, p.m)*p.k*p.kernels.width())
	p.panelsPerTask = max(1, len(p.panels))
	if wanted := (minTasks + p.rowTasks - 1) / max(1, p.rowTasks); wanted > 1 {
		p.panelsPerTask = max(1, min(len(p.panels), max((len(p.panels)+wanted-1)/wanted, taskWork/panelWork)))
	}
	p.colTasks = (len(p.panels) + p.panelsPerTask - 1) / p.panelsPerTask

	p.shareB = p.k*p.n > localB
	p.packA = p.panelsPerTask >= minPanelsPackA && p.k >= minK
	p.panelsPerPacking = max(1, packingWork/max(1, p.k*p.kernels.width()))
}

const (
	minTaskRows    = 60 // smallest number of rows of C in a task: their tiles share panels of B in the L1 cache
	minTasks       = 8  // with fewer tasks, columns are divided, too
	minPanelsPackA = 4  // smallest number of panels reading a block of A for which a copy of it pays off
	minK           = 32 // smallest number of terms of the sums for which a copy of A pays off
)

// Work returns the number of multiply-adds of a product, without those that masks skip.
func (p *ProductPlan[T]) Work() int {
	height, work := p.kernels.height(), 0
	for j, q := range p.panels {
		terms := 0
		for _, spans := range q.spans {
			for _, s := range spans {
				terms += s.hi - s.lo
			}
		}
		rows := p.m
		if p.needed != nil {
			rows = 0
			for i := j; i < len(p.needed); i += len(p.panels) {
				if p.needed[i] {
					rows += min(height, p.m-i/len(p.panels)*height)
				}
			}
		}
		work += rows * q.cols * terms
	}
	return work
}

// Phases returns the number of phases, 1 or 2.
func (p *ProductPlan[T]) Phases() int {
	if p.shareB {
		return 2
	}
	return 1
}

// Tasks returns the number of tasks of a phase. It may be 0.
func (p *ProductPlan[T]) Tasks(phase int) int {
	if phase == 0 && p.shareB {
		return (len(p.panels) + p.panelsPerPacking - 1) / p.panelsPerPacking
	}
	return p.rowTasks * p.colTasks
}

// SharedScratch returns the number of elements of scratch memory that all tasks of one product
// share, from the start of the first phase to the end of the last. Its initial contents do not
// matter. The product is fastest if this memory starts at a multiple of 64 bytes.
func (p *ProductPlan[T]) SharedScratch() int {
	if !p.shareB || len(p.panels) == 0 {
		return 0
	}
	last := p.panels[len(p.panels)-1]
	return last.packed + p.k*last.width
}

// LocalScratch returns the number of elements of scratch memory that each task needs for itself
// while it runs. Its initial contents do not matter. A product is fastest if this memory starts at
// a multiple of 64 bytes.
func (p *ProductPlan[T]) LocalScratch() int {
	size := p.localA()
	if !p.shareB {
		size += p.k * p.panelsPerTask * p.kernels.width()
	}
	return size
}

// localA returns the size of the packed block of A.
func (p *ProductPlan[T]) localA() int {
	if !p.packA {
		return 0
	}
	const line = 16 // elements; keeps the memory that follows aligned to cache lines
	return (p.rowsPerTask*min(p.k, blockK) + line - 1) / line * line
}

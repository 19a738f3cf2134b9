package kernel

import "fmt"

// Matrix is a view of Rows × Cols elements: element (i, j) is Data[i*RowStride + j*ColStride].
// Strides are not negative; a stride of 0 repeats the same elements.
type Matrix[T Float] struct {
	Data                 []T
	Rows, Cols           int
	RowStride, ColStride int
}

// Dense returns the view of row-major data without gaps.
func Dense[T Float](data []T, rows, cols int) Matrix[T] {
	return Matrix[T]{data, rows, cols, cols, 1}
}

// Transpose returns the view with rows and columns exchanged.
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

// Epilogue is applied to a finished part of C while it is in a cache.
type Epilogue[T Float] struct {
	// Bias [n] is added to every row; nil adds nothing.
	Bias []T
	// Then, unless nil, is called with finished pieces of C, to be changed in place element by
	// element. A piece starts at element (row, col), belongs to that row, and continues through the
	// rows below when it is longer than the rest of the row. Pieces do not overlap and cover C,
	// parts that outMask excluded included. Tasks call it concurrently.
	Then func(row, col int, piece []T)
}

// ProductPlan is the compiled form of C = A·B or C += A·B for fixed shapes A [m, k], B [k, n], C
// [m, n] and fixed masks. It is read only: any number of products may run on it at once.
//
// A product runs in phases, each of independent tasks; every task of a phase must have ended before
// the next phase starts. How the work is split depends on shapes, masks and instruction set alone,
// and no element of C is touched by two tasks of a phase; so results do not depend on which
// goroutine runs a task or on how many there are. Element (i, j) is the sum over p of A(i, p)·B(p,
// j) in ascending order of p, in fused multiply-adds on AVX2 and AVX512; every [blockK] terms, or
// fewer when rhsMask leaves out some, the sum is rounded into C, which changes nothing.
type ProductPlan[T Float] struct {
	m, k, n int
	kernels *tileKernels[T]
	panels  []panel
	needed  []bool // [row tiles × len(panels)]: which tiles of C outMask asks for; nil means all

	// phase 0 packs B for all tasks, because it is large; otherwise each task packs its part
	shareB           bool
	packA            bool // tasks copy their blocks of A, because they read them often
	rowsPerTask      int  // multiple of the height of a tile
	panelsPerTask    int
	rowTasks         int
	colTasks         int
	panelsPerPacking int // of a task of phase 0
}

// panel is a strip of columns of B and C as wide as a tile, or the narrower rest.
type panel struct {
	col, cols int
	width     int      // cols rounded up to whole vectors
	packed    int      // where the packed panel [k, width] starts, in elements
	spans     [][]span // the rows of B that are not all zero in the panel, by blocks of blockK
	firstRow  int      // first row of the first span, -1 without spans
}

// span is a range of rows of B, lo <= p < hi.
type span struct{ lo, hi int }

const (
	// terms of the sums that are added at once: a packed panel of B stays in the L1 cache
	blockK = 256
	// rows of zeros between two spans that are cheaper to multiply than to skip
	maxGap       = 8
	taskWork     = 1 << 19 // multiply-adds that are worth a task
	localB       = 1 << 13 // elements of B up to which every task packs for itself
	packingWork  = 1 << 16 // elements that a task of phase 0 packs
	thenElements = 1 << 12 // elements of a piece given to Epilogue.Then
)

// NewProductPlan returns the plan of products [m, k] by [k, n] on isa, one of [Available].
//
// rhsMask, of k*n elements by rows, promises that B is 0 (and all of A finite) where it is false:
// the plan skips blocks of zeros. outMask, of m*n elements by rows, says which elements of C are of
// interest: of the others, some get their true value and some 0 (or keep what they hold when
// accumulating). A nil mask is true everywhere.
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

// splitColumns makes the panels.
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

// findSpans returns the spans of panel q within lo <= p < hi, without gaps up to maxGap.
func (p *ProductPlan[T]) findSpans(rhsMask []bool, q *panel, lo, hi int) []span {
	if rhsMask == nil {
		return []span{{lo, hi}}
	}
	var spans []span
	for i := lo; i < hi; i++ {
		if !anyTrue(rhsMask[i*p.n+q.col:][:q.cols]) {
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
				needed = needed || anyTrue(outMask[i*p.n+q.col:][:q.cols])
			}
			p.needed = append(p.needed, needed)
		}
	}
}

func anyTrue(mask []bool) bool {
	for _, b := range mask {
		if b {
			return true
		}
	}
	return false
}

// splitTasks cuts C into blocks of taskWork or minTaskRows, whichever is more, first by rows.
func (p *ProductPlan[T]) splitTasks() {
	height := p.kernels.height()
	rowTiles := (p.m + height - 1) / height
	tileWork := max(1, height*p.k*p.n) // of a row of tiles
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
	minTaskRows    = 60 // rows of C in a task: their tiles share panels of B in the L1 cache
	minTasks       = 8  // with fewer tasks, columns are split too
	minPanelsPackA = 4  // panels that read a block of A from which on a copy pays
	minK           = 32 // length of the sums from which on a copy of A pays
)

// Work returns the number of multiply-adds of a product, after skipping.
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

// Tasks returns the number of independent tasks of a phase. It may be 0.
func (p *ProductPlan[T]) Tasks(phase int) int {
	if phase == 0 && p.shareB {
		return (len(p.panels) + p.panelsPerPacking - 1) / p.panelsPerPacking
	}
	return p.rowTasks * p.colTasks
}

// SharedScratch returns the number of elements of memory that all tasks of one product share, from
// the start of the first phase to the end of the last. Their content before does not matter. The
// product is fastest when they start at a multiple of 64 bytes.
func (p *ProductPlan[T]) SharedScratch() int {
	if !p.shareB || len(p.panels) == 0 {
		return 0
	}
	last := p.panels[len(p.panels)-1]
	return last.packed + p.k*last.width
}

// LocalScratch is SharedScratch for memory that a task needs for itself while it runs, as much for
// every task.
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
	const line = 16 // elements; what follows stays aligned to cache lines
	return (p.rowsPerTask*min(p.k, blockK) + line - 1) / line * line
}

package simd

import (
	"unsafe"

	"github.com/gomlx/gomlx/pkg/core/dtypes"

	"github.com/transdim/vti/simd/internal/kernel"
)

// productStep multiplies a batch of matrices.
type productStep[T float] struct {
	plan         *kernel.ProductPlan[T]
	lhs, rhs     matrixView
	a, b, c      int // values
	aSize, bSize int // elements
	shared       int // value with packed operands, -1: none
	sharedSize   int
	local        int // elements of private scratch
	m, n         int
}

// lowerProduct emits the step of a product.
func (l *lowering) lowerProduct(n *node) {
	if n.dtype == dtypes.Float32 {
		lowerProduct[float32](l, n)
	} else {
		lowerProduct[float64](l, n)
	}
}

func lowerProduct[T float](l *lowering, n *node) {
	batch := n.attr.(int)
	a, _ := l.operand(n.inputs[0])
	b, _ := l.operand(n.inputs[1])
	c := l.of[n.id]
	split := func(in *node) int { return len(in.dims) - contracted(n) }
	lhs, _ := matrixOf(n.inputs[0], batch, split(n.inputs[0]))
	rhs, _ := matrixOf(n.inputs[1], batch, split(n.inputs[1]))
	rhs.rows, rhs.cols, rhs.rowStride, rhs.colStride = rhs.cols, rhs.rows, rhs.colStride, rhs.rowStride
	s := &productStep[T]{lhs: lhs, rhs: rhs, a: a.id, b: b.id, c: c.id, aSize: a.size, bSize: b.size, shared: -1,
		m: lhs.rows, n: rhs.cols}
	var rhsMask []bool
	if batch == 0 {
		rhsMask = transposeMask(constantMask(n.inputs[1]), rhs.cols, rhs.rows)
	}
	s.plan = kernel.NewProductPlan[T](l.backend.kernels.isa, s.m, lhs.cols, s.n, rhsMask, l.outMask[n])
	s.local = s.plan.LocalScratch()
	l.tileMemory = max(l.tileMemory, s.local*n.dtype.Size())
	e := scheduled{step: s, reads: []*value{a, b}, writes: []*value{c}}
	if s.sharedSize = s.plan.SharedScratch(); s.sharedSize > 0 {
		shared := l.newValue(n.dtype, s.sharedSize, temporary)
		s.shared = shared.id
		e.writes = append(e.writes, shared)
	}
	l.emit(e)
}

// contracted is the number of axes that a product sums over.
func contracted(n *node) int {
	batch := n.attr.(int)
	return (len(n.inputs[0].dims) + len(n.inputs[1].dims) - batch - len(n.dims)) / 2
}

// transposeMask turns a mask [rows, cols] into one [cols, rows].
func transposeMask(mask []bool, rows, cols int) []bool {
	if mask == nil {
		return nil
	}
	t := make([]bool, len(mask))
	for i := range rows {
		for j := range cols {
			t[j*rows+i] = mask[i*cols+j]
		}
	}
	return t
}

func (s *productStep[T]) run(f *frame) {
	tasks := s.plan.Tasks(s.plan.Phases() - 1)
	if s.plan.Phases() == 1 {
		f.parallel(s, 0, len(s.lhs.offsets)*tasks)
		return
	}
	for i := range s.lhs.offsets { // phase numbers carry the matrix of the batch
		f.parallel(s, 2*i, s.plan.Tasks(0))
		f.parallel(s, 2*i+1, tasks)
	}
}

func (s *productStep[T]) task(f *frame, phase, task, worker int) {
	matrix := phase / 2
	if s.plan.Phases() == 1 {
		tasks := s.plan.Tasks(0)
		matrix, task = task/tasks, task%tasks
	} else {
		phase %= 2
	}
	var shared []T
	if s.shared >= 0 {
		shared = elements[T](f.memory[s.shared], s.sharedSize)
	}
	local := elements[T](f.workers[worker].registers, s.local)
	a := matrixIn(elements[T](f.memory[s.a], s.aSize), &s.lhs, matrix)
	b := matrixIn(elements[T](f.memory[s.b], s.bSize), &s.rhs, matrix)
	c := kernel.Dense(elements[T](unsafe.Add(f.memory[s.c], matrix*s.m*s.n*int(unsafe.Sizeof(T(0)))), s.m*s.n), s.m, s.n)
	s.plan.RunTask(phase, task, c, a, b, false, nil, shared, local)
}

// matrixIn is matrix i of a batch in data.
func matrixIn[T float](data []T, v *matrixView, i int) kernel.Matrix[T] {
	return kernel.Matrix[T]{Data: data[v.offsets[i]:], Rows: v.rows, Cols: v.cols, RowStride: v.rowStride, ColStride: v.colStride}
}

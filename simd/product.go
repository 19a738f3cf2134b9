package simd

import (
	"slices"
	"unsafe"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/dtypes"

	"github.com/transdim/vti/internal/kernel"
)

// productStep multiplies a batch of matrices, C = A·B, where C has m×n elements and each is a sum
// of k terms. A plan of package kernel covers the whole product, a band of its rows, or a part of
// the terms of its sums:
//   - whole: the plan divides the product into tasks itself, in one phase, or in two phases that
//     share packed operands;
//   - bands: a product that is too small for the plan to divide is cut into bands of rows, one task
//     each;
//   - parts: the sums of a product with a small result and long sums are cut into parts, one task
//     each, whose results are then added in order.
type productStep[T float] struct {
	lhs, rhs     matrixView
	a, b, c      int // ids of values
	aSize, bSize int // elements of a and b
	m, k, n      int
	split        productSplit
	size         int                    // rows of a band, or terms of a part
	pieces       int                    // number of bands or parts; 1 for a whole product
	plan, last   *kernel.ProductPlan[T] // plan of all pieces but the last one, and plan of the last one
	add          func(dst, a, b []T)    // adds the results of parts
	shared       int                    // id of the value with packed operands or results of parts; -1 if there is none
	sharedSize   int
}

type productSplit int

const (
	whole productSplit = iota
	bands
	parts
)

const (
	bandWork = 1 << 17 // multiply-adds of a band or part, which take a few microseconds
	maxParts = 64
)

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
	c := l.stored[n.id]
	contract := (len(n.inputs[0].dims) + len(n.inputs[1].dims) - batch - len(n.dims)) / 2
	split := func(in *node) int { return len(in.dims) - contract }
	lhs, _ := matrixOf(n.inputs[0], batch, split(n.inputs[0]))
	rhs, _ := matrixOf(n.inputs[1], batch, split(n.inputs[1]))
	rhs.rows, rhs.cols, rhs.rowStride, rhs.colStride = rhs.cols, rhs.rows, rhs.colStride, rhs.rowStride
	s := &productStep[T]{lhs: lhs, rhs: rhs, a: a.id, b: b.id, c: c.id, aSize: a.size, bSize: b.size, shared: -1,
		m: lhs.rows, k: lhs.cols, n: rhs.cols, pieces: 1}
	var rhsMask []bool
	if batch == 0 {
		axes := iotaInts(len(n.inputs[1].dims))
		rhsMask = l.constantMask(n.inputs[1], slices.Concat(axes[split(n.inputs[1]):], axes[:split(n.inputs[1])]))
	}
	s.plan = planOf[T](l, s.m, s.k, s.n, rhsMask, l.outMask[n])
	s.last = s.plan
	s.choose(l, rhsMask, l.outMask[n])

	e := scheduled{step: s, reads: []*value{a, b}, writes: []*value{c}}
	l.tileMemory = max(l.tileMemory, max(s.plan.LocalScratch(), s.last.LocalScratch())*n.dtype.Size())
	switch s.split {
	case whole:
		s.sharedSize = s.plan.SharedScratch()
	case parts:
		s.sharedSize = s.pieces * s.m * s.n
		s.add = addOf[T](l.backend.kernels)
	}
	if s.sharedSize > 0 {
		shared := l.newValue(n.dtype, s.sharedSize, temporary)
		s.shared = shared.id
		e.writes = append(e.writes, shared)
	}
	l.emit(e)
}

// choose cuts a product into bands or parts if its plan would divide it into one or two tasks only.
func (s *productStep[T]) choose(l *lowering, rhsMask, outMask []bool) {
	work := s.plan.Work()
	if len(s.lhs.offsets) > 1 || s.plan.Tasks(s.plan.Phases()-1) > 2 || work < 2*bandWork {
		return
	}
	count := min(work/bandWork, maxParts)
	rows := (s.m/count + 63) / 64 * 64
	terms := (s.k/count + 63) / 64 * 64
	switch {
	case rows < s.m && outMask == nil && s.plan.Phases() == 1:
		s.split, s.size = bands, rows
		s.pieces = (s.m + rows - 1) / rows
		s.plan = planOf[T](l, rows, s.k, s.n, rhsMask, nil)
		s.last = planOf[T](l, s.m-(s.pieces-1)*rows, s.k, s.n, rhsMask, nil)
	case terms < s.k && rhsMask == nil && s.m*s.n <= s.k*8:
		s.split, s.size = parts, terms
		s.pieces = (s.k + terms - 1) / terms
		s.plan = planOf[T](l, s.m, terms, s.n, nil, outMask)
		s.last = planOf[T](l, s.m, s.k-(s.pieces-1)*terms, s.n, nil, outMask)
	}
	if s.split != whole && (s.plan.Phases() > 1 || s.last.Phases() > 1) {
		s.split, s.pieces = whole, 1
		s.plan = planOf[T](l, s.m, s.k, s.n, rhsMask, outMask)
		s.last = s.plan
	}
}

// planKey identifies a plan. Masks are compared by the address of their first element.
type planKey struct {
	dtype         dtypes.DType
	m, k, n       int
	rhsMask, mask *bool
}

// planOf returns the plan of a product. It makes equal plans of a program only once.
func planOf[T float](l *lowering, m, k, n int, rhsMask, outMask []bool) *kernel.ProductPlan[T] {
	key := planKey{dtypes.FromGenericsType[T](), m, k, n, unsafe.SliceData(rhsMask), unsafe.SliceData(outMask)}
	if p, ok := l.plans[key]; ok {
		return p.(*kernel.ProductPlan[T])
	}
	p := kernel.NewProductPlan[T](l.backend.kernels.isa, m, k, n, rhsMask, outMask)
	l.plans[key] = p
	return p
}

func (s *productStep[T]) run(f *frame) {
	switch {
	case s.split != whole:
		f.parallel(s, 0, s.pieces)
		if s.split == parts {
			s.addParts(f)
		}
	case s.plan.Phases() == 1:
		f.parallel(s, 0, len(s.lhs.offsets)*s.plan.Tasks(0))
	default:
		for i := range s.lhs.offsets { // phases 2i and 2i+1 belong to matrix i of the batch
			f.parallel(s, 2*i, s.plan.Tasks(0))
			f.parallel(s, 2*i+1, s.plan.Tasks(1))
		}
	}
}

func (s *productStep[T]) task(f *frame, phase, task, worker int) {
	local := f.workers[worker].registers
	if s.split != whole {
		s.piece(f, task, local)
		return
	}
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
	c := elements[T](f.memory[s.c], (matrix+1)*s.m*s.n)[matrix*s.m*s.n:]
	a, b := s.operands(f, matrix)
	s.plan.RunTask(phase, task, kernel.Dense(c, s.m, s.n), a, b, false, shared, elements[T](local, s.plan.LocalScratch()))
}

// operands returns the two matrices with index i in the batch.
func (s *productStep[T]) operands(f *frame, i int) (a, b kernel.Matrix[T]) {
	a = kernel.Matrix[T]{Data: elements[T](f.memory[s.a], s.aSize)[s.lhs.offsets[i]:], Rows: s.m, Cols: s.k,
		RowStride: s.lhs.rowStride, ColStride: s.lhs.colStride}
	b = kernel.Matrix[T]{Data: elements[T](f.memory[s.b], s.bSize)[s.rhs.offsets[i]:], Rows: s.k, Cols: s.n,
		RowStride: s.rhs.rowStride, ColStride: s.rhs.colStride}
	return a, b
}

// piece computes piece i: a band of rows of the result, or the sums over one part of the terms.
func (s *productStep[T]) piece(f *frame, i int, local unsafe.Pointer) {
	plan := s.plan
	if i == s.pieces-1 {
		plan = s.last
	}
	a, b := s.operands(f, 0)
	first := i * s.size
	var c kernel.Matrix[T]
	if s.split == bands {
		rows := min(s.size, s.m-first)
		a.Data, a.Rows = a.Data[first*a.RowStride:], rows
		c = kernel.Dense(elements[T](f.memory[s.c], s.m*s.n)[first*s.n:], rows, s.n)
	} else {
		terms := min(s.size, s.k-first)
		a.Data, a.Cols = a.Data[first*a.ColStride:], terms
		b.Data, b.Rows = b.Data[first*b.RowStride:], terms
		c = kernel.Dense(elements[T](f.memory[s.shared], s.sharedSize)[i*s.m*s.n:], s.m, s.n)
	}
	scratch := elements[T](local, plan.LocalScratch())
	for task := range plan.Tasks(0) {
		plan.RunTask(0, task, c, a, b, false, nil, scratch)
	}
}

func (s *productStep[T]) addParts(f *frame) {
	size := s.m * s.n
	c, part := elements[T](f.memory[s.c], size), elements[T](f.memory[s.shared], s.sharedSize)
	s.add(c, part[:size], part[size:2*size])
	for i := 2; i < s.pieces; i++ {
		s.add(c, c, part[i*size:(i+1)*size])
	}
}

// addOf returns the function that adds vectors of T.
func addOf[T float](k *kernels) func(dst, a, b []T) {
	add := k.vectors[opType{backends.OpTypeAdd, dtypes.FromGenericsType[T]()}]
	return func(dst, a, b []T) {
		add(unsafe.Pointer(unsafe.SliceData(dst)), unsafe.Pointer(unsafe.SliceData(a)), unsafe.Pointer(unsafe.SliceData(b)), nil, len(dst))
	}
}

package simd

import (
	"unsafe"

	"github.com/gomlx/gomlx/pkg/core/dtypes"
)

// argStep finds the position of the extreme element along one axis of an array [outer, length,
// inner].
type argStep struct {
	src, dst             int // ids of values
	outer, length, inner int
	span                 int // number of outer positions per task
	find                 func(out, x unsafe.Pointer, s *argStep, first, end int)
	store                func(p unsafe.Pointer, i, position int)
	min                  bool
}

func (l *lowering) lowerArgMinMax(n *node) {
	attr := n.attr.(argAttr)
	in := n.inputs[0]
	s := &argStep{src: l.stored[in.id].id, dst: l.stored[n.id].id, min: attr.min,
		outer: product(in.dims[:attr.axis]), length: in.dims[attr.axis], inner: product(in.dims[attr.axis+1:])}
	s.span = max(1, gatherWork/(s.length*s.inner))
	size := n.dtype.Size()
	s.store = func(p unsafe.Pointer, i, position int) {
		storeNumber(n.dtype, unsafe.Add(p, i*size), float64(position))
	}
	s.find = map[dtypes.DType]func(out, x unsafe.Pointer, s *argStep, first, end int){
		dtypes.Int8: findExtremes[int8], dtypes.Int16: findExtremes[int16], dtypes.Int32: findExtremes[int32],
		dtypes.Int64: findExtremes[int64], dtypes.Uint8: findExtremes[uint8], dtypes.Uint16: findExtremes[uint16],
		dtypes.Uint32: findExtremes[uint32], dtypes.Uint64: findExtremes[uint64], dtypes.Float32: findExtremes[float32],
		dtypes.Float64: findExtremes[float64],
	}[in.dtype]
	l.emit(scheduled{step: s, reads: []*value{l.stored[in.id]}, writes: []*value{l.stored[n.id]}})
}

func (s *argStep) run(f *frame) { f.parallel(s, 0, (s.outer+s.span-1)/s.span) }

func (s *argStep) task(f *frame, _, task, _ int) {
	s.find(f.memory[s.dst], f.memory[s.src], s, task*s.span, min((task+1)*s.span, s.outer))
}

func findExtremes[T number](out, x unsafe.Pointer, s *argStep, first, end int) {
	data := elements[T](x, s.outer*s.length*s.inner)
	for o := first; o < end; o++ {
		for i := range s.inner {
			column := data[o*s.length*s.inner+i:]
			best, position := column[0], 0
			for j := 1; j < s.length && !isNaN(best); j++ {
				if y := column[j*s.inner]; isNaN(y) || s.min && y < best || !s.min && y > best {
					best, position = y, j
				}
			}
			s.store(out, o*s.inner+i, position)
		}
	}
}

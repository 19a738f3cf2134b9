package simd

import (
	"unsafe"

	"github.com/transdim/vti/internal/kernel"
)

// strided reads elements of 1, 2, 4 or 8 bytes in the order of a view, which is simplified by
// collapse.
type strided struct {
	view
	elem  int // bytes of an element
	moves *moves
}

// moves holds the kernels that rearrange elements of 4 or of 8 bytes. For elements of 1 and 2 bytes
// there are none, and pointers to moves are nil.
type moves struct {
	// spread writes each of n elements of src to dst several times in a row; the number is the
	// argument times.
	spread func(dst, src unsafe.Pointer, n, times int)
	// copyRows and transpose copy a matrix of rows × cols elements to dst. The strides are the
	// distances between rows, in elements.
	copyRows, transpose func(dst unsafe.Pointer, dstStride int, src unsafe.Pointer, srcStride, rows, cols int)
}

func movesOf[T float](v *kernel.Vectors[T]) *moves {
	return &moves{
		spread: func(dst, src unsafe.Pointer, n, times int) {
			v.Spread(elements[T](dst, n*times), elements[T](src, n))
		},
		copyRows: func(dst unsafe.Pointer, dstStride int, src unsafe.Pointer, srcStride, rows, cols int) {
			v.CopyRows(elements[T](dst, (rows-1)*dstStride+cols), dstStride, elements[T](src, (rows-1)*srcStride+cols), srcStride, rows, cols)
		},
		transpose: func(dst unsafe.Pointer, dstStride int, src unsafe.Pointer, srcStride, rows, cols int) {
			v.Transpose(elements[T](dst, (cols-1)*dstStride+rows), dstStride, elements[T](src, (rows-1)*srcStride+cols), srcStride, rows, cols)
		},
	}
}

// strided returns a reader of v for elements of elem bytes.
func (k *kernels) strided(v view, elem int) strided {
	return strided{view: v.collapse(), elem: elem, moves: k.moves[elem]}
}

// period returns the number of elements after which the sequence of elements repeats, or the size
// of the view if there is no repetition.
func (s *strided) period() int {
	if s.uniform() {
		return 1
	}
	if len(s.dims) > 0 && s.strides[0] == 0 {
		return product(s.dims[1:])
	}
	return s.size()
}

// fill copies the elements start ≤ i < start+n of the view s of the array at src to dst, where they
// lie one after the other.
func (s *strided) fill(dst, src unsafe.Pointer, start, n int) {
	switch s.elem {
	case 1:
		fillStrided((*uint8)(dst), src, s, start, n)
	case 2:
		fillStrided((*uint16)(dst), src, s, start, n)
	case 4:
		fillStrided((*uint32)(dst), src, s, start, n)
	default:
		fillStrided((*uint64)(dst), src, s, start, n)
	}
}

// word is an unsigned integer that stands for any element of the same size.
type word interface {
	uint8 | uint16 | uint32 | uint64
}

func fillStrided[T word](dst *T, src unsafe.Pointer, s *strided, start, n int) {
	size := int(unsafe.Sizeof(*dst))
	out := unsafe.Slice(dst, n)
	last := len(s.dims) - 1
	if last < 0 {
		fillRun(out, *(*T)(unsafe.Add(src, s.offset*size)))
		return
	}
	// The two last axes are a matrix. Whole rows of it are copied together, and parts of rows one
	// by one.
	inner, stride := s.dims[last], s.strides[last]
	outer, step := 1, 0
	if last > 0 {
		outer, step = s.dims[last-1], s.strides[last-1]
	}
	for position := start; len(out) > 0; {
		column, row := position%inner, position/inner%outer
		from := unsafe.Add(src, s.at(position)*size)
		rows := min(outer-row, len(out)/inner)
		taken := rows * inner
		if column > 0 || rows == 0 {
			taken = min(inner-column, len(out))
			fillRow(out[:taken], from, stride*size, size)
		} else {
			fillRows(out[:taken], from, rows, inner, step, stride, s.moves)
		}
		out = out[taken:]
		position += taken
	}
}

// fillRows copies a matrix of rows × cols elements to out. The argument step is the distance
// between the rows at from, and stride the distance between elements of a row, both in elements.
func fillRows[T word](out []T, from unsafe.Pointer, rows, cols, step, stride int, m *moves) {
	size := int(unsafe.Sizeof(out[0]))
	to := unsafe.Pointer(unsafe.SliceData(out))
	switch {
	case m != nil && stride == 0 && step == 1:
		m.spread(to, from, rows, cols)
	case m != nil && stride == 1 && step >= cols && rows > 1:
		m.copyRows(to, cols, from, step, rows, cols)
	case m != nil && step == 1 && stride >= rows && rows > 1 && cols > 1:
		m.transpose(to, cols, from, stride, cols, rows)
	default:
		for i := range rows {
			fillRow(out[i*cols:(i+1)*cols], unsafe.Add(from, i*step*size), stride*size, size)
		}
	}
}

// fillRow fills out with the elements at from that are stride bytes apart. size is the number of
// bytes of an element.
func fillRow[T word](out []T, from unsafe.Pointer, stride, size int) {
	switch stride {
	case 0:
		fillRun(out, *(*T)(from))
	case size:
		if len(out) < 16 { // a call of memmove would cost more
			for i := range out {
				out[i] = *(*T)(unsafe.Add(from, i*size))
			}
			return
		}
		copy(out, unsafe.Slice((*T)(from), len(out)))
	default:
		for i := range out {
			out[i] = *(*T)(unsafe.Add(from, i*stride))
		}
	}
}

// fillRun sets all elements of out to x. It writes the first elements one by one, and then copies
// the filled part until out is full.
func fillRun[T word](out []T, x T) {
	const short = 16
	if len(out) <= short {
		for i := range out {
			out[i] = x
		}
		return
	}
	for i := range out[:short] {
		out[i] = x
	}
	for done := short; done < len(out); done *= 2 {
		copy(out[done:], out[:done])
	}
}

// copyAxes copies an array of shape dims from src, where it has strides from, to dst, where it has
// strides to. It uses the kernels m where they apply.
func copyAxes(dst, src unsafe.Pointer, dims, to, from []int, elem int, m *moves) {
	switch len(dims) {
	case 0:
		copyMatrix(dst, src, 1, 1, 0, 0, 0, 0, elem, m)
	case 1:
		copyMatrix(dst, src, 1, dims[0], 0, to[0], 0, from[0], elem, m)
	case 2:
		copyMatrix(dst, src, dims[0], dims[1], to[0], to[1], from[0], from[1], elem, m)
	default:
		for i := range dims[0] {
			copyAxes(unsafe.Add(dst, i*to[0]*elem), unsafe.Add(src, i*from[0]*elem), dims[1:], to[1:], from[1:], elem, m)
		}
	}
}

// copyMatrix copies a matrix of rows × cols elements. The strides between rows and between columns
// are in elements.
func copyMatrix(dst, src unsafe.Pointer, rows, cols, toRow, toCol, fromRow, fromCol, elem int, m *moves) {
	switch {
	case m != nil && rows > 1 && cols > 1 && toCol == 1 && fromRow == 1 && toRow >= cols && fromCol >= rows:
		m.transpose(dst, toRow, src, fromCol, cols, rows)
		return
	case m != nil && rows > 1 && toCol == 1 && fromCol == 1 && toRow >= cols && fromRow >= cols:
		m.copyRows(dst, toRow, src, fromRow, rows, cols)
		return
	}
	for i := range rows {
		row, source := unsafe.Add(dst, i*toRow*elem), unsafe.Add(src, i*fromRow*elem)
		switch {
		case toCol == 1 && fromCol == 1:
			copy(elements[byte](row, cols*elem), elements[byte](source, cols*elem))
		case elem == 1:
			copyRow[uint8](row, source, cols, toCol, fromCol)
		case elem == 2:
			copyRow[uint16](row, source, cols, 2*toCol, 2*fromCol)
		case elem == 4:
			copyRow[uint32](row, source, cols, 4*toCol, 4*fromCol)
		default:
			copyRow[uint64](row, source, cols, 8*toCol, 8*fromCol)
		}
	}
}

// copyRow copies n elements from src to dst. The arguments from and to are the distances in bytes
// between the elements at src and at dst.
func copyRow[T word](dst, src unsafe.Pointer, n, to, from int) {
	for i := range n {
		*(*T)(unsafe.Add(dst, i*to)) = *(*T)(unsafe.Add(src, i*from))
	}
}

// collapsePair simplifies two views of equal dimensions together. It drops axes of size 1 and
// merges two neighbouring axes into one if a single stride can replace their two strides in both
// views.
func collapsePair(a, b view) (view, view) {
	x, y := view{offset: a.offset}, view{offset: b.offset}
	for axis, d := range a.dims {
		if d == 1 {
			continue
		}
		sa, sb := a.strides[axis], b.strides[axis]
		if last := len(x.dims) - 1; last >= 0 && x.strides[last] == sa*d && y.strides[last] == sb*d {
			x.dims[last] *= d
			x.strides[last], y.strides[last] = sa, sb
			continue
		}
		x.dims = append(x.dims, d)
		x.strides, y.strides = append(x.strides, sa), append(y.strides, sb)
	}
	y.dims = x.dims
	return x, y
}

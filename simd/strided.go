package simd

import (
	"unsafe"
)

// strided reads elements of 1, 2, 4 or 8 bytes in the order of a collapsed view.
type strided struct {
	view
	elem int // bytes of an element
}

func newStrided(v view, elem int) strided {
	return strided{view: v.collapse(), elem: elem}
}

// period is the distance after which the elements repeat; the size if they do not.
func (s *strided) period() int {
	if s.uniform() {
		return 1
	}
	if len(s.dims) > 0 && s.strides[0] == 0 {
		return product(s.dims[1:])
	}
	return s.size()
}

// fill copies elements [start, start+n) of the view of the array at src to dst, one after the other.
func (s *strided) fill(dst, src unsafe.Pointer, start, n int) {
	switch s.elem {
	case 1:
		fillStrided((*uint8)(dst), src, &s.view, start, n)
	case 2:
		fillStrided((*uint16)(dst), src, &s.view, start, n)
	case 4:
		fillStrided((*uint32)(dst), src, &s.view, start, n)
	default:
		fillStrided((*uint64)(dst), src, &s.view, start, n)
	}
}

// word stands for the elements of its size.
type word interface {
	uint8 | uint16 | uint32 | uint64
}

func fillStrided[T word](dst *T, src unsafe.Pointer, v *view, start, n int) {
	size := int(unsafe.Sizeof(*dst))
	out := unsafe.Slice(dst, n)
	last := len(v.dims) - 1
	if last < 0 {
		fillRun(out, *(*T)(unsafe.Add(src, v.offset*size)))
		return
	}
	// One run of the innermost axis at a time; rows of the axis above follow each other at one distance.
	inner, stride := v.dims[last], v.strides[last]*size
	outer, step := 1, 0
	if last > 0 {
		outer, step = v.dims[last-1], v.strides[last-1]*size
	}
	for position := start; len(out) > 0; {
		column := position % inner
		row := position / inner % outer
		from := v.at(position) * size
		if stride == 0 && column == 0 {
			if rows := min(outer-row, len(out)/inner); rows > 0 {
				repeatColumn(out[:rows*inner], unsafe.Add(src, from), step, inner)
				out = out[rows*inner:]
				position += rows * inner
				continue
			}
		}
		for ; row < outer && len(out) > 0; row++ {
			run := min(inner-column, len(out))
			fillRow(out[:run], unsafe.Add(src, from), stride, size)
			out = out[run:]
			position += run
			from += step - column*stride
			column = 0
		}
	}
}

// repeatColumn repeats each of the elements at a distance of step bytes inner times.
func repeatColumn[T word](out []T, from unsafe.Pointer, step, inner int) {
	for len(out) >= inner {
		fillRun(out[:inner], *(*T)(from))
		if out = out[inner:]; len(out) > 0 {
			from = unsafe.Add(from, step)
		}
	}
}

// fillRow copies elements at a distance of stride bytes.
func fillRow[T word](out []T, from unsafe.Pointer, stride, size int) {
	switch stride {
	case 0:
		fillRun(out, *(*T)(from))
	case size:
		if len(out) < 16 { // a call of memmove costs more
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

// fillRun writes short runs one by one and doubles long ones.
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

// copyAxes copies elements of shape dims from and to places at the given strides.
func copyAxes(dst, src unsafe.Pointer, dims, to, from []int, elem int) {
	switch len(dims) {
	case 0:
		copyMatrix(dst, src, 1, 1, 0, 0, 0, 0, elem)
	case 1:
		copyMatrix(dst, src, 1, dims[0], 0, to[0], 0, from[0], elem)
	case 2:
		copyMatrix(dst, src, dims[0], dims[1], to[0], to[1], from[0], from[1], elem)
	default:
		for i := range dims[0] {
			copyAxes(unsafe.Add(dst, i*to[0]*elem), unsafe.Add(src, i*from[0]*elem), dims[1:], to[1:], from[1:], elem)
		}
	}
}

// copyMatrix copies rows × cols elements; the strides of rows and columns are in elements.
func copyMatrix(dst, src unsafe.Pointer, rows, cols, toRow, toCol, fromRow, fromCol, elem int) {
	for i := range rows {
		row, source := unsafe.Add(dst, i*toRow*elem), unsafe.Add(src, i*fromRow*elem)
		if toCol == 1 && fromCol == 1 && cols >= 16 {
			copy(elements[byte](row, cols*elem), elements[byte](source, cols*elem))
			continue
		}
		switch elem {
		case 1:
			copyRow[uint8](row, source, cols, toCol, fromCol)
		case 2:
			copyRow[uint16](row, source, cols, 2*toCol, 2*fromCol)
		case 4:
			copyRow[uint32](row, source, cols, 4*toCol, 4*fromCol)
		default:
			copyRow[uint64](row, source, cols, 8*toCol, 8*fromCol)
		}
	}
}

// copyRow copies n elements between places at strides in bytes.
func copyRow[T word](dst, src unsafe.Pointer, n, to, from int) {
	for i := range n {
		*(*T)(unsafe.Add(dst, i*to)) = *(*T)(unsafe.Add(src, i*from))
	}
}

// collapsePair drops axes of size 1 and merges neighbours that both views walk with one stride.
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

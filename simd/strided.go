package simd

import (
	"unsafe"
)

// strided reads or writes elements of 1, 2, 4 or 8 bytes in the order of a collapsed view.
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
		fillStrided((*uint8)(dst), (*uint8)(src), &s.view, start, n)
	case 2:
		fillStrided((*uint16)(dst), (*uint16)(src), &s.view, start, n)
	case 4:
		fillStrided((*uint32)(dst), (*uint32)(src), &s.view, start, n)
	default:
		fillStrided((*uint64)(dst), (*uint64)(src), &s.view, start, n)
	}
}

func fillStrided[T uint8 | uint16 | uint32 | uint64](dst, src *T, v *view, start, n int) {
	size := int(unsafe.Sizeof(*dst))
	out := unsafe.Slice(dst, n)
	last := len(v.dims) - 1
	if last < 0 {
		fillRun(out, *(*T)(unsafe.Add(unsafe.Pointer(src), v.offset*size)))
		return
	}
	inner, stride := v.dims[last], v.strides[last]
	for position := start; len(out) > 0; {
		run := min(inner-position%inner, len(out))
		from := (*T)(unsafe.Add(unsafe.Pointer(src), v.at(position)*size))
		switch stride {
		case 0:
			fillRun(out[:run], *from)
		case 1:
			copy(out[:run], unsafe.Slice(from, run))
		default:
			p := unsafe.Pointer(from)
			for i := range out[:run] {
				out[i] = *(*T)(p)
				if i+1 < run {
					p = unsafe.Add(p, stride*size)
				}
			}
		}
		out = out[run:]
		position += run
	}
}

func fillRun[T uint8 | uint16 | uint32 | uint64](out []T, x T) {
	for i := range out {
		out[i] = x
	}
}

package simd

import "slices"

// view says where the elements of a logical array of shape dims lie in the flat memory of its base
// array: element (i₀, i₁, …) is at offset + Σ iₐ·strides[a]. A stride of 0 repeats (broadcast), a
// negative one reverses. Transpose, broadcast, slice, reverse and most reshapes only change the
// view, so they cost nothing at run time.
type view struct {
	offset        int
	dims, strides []int
}

// rowMajor is the view of a dense array of shape dims.
func rowMajor(dims []int) view {
	return view{dims: dims, strides: rowMajorStrides(dims)}
}

func rowMajorStrides(dims []int) []int {
	strides := make([]int, len(dims))
	stride := 1
	for axis := len(dims) - 1; axis >= 0; axis-- {
		strides[axis] = stride
		stride *= dims[axis]
	}
	return strides
}

func product(dims []int) int {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return n
}

func (v view) size() int { return product(v.dims) }

// dense reports whether the view is all of a dense array of n elements in row-major order.
func (v view) dense(n int) bool {
	c := v.collapse()
	return c.size() == n && c.offset == 0 && (n <= 1 || len(c.dims) == 1 && c.strides[0] == 1)
}

// uniform reports whether every element is the same memory location.
func (v view) uniform() bool {
	for axis, d := range v.dims {
		if d > 1 && v.strides[axis] != 0 {
			return false
		}
	}
	return v.size() > 0
}

// collapse drops axes of size 1 and merges neighbouring axes that one stride can walk; the order of
// elements stays.
func (v view) collapse() view {
	out := view{offset: v.offset}
	for axis, d := range v.dims {
		if d == 1 {
			continue
		}
		s := v.strides[axis]
		if last := len(out.dims) - 1; last >= 0 && out.strides[last] == s*d {
			out.dims[last] *= d
			out.strides[last] = s
			continue
		}
		out.dims, out.strides = append(out.dims, d), append(out.strides, s)
	}
	return out
}

// transpose puts axis permutation[a] at axis a. Axes that the view only repeats along may be left
// out.
func (v view) transpose(permutation []int) view {
	out := view{offset: v.offset, dims: make([]int, len(permutation)), strides: make([]int, len(permutation))}
	for to, from := range permutation {
		out.dims[to], out.strides[to] = v.dims[from], v.strides[from]
	}
	return out
}

// broadcast maps axis a of v to axis axes[a] of an array of shape dims; other axes repeat, and so
// do axes of size 1.
func (v view) broadcast(dims, axes []int) view {
	out := view{offset: v.offset, dims: slices.Clone(dims), strides: make([]int, len(dims))}
	for from, to := range axes {
		if v.dims[from] == dims[to] && dims[to] != 1 {
			out.strides[to] = v.strides[from]
		}
	}
	return out
}

// broadcastTo applies the implicit broadcasting of binary operations: scalars repeat everywhere,
// axes of size 1 along that axis.
func (v view) broadcastTo(dims []int) view {
	if len(v.dims) == 0 {
		return v.broadcast(dims, nil)
	}
	return v.broadcast(dims, iotaInts(len(dims)))
}

func (v view) slice(starts, limits, steps []int) view {
	out := view{offset: v.offset, dims: make([]int, len(v.dims)), strides: make([]int, len(v.dims))}
	for axis := range v.dims {
		out.offset += starts[axis] * v.strides[axis]
		out.dims[axis] = (limits[axis] - starts[axis] + steps[axis] - 1) / steps[axis]
		out.strides[axis] = steps[axis] * v.strides[axis]
	}
	return out
}

func (v view) reverse(axes []int) view {
	out := view{offset: v.offset, dims: v.dims, strides: slices.Clone(v.strides)}
	for _, axis := range axes {
		out.offset += max(0, v.dims[axis]-1) * v.strides[axis]
		out.strides[axis] = -v.strides[axis]
	}
	return out
}

// reshape returns the view under a new shape of the same size, or false when no strides can express
// it.
func (v view) reshape(dims []int) (view, bool) {
	out := view{offset: v.offset, dims: slices.Clone(dims), strides: make([]int, len(dims))}
	if v.size() <= 1 {
		return out, true
	}
	c := v.collapse()
	// Split each collapsed axis, innermost first, over the new axes.
	from, left := len(c.dims)-1, 0
	stride := 0
	for to := len(dims) - 1; to >= 0; to-- {
		d := dims[to]
		if d == 1 {
			continue
		}
		if left <= 1 {
			left, stride = c.dims[from], c.strides[from]
			from--
		}
		if left%d != 0 {
			return view{}, false
		}
		out.strides[to] = stride
		stride *= d
		left /= d
	}
	return out, true
}

// at is the flat index of the element with linear (row-major) position i.
func (v view) at(i int) int {
	index := v.offset
	for axis := len(v.dims) - 1; axis >= 0; axis-- {
		index += i % v.dims[axis] * v.strides[axis]
		i /= v.dims[axis]
	}
	return index
}

func iotaInts(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = i
	}
	return s
}

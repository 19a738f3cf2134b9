package simd

import "slices"

// view describes an array of shape dims whose elements are elements of another array, the base:
// element (i₀, i₁, …) of the view is element offset + Σ iₐ·strides[a] of the base. A stride of 0
// repeats elements along an axis (broadcast), and a negative stride reverses their order.
// Transpose, broadcast, slice, reverse and most reshapes only change the view, so they cost nothing
// at run time.
type view struct {
	offset        int
	dims, strides []int
}

// rowMajor returns the view that is a dense array of shape dims itself.
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

// dense reports whether the view consists of all elements of a dense array of n elements in
// row-major order.
func (v view) dense(n int) bool {
	c := v.collapse()
	return c.size() == n && c.offset == 0 && (n <= 1 || len(c.dims) == 1 && c.strides[0] == 1)
}

// uniform reports whether all elements of the view are the same element of the base.
func (v view) uniform() bool {
	for axis, d := range v.dims {
		if d > 1 && v.strides[axis] != 0 {
			return false
		}
	}
	return v.size() > 0
}

// collapse simplifies v without changing the order of its elements. It drops axes of size 1 and
// merges two neighbouring axes into one if a single stride can replace their two strides.
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

// transpose reorders axes: axis a of the result is axis permutation[a] of v. Axes along which the
// view only repeats elements may be left out of permutation.
func (v view) transpose(permutation []int) view {
	out := view{offset: v.offset, dims: make([]int, len(permutation)), strides: make([]int, len(permutation))}
	for to, from := range permutation {
		out.dims[to], out.strides[to] = v.dims[from], v.strides[from]
	}
	return out
}

// broadcast repeats v so that the result has shape dims. Axis a of v becomes axis axes[a] of the
// result. Elements repeat along the other axes of the result and along axes of v of size 1.
func (v view) broadcast(dims, axes []int) view {
	out := view{offset: v.offset, dims: slices.Clone(dims), strides: make([]int, len(dims))}
	for from, to := range axes {
		if v.dims[from] == dims[to] && dims[to] != 1 {
			out.strides[to] = v.strides[from]
		}
	}
	return out
}

// broadcastTo repeats v to shape dims by the rules of binary operations: a scalar repeats along all
// axes, and an array repeats along its axes of size 1.
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

// reshape returns v with a new shape of the same size. It returns false if no strides can express
// that.
func (v view) reshape(dims []int) (view, bool) {
	out := view{offset: v.offset, dims: slices.Clone(dims), strides: make([]int, len(dims))}
	if v.size() <= 1 {
		return out, true
	}
	c := v.collapse()
	// Divide each collapsed axis, from the last to the first, into new axes.
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

// at returns the index in the base of element i of the view in row-major order.
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

package simd

import (
	"math"
	"slices"

	"github.com/gomlx/gomlx/backends"
)

// array is a value of the naive interpreter, with which tests compare results. Its elements are
// float64 for all types of the tested operation.
type array struct {
	dims []int
	data []float64
}

func newArray(dims ...int) array {
	return array{dims: slices.Clone(dims), data: make([]float64, product(dims))}
}

// coordinates returns the position of element i along each axis.
func (a array) coordinates(i int) []int {
	c := make([]int, len(a.dims))
	for axis := len(a.dims) - 1; axis >= 0; axis-- {
		c[axis] = i % a.dims[axis]
		i /= a.dims[axis]
	}
	return c
}

func (a array) index(c []int) int {
	i := 0
	for axis, d := range a.dims {
		i = i*d + c[axis]
	}
	return i
}

// fill sets every element to f of its coordinates.
func (a array) fill(f func(c []int) float64) array {
	for i := range a.data {
		a.data[i] = f(a.coordinates(i))
	}
	return a
}

// get returns the element at coordinates c by the broadcasting rules of binary operations: a scalar
// repeats along all axes, and an array repeats along its axes of size 1.
func (a array) get(c []int) float64 {
	if len(a.dims) == 0 {
		return a.data[0]
	}
	index := slices.Clone(c)
	for axis, d := range a.dims {
		if d == 1 {
			index[axis] = 0
		}
	}
	return a.data[a.index(index)]
}

func naiveMap(f func(x []float64) float64, in ...array) array {
	var dims []int
	for _, a := range in {
		if len(a.dims) > 0 && dims == nil {
			dims = slices.Clone(a.dims)
		}
		for axis, d := range a.dims {
			if d != 1 {
				dims[axis] = d
			}
		}
	}
	return newArray(dims...).fill(func(c []int) float64 {
		x := make([]float64, len(in))
		for i, a := range in {
			x[i] = a.get(c)
		}
		return f(x)
	})
}

func (a array) reshape(dims ...int) array { return array{dims: dims, data: a.data} }

func (a array) transpose(permutation ...int) array {
	dims := make([]int, len(a.dims))
	for to, from := range permutation {
		dims[to] = a.dims[from]
	}
	return newArray(dims...).fill(func(c []int) float64 {
		source := make([]int, len(c))
		for to, from := range permutation {
			source[from] = c[to]
		}
		return a.get(source)
	})
}

func (a array) broadcastInDim(dims, axes []int) array {
	return newArray(dims...).fill(func(c []int) float64 {
		source := make([]int, len(a.dims))
		for from, to := range axes {
			source[from] = min(c[to], a.dims[from]-1)
		}
		return a.data[a.index(source)]
	})
}

func (a array) slice(starts, limits, steps []int) array {
	dims := make([]int, len(a.dims))
	for axis := range dims {
		dims[axis] = (limits[axis] - starts[axis] + steps[axis] - 1) / steps[axis]
	}
	return newArray(dims...).fill(func(c []int) float64 {
		source := make([]int, len(c))
		for axis := range c {
			source[axis] = starts[axis] + c[axis]*steps[axis]
		}
		return a.data[a.index(source)]
	})
}

func (a array) reverse(axes ...int) array {
	return newArray(a.dims...).fill(func(c []int) float64 {
		source := slices.Clone(c)
		for _, axis := range axes {
			source[axis] = a.dims[axis] - 1 - c[axis]
		}
		return a.data[a.index(source)]
	})
}

func (a array) pad(value float64, axes []backends.PadAxis) array {
	dims := make([]int, len(a.dims))
	for axis, d := range a.dims {
		dims[axis] = axes[axis].Start + d + max(0, d-1)*axes[axis].Interior + axes[axis].End
	}
	out := newArray(dims...).fill(func([]int) float64 { return value })
	for i, x := range a.data {
		c, inside := a.coordinates(i), true
		for axis := range c {
			c[axis] = axes[axis].Start + c[axis]*(axes[axis].Interior+1)
			inside = inside && c[axis] >= 0 && c[axis] < dims[axis]
		}
		if inside {
			out.data[out.index(c)] = x
		}
	}
	return out
}

func naiveConcatenate(axis int, in ...array) array {
	dims := slices.Clone(in[0].dims)
	for _, a := range in[1:] {
		dims[axis] += a.dims[axis]
	}
	return newArray(dims...).fill(func(c []int) float64 {
		source := slices.Clone(c)
		for _, a := range in {
			if source[axis] < a.dims[axis] {
				return a.data[a.index(source)]
			}
			source[axis] -= a.dims[axis]
		}
		panic("unreachable")
	})
}

func (a array) reduce(start float64, combine func(x, y float64) float64, axes ...int) array {
	var dims []int
	for axis, d := range a.dims {
		if !slices.Contains(axes, axis) {
			dims = append(dims, d)
		}
	}
	out := newArray(dims...).fill(func([]int) float64 { return start })
	for i, x := range a.data {
		var to []int
		for axis, c := range a.coordinates(i) {
			if !slices.Contains(axes, axis) {
				to = append(to, c)
			}
		}
		j := out.index(to)
		out.data[j] = combine(out.data[j], x)
	}
	return out
}

func naiveDotGeneral(a array, aContract, aBatch []int, b array, bContract, bBatch []int) array {
	attr := productAttr{lhsContract: aContract, lhsBatch: aBatch, rhsContract: bContract, rhsBatch: bBatch}
	aFree, bFree := freeAxes(len(a.dims), aContract, aBatch), freeAxes(len(b.dims), bContract, bBatch)
	var terms []int
	for _, axis := range aContract {
		terms = append(terms, a.dims[axis])
	}
	sum := newArray(terms...)
	return newArray(attr.outputDims(a.dims, b.dims)...).fill(func(c []int) float64 {
		total := 0.0
		for k := range sum.data {
			contracted, ac, bc := sum.coordinates(k), make([]int, len(a.dims)), make([]int, len(b.dims))
			for i := range aContract {
				ac[aContract[i]], bc[bContract[i]] = contracted[i], contracted[i]
			}
			for i := range aBatch {
				ac[aBatch[i]], bc[bBatch[i]] = c[i], c[i]
			}
			for i, axis := range aFree {
				ac[axis] = c[len(aBatch)+i]
			}
			for i, axis := range bFree {
				bc[axis] = c[len(aBatch)+len(aFree)+i]
			}
			total += a.data[a.index(ac)] * b.data[b.index(bc)]
		}
		return total
	})
}

// naiveGather follows the definition in XLA's operation semantics.
func naiveGather(a, indices array, indexAxis int, offsetAxes, collapsed, startMap, sliceDims []int) array {
	if indexAxis == len(indices.dims) {
		indices = indices.reshape(append(slices.Clone(indices.dims), 1)...)
	}
	batch := slices.Delete(slices.Clone(indices.dims), indexAxis, indexAxis+1)
	var window []int
	for axis, d := range sliceDims {
		if !slices.Contains(collapsed, axis) {
			window = append(window, d)
		}
	}
	dims, b, w := make([]int, len(batch)+len(window)), 0, 0
	for axis := range dims {
		if slices.Contains(offsetAxes, axis) {
			dims[axis] = window[w]
			w++
		} else {
			dims[axis] = batch[b]
			b++
		}
	}
	return newArray(dims...).fill(func(c []int) float64 {
		var batchAt, offset []int
		for axis, x := range c {
			if slices.Contains(offsetAxes, axis) {
				offset = append(offset, x)
			} else {
				batchAt = append(batchAt, x)
			}
		}
		from := make([]int, len(a.dims))
		for i, axis := range startMap {
			indexCoordinates := slices.Insert(slices.Clone(batchAt), indexAxis, i)
			from[axis] = min(max(int(indices.data[indices.index(indexCoordinates)]), 0), a.dims[axis]-sliceDims[axis])
		}
		next := 0
		for axis := range from {
			if !slices.Contains(collapsed, axis) {
				from[axis] += offset[next]
				next++
			}
		}
		return a.data[a.index(from)]
	})
}

// naiveScatter follows the definition in XLA's operation semantics. Windows that reach outside the
// operand are skipped.
func naiveScatter(combine func(x, y float64) float64, a, indices, updates array, indexAxis int, windowAxes, inserted, operandAxes []int) array {
	if indexAxis == len(indices.dims) {
		indices = indices.reshape(append(slices.Clone(indices.dims), 1)...)
	}
	out := array{dims: a.dims, data: slices.Clone(a.data)}
	windowDims := slices.Repeat([]int{1}, len(a.dims))
	next := 0
	for axis := range windowDims {
		if !slices.Contains(inserted, axis) {
			windowDims[axis] = updates.dims[windowAxes[next]]
			next++
		}
	}
	for i, x := range updates.data {
		var batchAt, offset []int
		for axis, c := range updates.coordinates(i) {
			if slices.Contains(windowAxes, axis) {
				offset = append(offset, c)
			} else {
				batchAt = append(batchAt, c)
			}
		}
		to, inside := make([]int, len(a.dims)), true
		for j, axis := range operandAxes {
			indexCoordinates := slices.Insert(slices.Clone(batchAt), indexAxis, j)
			to[axis] = int(indices.data[indices.index(indexCoordinates)])
			inside = inside && to[axis] >= 0 && to[axis] <= a.dims[axis]-windowDims[axis]
		}
		next := 0
		for axis := range to {
			if !slices.Contains(inserted, axis) {
				to[axis] += offset[next]
				next++
			}
		}
		if inside {
			j := out.index(to)
			out.data[j] = combine(out.data[j], x)
		}
	}
	return out
}

func naiveMax(x, y float64) float64 {
	if math.IsNaN(x) || math.IsNaN(y) {
		return math.NaN()
	}
	return max(x, y)
}

func naiveMin(x, y float64) float64 {
	if math.IsNaN(x) || math.IsNaN(y) {
		return math.NaN()
	}
	return min(x, y)
}

func add(x, y float64) float64 { return x + y }
func mul(x, y float64) float64 { return x * y }

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

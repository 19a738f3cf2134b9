package kernel

import "math"

// sum implements [Vectors.Sum].
func sum[T Float](a []T) T {
	var partial [64]T
	width := len(partial) * 4 / sizeOf[T]()
	for len(a) >= width {
		for i, x := range a[:width] {
			partial[i] += x
		}
		a = a[width:]
	}
	for i, x := range a {
		partial[i] += x
	}
	for half := width / 2; half > 0; half /= 2 {
		for i, x := range partial[half : 2*half] {
			partial[i] += x
		}
	}
	return partial[0]
}

// dotRows implements [Vectors.DotRows].
func dotRows[T Float](dst, a []T, stride int, x []T) {
	checkStride(len(dst), len(a), stride, len(x))
	var partial [64]T
	width := len(partial) * 4 / sizeOf[T]()
	for i := range dst {
		clear(partial[:])
		for j, v := range a[i*stride : i*stride+len(x)] {
			partial[j%width] += v * x[j]
		}
		for half := width / 2; half > 0; half /= 2 {
			for j, v := range partial[half : 2*half] {
				partial[j] += v
			}
		}
		dst[i] = partial[0]
	}
}

func maxOf[T Float](a []T) T {
	m := T(math.Inf(-1))
	for _, x := range a {
		m = greater(x, m)
	}
	return m
}

func minOf[T Float](a []T) T {
	m := T(math.Inf(1))
	for _, x := range a {
		m = lesser(x, m)
	}
	return m
}

func reduceRows[T Float](f func(a []T) T) func(dst, a []T) {
	return func(dst, a []T) {
		n := rowLength(len(dst), len(a))
		for i := range dst {
			dst[i] = f(a[i*n : (i+1)*n])
		}
	}
}

// spread implements [Vectors.Spread].
func spread[T Float](dst, a []T) {
	n := rowLength(len(a), len(dst))
	for i, x := range a {
		for j := range n {
			dst[i*n+j] = x
		}
	}
}

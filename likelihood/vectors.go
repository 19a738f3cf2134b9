package likelihood

import (
	"math"
	"slices"
	"sync"

	"github.com/transdim/vti/internal/kernel"
)

// vectors computes exponentials of many rows at once.
var vectors = kernel.VectorsOf[float64](kernel.Detect())

var buffers = sync.Pool{New: func() any { return new([]float64) }}

// withBuffer calls do with memory for n numbers.
func withBuffer(n int, do func(work []float64)) {
	work := buffers.Get().(*[]float64)
	*work = slices.Grow((*work)[:0], n)[:n]
	do(*work)
	buffers.Put(work)
}

// logProduct returns Σ log(1 + q_i) of numbers q_i between 0 and 1, as logarithms of products of up
// to 1,000 factors.
func logProduct(q []float64) (sum float64) {
	const factors = 1000 // a product of this number of factors is at most 2^1000, which float64 can hold
	product := 1.0
	for i, v := range q {
		if product *= 1 + v; i%factors == factors-1 {
			sum += math.Log(product)
			product = 1
		}
	}
	return sum + math.Log(product)
}

// kernelRows is a Row that computes the kernels of many rows faster than one by one. It writes
// LogKernelAt of every row to kernels [n].
type kernelRows interface {
	kernels(y, eta []float64, scale float64, kernels []float64)
}

// kernelSummer is a Row that sums kernels with fewer logarithms than there are rows. Its sums are
// as in LogKernelSums.
type kernelSummer interface {
	sumKernels(y, times, eta []float64, scale float64, sums []float64)
}

// LogKernels returns Σ_i t_i LogKernelAt(y_i, η_i, σ), with times [n] as in LogDensity.
func LogKernels(l Row, y, times, eta []float64, scale float64) float64 {
	var sum [1]float64
	LogKernelSums(l, y, times, eta, scale, sum[:])
	return sum[0]
}

// LogKernelSums writes the results of LogKernels for m sets of linear predictors eta [m, n] of the
// same rows y [n] to sums [m]. times is [n] or nil.
func LogKernelSums(l Row, y, times, eta []float64, scale float64, sums []float64) {
	n := len(y)
	switch l := l.(type) {
	case kernelSummer:
		l.sumKernels(y, times, eta, scale, sums)
	case kernelRows:
		withBuffer(n, func(kernels []float64) {
			for k := range sums {
				l.kernels(y, eta[k*n:(k+1)*n], scale, kernels)
				sums[k] = sumTimes(kernels, times)
			}
		})
	default:
		sumEach(l, y, times, eta, scale, sums)
	}
}

// sumTimes returns Σ_i t_i terms_i, with times as in LogKernels. It overwrites terms.
func sumTimes(terms, times []float64) float64 {
	if times != nil {
		vectors.Mul(terms, terms, times)
	}
	return vectors.Sum(terms)
}

// sumEach does the same as LogKernelSums row by row.
func sumEach(l Row, y, times, eta []float64, scale float64, sums []float64) {
	for k := range sums {
		sum := 0.0
		for i, v := range y {
			sum += timesOf(times, i) * l.LogKernelAt(v, eta[k*len(y)+i], scale)
		}
		sums[k] = sum
	}
}

// timesOf returns the number of rows that a response stands for.
func timesOf(times []float64, row int) float64 {
	if times == nil {
		return 1
	}
	return times[row]
}

// newtonRows and boundRows are Rows that compute the results of NewtonAt and BoundAt for many rows
// faster than one by one.
type (
	newtonRows interface {
		newtons(y, eta []float64, scale float64, slope, curvature []float64)
	}
	boundRows interface {
		bounds(y, eta []float64, scale float64, slope, curvature []float64)
	}
)

// Newtons writes the slope and the curvature of NewtonAt(y_i, η_i, σ) for every row, times t_i as
// in LogKernels, to slope [n] and curvature [n].
func Newtons(l Row, y, times, eta []float64, scale float64, slope, curvature []float64) {
	if s, ok := l.(newtonRows); ok {
		s.newtons(y, eta, scale, slope, curvature)
	} else {
		expandEach(l.NewtonAt, y, eta, scale, slope, curvature)
	}
	repeat(times, slope, curvature)
}

// Bounds does with BoundAt as Newtons does with NewtonAt.
func Bounds(l Row, y, times, eta []float64, scale float64, slope, curvature []float64) {
	if s, ok := l.(boundRows); ok {
		s.bounds(y, eta, scale, slope, curvature)
	} else {
		expandEach(l.BoundAt, y, eta, scale, slope, curvature)
	}
	repeat(times, slope, curvature)
}

// expandEach writes the results of at, which is NewtonAt or BoundAt, for every row.
func expandEach(at func(y, eta, scale float64) (slope, curvature float64), y, eta []float64, scale float64, slope, curvature []float64) {
	for i, v := range y {
		slope[i], curvature[i] = at(v, eta[i], scale)
	}
}

// repeat multiplies slopes and curvatures by the numbers of rows that they stand for.
func repeat(times, slope, curvature []float64) {
	for i, t := range times {
		slope[i], curvature[i] = t*slope[i], t*curvature[i]
	}
}

package likelihood

import (
	"sync"

	"github.com/transdim/vti/internal/kernel"
)

// vectors computes exponentials of many rows at once.
var vectors = kernel.VectorsOf[float64](kernel.Detect())

// vectorRows is the number of rows that are computed together.
const vectorRows = 256

// buffers are memory for these.
var buffers = sync.Pool{New: func() any { return new([vectorRows]float64) }}

// inVectors calls do for one part of rows after another, with memory that fits: y and eta [n].
func inVectors(y, eta []float64, do func(first int, y, eta, work []float64)) {
	work := buffers.Get().(*[vectorRows]float64)
	for first := 0; first < len(y); first += vectorRows {
		last := min(first+vectorRows, len(y))
		do(first, y[first:last], eta[first:last], work[:last-first])
	}
	buffers.Put(work)
}

// kernelSummer is a Row that sums kernels faster than one by one.
type kernelSummer interface {
	sumKernels(y, eta []float64) float64
}

// LogKernels is Σ_i LogKernelAt(y_i, η_i, σ).
func LogKernels(l Row, y, eta []float64, scale float64) (sum float64) {
	if s, ok := l.(kernelSummer); ok {
		return s.sumKernels(y, eta)
	}
	for i, v := range y {
		sum += l.LogKernelAt(v, eta[i], scale)
	}
	return sum
}

// newtonRows is a Row that finds slopes and curvatures faster than one by one.
type newtonRows interface {
	newtons(y, eta, slope, curvature []float64)
}

// Newtons writes NewtonAt(y_i, η_i, σ) of every row to slope [n] and curvature [n].
func Newtons(l Row, y, eta []float64, scale float64, slope, curvature []float64) {
	if s, ok := l.(newtonRows); ok {
		s.newtons(y, eta, slope, curvature)
		return
	}
	for i, v := range y {
		slope[i], curvature[i] = l.NewtonAt(v, eta[i], scale)
	}
}

package made

import (
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"

	"github.com/transdim/vti/internal/apply"
)

// degrees returns the degrees of h hidden units of a network with d inputs. They are sorted and
// spread evenly over 0 … d-1, both ends included.
func degrees(d, h int) []int {
	m := make([]int, h)
	for k := range m {
		if h >= d {
			m[k] = k * d / h // every degree gets ⌊h/d⌋ or ⌈h/d⌉ units
		} else {
			m[k] = k * (d - 1) / (h - 1)
		}
	}
	return m
}

// mask is a 0/1 matrix, true where a weight may be used.
type mask struct {
	rows, cols int
	allowed    []bool // row-major
}

func newMask(rows, cols int, allowed func(row, col int) bool) mask {
	m := mask{rows: rows, cols: cols, allowed: make([]bool, rows*cols)}
	for r := range rows {
		for c := range cols {
			m.allowed[r*cols+c] = allowed(r, c)
		}
	}
	return m
}

// node returns the mask as a constant [rows, cols] of 0 and 1.
func (m mask) node(g *graph.Graph, dtype dtypes.DType) *graph.Node {
	values := make([]float64, len(m.allowed))
	for i, allowed := range m.allowed {
		if allowed {
			values[i] = 1
		}
	}
	return graph.ConstTensor(g, hostTensor(dtype, values, m.rows, m.cols))
}

// inputMask connects input j to the units of degree above j.
func (n *Network) inputMask() mask {
	return newMask(n.cfg.Inputs, n.cfg.Hidden, func(j, k int) bool { return j < n.degrees[k] })
}

// hiddenMask connects each unit to the units of the same or a higher degree.
func (n *Network) hiddenMask() mask {
	return newMask(n.cfg.Hidden, n.cfg.Hidden, func(k, l int) bool { return n.degrees[k] <= n.degrees[l] })
}

// headMask connects each unit to the outputs of all inputs i that are at least the unit's degree.
func (n *Network) headMask(outputs []int) mask {
	var input []int // the input to which each column belongs
	for i, count := range outputs {
		for range count {
			input = append(input, i)
		}
	}
	return newMask(n.cfg.Hidden, len(input), func(k, c int) bool { return n.degrees[k] <= input[c] })
}

func hostTensor(dtype dtypes.DType, values []float64, dims ...int) *tensors.Tensor {
	switch dtype {
	case dtypes.Float64:
		return tensors.FromFlatDataAndDimensions(values, dims...)
	case dtypes.Float32:
		narrow := apply.To(values, func(v float64) float32 { return float32(v) })
		return tensors.FromFlatDataAndDimensions(narrow, dims...)
	}
	panic(errorf("got dtype %s, want Float32 or Float64", dtype))
}

// Earlier returns a matrix [n,n] with ones where row < column, and zeros elsewhere.
func Earlier(g *graph.Graph, n int, dtype dtypes.DType) *graph.Node {
	return graph.ConvertDType(graph.LogicalNot(graph.LowerTriangular(g, n)), dtype)
}

package cosmic

import (
	"github.com/gomlx/gomlx/pkg/core/graph"
)

// minPivot is the smallest square of a diagonal element of a factor; smaller squares are replaced
// by it. An exact square is one over the variance inflation factor of a coordinate given the
// coordinates before it. Below minPivot, rounding in Float32 would decide its value. Any positive
// value gives a valid flow, because map and density share the factor.
const minPivot = 1e-6

// factor holds the Cholesky factor L of the matrix R∘(m mᵀ) + diag(1-m) for each row m of a batch
// of masks. R is the precision in units that make its diagonal one; all rows share one R, or each
// row has its own. L is the factor of R restricted to the active coordinates, and the identity on
// the inactive ones. The struct also holds h, the solution of L h = m∘b for the linear term b. No
// gradient passes through L or h.
//
// The methods work on columns of L, and must not be differentiated: GoMLX differentiates slices by
// padding, which not every backend supports.
type factor struct {
	columns  []*graph.Node // [D-1-j, B]: L[i, j] for i > j
	diagonal []*graph.Node // L[j, j] [1, B]
	shift    *graph.Node   // h [D, B]
}

// newFactor factorises the matrix of each row of mask [B, D]. The argument couplings [D, D, n]
// holds the off-diagonal entries of R and linear [D, n] holds b; n is 1 if all rows share them and
// B otherwise.
func newFactor(mask, couplings, linear *graph.Node) *factor {
	dim := couplings.Shape().Dim(0)
	m := graph.ConvertDType(turned(mask), couplings.DType()) // [D, B]
	// b becomes a last row below R, which elimination turns into h.
	extended := graph.Concatenate([]*graph.Node{m, graph.OnesLike(rowOf(m, 0))}, 0)
	// [D+1, D, n]
	rows := graph.Concatenate([]*graph.Node{couplings, graph.InsertAxes(linear, 0)}, 0)

	var extendedColumns, shift []*graph.Node // columns of L with h_j appended; h
	f := &factor{}
	for j := range dim {
		entries := graph.Squeeze(graph.Slice(rows, graph.AxisRange(j+1), graph.AxisElem(j)), 1)
		column := graph.Mul(graph.Mul(rowsFrom(extended, j+1), rowOf(m, j)), entries)
		square := graph.OnesLike(rowOf(m, j))
		for k, previous := range extendedColumns {
			here := rowOf(previous, j-k-1) // L[j, k]
			column = graph.Sub(column, graph.Mul(here, rowsFrom(previous, j-k)))
			square = graph.Sub(square, graph.Square(here))
		}
		root := graph.Sqrt(graph.MaxScalar(square, minPivot))
		column = graph.StopGradient(graph.Mul(column, graph.Reciprocal(root)))
		extendedColumns = append(extendedColumns, column)
		f.diagonal = append(f.diagonal, graph.StopGradient(root))
		shift = append(shift, rowOf(column, dim-1-j))
		if j+1 < dim {
			f.columns = append(f.columns, graph.SliceAxis(column, 0, graph.AxisRange(0, dim-1-j)))
		}
	}
	f.shift = stacked(shift)
	return f
}

// solve returns L⁻¹ v for v [D, B].
func (f *factor) solve(v *graph.Node) *graph.Node {
	x := make([]*graph.Node, len(f.diagonal))
	for j, d := range f.diagonal {
		x[j] = graph.Div(rowOf(v, 0), d)
		if j < len(f.columns) {
			v = graph.Sub(rowsFrom(v, 1), graph.Mul(f.columns[j], x[j]))
		}
	}
	return stacked(x)
}

// solveTransposed returns L⁻ᵀ v for v [D, B].
func (f *factor) solveTransposed(v *graph.Node) *graph.Node {
	x := make([]*graph.Node, len(f.diagonal))
	for j := len(x) - 1; j >= 0; j-- {
		right := rowOf(v, j)
		if j < len(f.columns) {
			right = graph.Sub(right, dot(f.columns[j], stacked(x[j+1:])))
		}
		x[j] = graph.Div(right, f.diagonal[j])
	}
	return stacked(x)
}

// multiply returns L v for v [D, B].
func (f *factor) multiply(v *graph.Node) *graph.Node {
	sum := graph.Mul(stacked(f.diagonal), v)
	product := []*graph.Node{rowOf(sum, 0)}
	for j, column := range f.columns {
		sum = graph.Add(rowsFrom(sum, 1), graph.Mul(column, rowOf(v, j)))
		product = append(product, rowOf(sum, 0))
	}
	return stacked(product)
}

// multiplyTransposed returns Lᵀ v for v [D, B].
func (f *factor) multiplyTransposed(v *graph.Node) *graph.Node {
	product := make([]*graph.Node, len(f.diagonal))
	for j, d := range f.diagonal {
		product[j] = graph.Mul(d, rowOf(v, j))
		if j < len(f.columns) {
			product[j] = graph.Add(product[j], dot(f.columns[j], rowsFrom(v, j+1)))
		}
	}
	return stacked(product)
}

// dot returns the product [1, B] of each pair of columns of x and y [n, B].
func dot(x, y *graph.Node) *graph.Node {
	return graph.ReduceAndKeep(graph.Mul(x, y), graph.ReduceSum, 0)
}

// rowOf returns row i of x as [1, B].
func rowOf(x *graph.Node, i int) *graph.Node { return graph.SliceAxis(x, 0, graph.AxisElem(i)) }

func rowsFrom(x *graph.Node, i int) *graph.Node { return graph.SliceAxis(x, 0, graph.AxisRange(i)) }

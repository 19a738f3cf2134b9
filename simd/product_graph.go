package simd

import (
	"slices"

	"github.com/gomlx/gomlx/backends"
)

// dotGeneral adds the operation DotGeneral. Its operands become views with the axes in the order
// batch, free, contracting, which a matrix product can read with one stride for rows and one for
// columns. Products of integers, products with a vector and products without a sum are not worth a
// matrix kernel; they become element-wise multiplications and sums, which are fused with other
// operations.
func (g *graph) dotGeneral(dims []int, attr productAttr, lhs, rhs *node) *node {
	lhsFree := freeAxes(len(lhs.dims), attr.lhsContract, attr.lhsBatch)
	rhsFree := freeAxes(len(rhs.dims), attr.rhsContract, attr.rhsBatch)
	batch, contract := len(attr.lhsBatch), len(attr.lhsContract)
	sides := [2]*node{
		g.transposed(lhs, slices.Concat(attr.lhsBatch, lhsFree, attr.lhsContract)),
		g.transposed(rhs, slices.Concat(attr.rhsBatch, rhsFree, attr.rhsContract)),
	}
	m := product(sides[0].dims[batch : batch+len(lhsFree)])
	n := product(sides[1].dims[batch : batch+len(rhsFree)])
	k := product(sides[0].dims[batch+len(lhsFree):])
	if product(dims) == 0 || k == 0 {
		return g.seen(g.scalar(lhs.dtype, 0), view{dims: dims, strides: make([]int, len(dims))})
	}
	if lhs.dtype.IsFloat() && m > 1 && n > 1 && k > 1 {
		for i := range sides {
			sides[i] = g.matrices(sides[i], batch, contract)
		}
		return g.add(backends.OpTypeDotGeneral, lhs.dtype, dims, batch, sides[0], sides[1])
	}
	// The terms have the axes batch, free axes of lhs, free axes of rhs, contracting. Each operand
	// repeats along the free axes of the other operand.
	b, f, c := sides[0].dims[:batch], sides[0].dims[batch:batch+len(lhsFree)], sides[0].dims[batch+len(lhsFree):]
	all := slices.Concat(b, f, sides[1].dims[batch:batch+len(rhsFree)], c)
	axes := iotaInts(len(all))
	base, v := viewOf(sides[0])
	left := g.seen(base, v.broadcast(all, slices.Concat(axes[:batch+len(f)], axes[len(dims):])))
	base, v = viewOf(sides[1])
	right := g.seen(base, v.broadcast(all, slices.Concat(axes[:batch], axes[batch+len(f):])))
	terms := g.elementwise(backends.OpTypeMul, lhs.dtype, all, left, right)
	return g.reduction(backends.OpTypeReduceSum, dims, axes[len(dims):], terms)
}

func (g *graph) transposed(n *node, permutation []int) *node {
	base, v := viewOf(n)
	return g.seen(base, v.transpose(permutation))
}

// matrices returns n if matrixOf accepts it, and a dense copy of n otherwise.
func (g *graph) matrices(n *node, batch, contract int) *node {
	if _, ok := matrixOf(n, batch, len(n.dims)-contract); ok {
		return n
	}
	return g.copied(n)
}

// matrixView describes an operand of a matrix product: one matrix of rows × cols elements for each
// index in the batch.
type matrixView struct {
	rows, cols           int
	rowStride, colStride int
	offsets              []int // where each matrix of the batch begins
}

// matrixOf describes n as a batch of matrices. The axes [0, batch) of n are the index in the batch,
// the axes [batch, split) together are the rows, and the axes from split on are the columns. It
// returns false if rows or columns need more than one stride, or a negative one.
func matrixOf(n *node, batch, split int) (matrixView, bool) {
	_, v := viewOf(n)
	part := func(from, to int) view {
		return view{dims: v.dims[from:to], strides: v.strides[from:to]}
	}
	rows, cols := part(batch, split).collapse(), part(split, len(v.dims)).collapse()
	if len(rows.dims) > 1 || len(cols.dims) > 1 {
		return matrixView{}, false
	}
	m := matrixView{rows: rows.size(), cols: cols.size()}
	if len(rows.dims) == 1 {
		m.rowStride = rows.strides[0]
	}
	if len(cols.dims) == 1 {
		m.colStride = cols.strides[0]
	}
	which := part(0, batch)
	which.offset = v.offset
	for i := range which.size() {
		m.offsets = append(m.offsets, which.at(i))
	}
	return m, m.rowStride >= 0 && m.colStride >= 0
}

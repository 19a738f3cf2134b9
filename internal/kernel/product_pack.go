package kernel

// inPlaceElements is the largest extent of B in memory, in elements, with which B stays in the L1
// cache without packing.
const inPlaceElements = 1 << 12

// readInPlace reports whether tiles read panel q from b itself instead of a packed copy. A panel
// need not be copied if its rows are contiguous and fill whole vectors, and if few tiles read it or
// it stays in the cache.
func (p *ProductPlan[T]) readInPlace(q *panel, b *Matrix[T]) bool {
	if b.ColStride != 1 || q.cols != q.width {
		return false
	}
	return p.m <= 2*p.kernels.height() || p.k*b.RowStride <= inPlaceElements || b.RowStride == q.width
}

// packPanels copies the panels first <= j < end that exist to dst. Without shareB, dst starts with
// panel first; otherwise it starts with panel 0. A packed panel has k rows of panel.width elements
// without gaps; the columns that a narrow panel lacks are 0. Rows outside of spans are not copied.
func (p *ProductPlan[T]) packPanels(first, end int, b *Matrix[T], dst []T) {
	end = min(end, len(p.panels))
	from := 0
	if !p.shareB {
		from = p.panels[first].packed
	}
	for j := first; j < end; j++ {
		q := &p.panels[j]
		if p.readInPlace(q, b) {
			continue
		}
		for _, spans := range q.spans {
			for _, s := range spans {
				p.packPanel(dst[q.packed-from:], b, q, s)
			}
		}
	}
}

// packPanel copies the rows of span s of panel q to dst, where the packed panel starts.
func (p *ProductPlan[T]) packPanel(dst []T, b *Matrix[T], q *panel, s span) {
	out, from, rows := dst[s.lo*q.width:], b.Data[s.lo*b.RowStride+q.col*b.ColStride:], s.hi-s.lo
	if q.cols < q.width {
		for i := range rows {
			clear(out[i*q.width:][q.cols:q.width])
		}
	}
	switch {
	case b.ColStride == 1:
		p.kernels.copyRows(out, q.width, from, b.RowStride, rows, q.cols)
	case b.RowStride == 1:
		p.kernels.transpose(out, q.width, from, b.ColStride, q.cols, rows)
	default:
		for j := range q.cols {
			for i := range rows {
				out[i*q.width+j] = from[i*b.RowStride+j*b.ColStride]
			}
		}
	}
}

// packBlock copies rows row <= i < rowEnd and columns lo <= p < hi of A to dst and returns the copy
// as a matrix. The copy is smaller in memory than the block of A. It is row-major or column-major
// like A, so that contiguous pieces are copied.
func (p *ProductPlan[T]) packBlock(dst []T, a *Matrix[T], row, rowEnd, lo, hi int) Matrix[T] {
	rows, cols := rowEnd-row, hi-lo
	if cols == 0 {
		return Matrix[T]{}
	}
	from := a.Data[row*a.RowStride+lo*a.ColStride:]
	switch {
	case a.ColStride == 1:
		p.kernels.copyRows(dst, cols, from, a.RowStride, rows, cols)
	case a.RowStride == 1:
		p.kernels.copyRows(dst, rows, from, a.ColStride, cols, rows)
		return Dense(dst, cols, rows).Transpose()
	default:
		for i := range rows {
			for j := range cols {
				dst[i*cols+j] = from[i*a.RowStride+j*a.ColStride]
			}
		}
	}
	return Dense(dst, rows, cols)
}

package kernel

// inPlaceElements is the extent of B, in elements, up to which it stays in the L1 cache without
// packing.
const inPlaceElements = 1 << 12

// readInPlace reports whether tiles read panel q from b itself: its rows are contiguous and fill
// whole vectors, and either few tiles read it or it does not thrash the cache.
func (p *ProductPlan[T]) readInPlace(q *panel, b *Matrix[T]) bool {
	if b.ColStride != 1 || q.cols != q.width {
		return false
	}
	return p.m <= 2*p.kernels.height() || p.k*b.RowStride <= inPlaceElements || b.RowStride == q.width
}

// packPanels copies panels first <= j < end, as far as there are such, to dst, which starts with
// the first: each [k, width] without gaps, zeros at the right of a narrow one. Rows outside of
// spans are left out.
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

// packPanel copies the rows of span s of panel q to dst [k, width].
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

// packBlock copies rows row <= i < rowEnd and columns lo <= p < hi of A to dst and returns the view
// of it. Packing keeps the orientation, so it copies contiguous pieces; its purpose is the small
// extent of the block.
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

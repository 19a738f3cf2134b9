package main

// copyRows generates CopyRows. The code prefetches later rows, because the CPU does not do that by
// itself if rows are far apart in memory.
func (m *machine) copyRows() {
	m.function("copyRows", "computes dst[i*dstStride+j] = src[i*srcStride+j] for all i < rows, j < cols, which are not 0.",
		"(dst *T, dstStride int, src *T, srcStride, rows, cols int)")
	dst, src, rows := m.param("dst"), m.param("src"), m.param("rows")
	dstStride, srcStride := m.stride("dstStride"), m.stride("srcStride")

	m.Label("row")
	to, from, ahead, n := m.copyOf(dst), m.copyOf(src), m.GP64(), m.param("cols")
	m.LEAQ(mem{Base: src, Index: srcStride, Scale: 8}, ahead)
	x := m.reg()
	m.Label("whole")
	m.PREFETCHT0(mem{Base: ahead})
	m.CMPQ(n, number(m.lanes()))
	m.JLT(jump("rest"))
	m.load(m.at(from, 0), x)
	m.store(x, m.at(to, 0))
	for _, p := range []gp{from, to, ahead} {
		m.ADDQ(number(m.bytes), p)
	}
	m.SUBQ(number(m.lanes()), n)
	m.JNZ(jump("whole"))
	m.Label("rest")
	m.TESTQ(n, n)
	m.JZ(jump("next"))
	lanes := m.firstLanes(n)
	m.loadLanes(m.at(from, 0), lanes, x)
	m.storeLanes(x, lanes, m.at(to, 0))

	m.Label("next")
	m.ADDQ(dstStride, dst)
	m.ADDQ(srcStride, src)
	m.DECQ(rows)
	m.JNZ(jump("row"))
	m.end()
}

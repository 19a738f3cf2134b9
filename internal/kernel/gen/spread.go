package main

// spreadKernel generates Spread.
func (m *machine) spreadKernel() {
	m.function("spread", "fills a row of n elements with each element of a; there is one or more.", "(dst *T, a []T, n int)")
	a, rows := m.slice("a")
	dst := m.param("dst")
	m.Label("row")
	s, n := m.broadcast(m.at(a, 0)), m.param("n")
	m.Label("whole")
	m.CMPQ(n, number(m.lanes()))
	m.JLT(jump("rest"))
	m.store(s, m.at(dst, 0))
	m.ADDQ(number(m.bytes), dst)
	m.SUBQ(number(m.lanes()), n)
	m.JMP(jump("whole"))
	m.Label("rest")
	m.TESTQ(n, n)
	m.JLE(jump("filled"))
	m.storeLanes(s, m.firstLanes(n), m.at(dst, 0))
	m.LEAQ(mem{Base: dst, Index: n, Scale: uint8(m.size)}, dst)
	m.Label("filled")
	m.ADDQ(number(m.size), a)
	m.DECQ(rows)
	m.JNZ(jump("row"))
	m.end()
}

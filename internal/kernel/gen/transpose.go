package main

import "fmt"

// transpose generates a kernel that transposes squares whose side is the number of lanes of a
// vector. It is generated for AVX2 only, because AVX-512 has no faster way to do this.
func (m *machine) transpose() {
	n := m.lanes()
	m.function("transpose", fmt.Sprintf("computes dst[j*dstStride+i] = src[i*srcStride+j] for all i < rows, j < cols, "+
		"which are multiples of %d and not 0.", n), "(dst *T, dstStride int, src *T, srcStride, rows, cols int)")
	dst, src, cols := m.param("dst"), m.param("src"), m.param("cols")
	dstStride, srcStride := m.stride("dstStride"), m.stride("srcStride")

	m.Label("column")
	from, to, rows := m.copyOf(src), m.copyOf(dst), m.param("rows")
	m.Label("square")
	in, out := m.rowGroups(from, srcStride, n), m.rowGroups(to, dstStride, n)
	// A register holds the same part of rows i and i + n/2, so that no instruction has to move
	// elements between the two halves of a register.
	half := n / 2
	for part := range 2 {
		var x []vec
		for i := range half {
			upper := in.row(i+half, srcStride)
			lower := in.row(i, srcStride)
			lower.Disp, upper.Disp = part*m.bytes/2, part*m.bytes/2
			both := m.reg()
			m.do(m.VMOVUPS, m.VMOVUPD, lower, both.AsX())
			m.VINSERTF128(imm(1), upper, both, both)
			x = append(x, both)
		}
		if m.single() {
			x = []vec{
				m.op(m.VUNPCKLPS, nil, x[1], x[0]), m.op(m.VUNPCKHPS, nil, x[1], x[0]),
				m.op(m.VUNPCKLPS, nil, x[3], x[2]), m.op(m.VUNPCKHPS, nil, x[3], x[2]),
			}
			for pair := range 2 {
				m.store(m.op(m.VUNPCKLPD, nil, x[pair+2], x[pair]), out.row(part*half+2*pair, dstStride))
				m.store(m.op(m.VUNPCKHPD, nil, x[pair+2], x[pair]), out.row(part*half+2*pair+1, dstStride))
			}
		} else {
			m.store(m.op(nil, m.VUNPCKLPD, x[1], x[0]), out.row(part*half, dstStride))
			m.store(m.op(nil, m.VUNPCKHPD, x[1], x[0]), out.row(part*half+1, dstStride))
		}
	}
	m.advance(from, srcStride, n)
	m.ADDQ(number(m.bytes), to)
	m.SUBQ(number(n), rows)
	m.JNZ(jump("square"))

	m.ADDQ(number(m.bytes), src)
	m.advance(dst, dstStride, n)
	m.SUBQ(number(n), cols)
	m.JNZ(jump("column"))
	m.end()
}

package main

import "github.com/mmcloughlin/avo/operand"

// storeBools stores a byte 0 or 1 for each lane of k.
func (m *machine) storeBools(k mask, to mem) {
	bytes := m.boolBytes(k)
	if m.single() {
		m.MOVQ(bytes, to)
	} else {
		m.MOVL(bytes.As32(), to)
	}
}

// boolBytes returns a byte 0 or 1 for each lane of k. It is for AVX2, where a lane of k is the
// integer 0 or -1.
func (m *machine) boolBytes(k mask) gp {
	low, high, packed, bytes := k.(vec).AsX(), m.XMM(), m.XMM(), m.GP64()
	m.VEXTRACTF128(imm(1), k, high)
	if m.single() {
		m.VPACKSSDW(high, low, packed)
	} else {
		m.VSHUFPS(imm(0x88), high, low, packed)
		m.VPACKSSDW(packed, packed, packed)
	}
	m.VPACKSSWB(packed, packed, packed)
	m.VPABSB(packed, packed)
	m.VMOVQ(packed, bytes)
	return bytes
}

// storeSomeBools stores a byte 0 or 1 for each of the first n lanes of k. The argument lanes is the
// mask of these n lanes.
func (m *machine) storeSomeBools(k, lanes mask, n, to gp) {
	if m.wide() {
		ones, bytes := m.XMM(), m.XMM()
		m.VMOVDQU(m.global("boolOnes", func() {
			m.AddDatum(0, operand.U64(0x0101010101010101))
			m.AddDatum(8, operand.U64(0x0101010101010101))
		}), ones)
		m.VMOVDQU8_Z(ones, k, bytes)
		m.VMOVDQU8(bytes, lanes, mem{Base: to})
		return
	}
	// The code below stores the last bytes of the slice, so n is less than the number of lanes.
	bytes, left, next := m.boolBytes(k), m.copyOf(n), m.copyOf(to)
	m.Label("byte")
	m.MOVB(bytes.As8(), mem{Base: next})
	m.SHRQ(imm(8), bytes)
	m.INCQ(next)
	m.DECQ(left)
	m.JNZ(jump("byte"))
}

// selectKernel generates Select. It turns the bytes of cond into a mask.
func (m *machine) selectKernel() {
	m.function("select", "computes dst = cond ? a : b.", "(dst []T, cond []bool, a, b []T)")
	n := m.Load(m.Param("dst").Len(), m.GP64()).(gp)
	var p [4]gp
	for i, name := range []string{"dst", "cond", "a", "b"} {
		p[i] = m.Load(m.Param(name).Base(), m.GP64()).(gp)
	}
	dst, cond, a, b := p[0], p[1], p[2], p[3]
	turn := func(k mask, load func(from gp, to vec), store func(x vec)) {
		x, y := m.reg(), m.reg()
		load(a, x)
		load(b, y)
		store(m.choose(k, x, y))
		m.ADDQ(number(m.lanes()), cond)
		for _, r := range []gp{dst, a, b} {
			m.ADDQ(number(m.bytes), r)
		}
		m.SUBQ(number(m.lanes()), n)
	}

	if !m.wide() {
		m.Label("whole")
		m.CMPQ(n, number(m.lanes()))
		m.JLT(jump("rest"))
		turn(m.boolMask(mem{Base: cond}), func(from gp, to vec) { m.load(m.at(from, 0), to) },
			func(x vec) { m.store(x, m.at(dst, 0)) })
		m.JMP(jump("whole"))
	}

	m.Label("rest")
	m.TESTQ(n, n)
	m.JLE(jump("done"))
	lanes := m.firstLanes(n)
	turn(m.someBoolsMask(lanes, n, cond), func(from gp, to vec) { m.loadLanes(m.at(from, 0), lanes, to) },
		func(x vec) { m.storeLanes(x, lanes, m.at(dst, 0)) })
	m.JMP(jump("rest"))
	m.Label("done")
	m.end()
}

// boolMask returns the mask of the lanes whose byte is 1. It is for AVX2; each lane has one byte,
// which is 0 or 1.
func (m *machine) boolMask(bytes op) mask {
	return m.subInt(num(0), m.op(m.VPMOVZXBD, m.VPMOVZXBQ, bytes))
}

// someBoolsMask loads the first n bytes at from and returns the mask of the lanes whose byte is 1.
// The argument lanes is the mask of the first n lanes.
func (m *machine) someBoolsMask(lanes mask, n, from gp) mask {
	if m.wide() {
		bytes, k := m.XMM(), m.K()
		m.VMOVDQU8_Z(mem{Base: from}, lanes, bytes)
		m.VPTESTMB(bytes, bytes, k)
		return k
	}
	all, index, one := m.GP64(), m.copyOf(n), m.GP64()
	m.XORQ(all, all)
	m.Label("byte")
	m.DECQ(index)
	m.MOVBQZX(mem{Base: from, Index: index, Scale: 1}, one)
	m.SHLQ(imm(8), all)
	m.ORQ(one, all)
	m.TESTQ(index, index)
	m.JNZ(jump("byte"))
	bytes := m.XMM()
	m.VMOVQ(all, bytes)
	return m.boolMask(bytes)
}

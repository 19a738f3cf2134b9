package main

import (
	"math"

	"github.com/mmcloughlin/avo/reg"
)

var (
	positiveInfinity = num(math.Inf(1))
	negativeInfinity = num(math.Inf(-1))
)

// partialBytes is the size of all partial sums of [kernel.Vectors.Sum], the same on every instruction set.
const partialBytes = 256

// fill generates Fill.
func (m *machine) fill() {
	m.function("fill", "computes dst = s.", "(dst []T, s T)")
	dst, n := m.Load(m.Param("dst").Base(), m.GP64()).(gp), m.Load(m.Param("dst").Len(), m.GP64()).(gp)
	address, err := m.Param("s").Resolve()
	if err != nil {
		panic(err)
	}
	s := m.broadcast(address.Addr)
	m.Label("whole")
	m.CMPQ(n, number(m.lanes()))
	m.JLT(jump("rest"))
	m.store(s, m.at(dst, 0))
	m.ADDQ(number(m.bytes), dst)
	m.SUBQ(number(m.lanes()), n)
	m.JMP(jump("whole"))
	m.Label("rest")
	m.storeLanes(s, m.firstLanes(n), m.at(dst, 0))
	m.end()
}

// sum generates Sum. The partial sums fill whole registers; element i of a group of them belongs to partial sum i.
func (m *machine) sum() {
	m.function("sum", "adds the elements in the order that Vectors states.", "(a []T) T")
	a, n := m.Load(m.Param("a").Base(), m.GP64()).(gp), m.Load(m.Param("a").Len(), m.GP64()).(gp)
	partial := make([]vec, partialBytes/m.bytes)
	for i := range partial {
		partial[i] = m.zero()
	}
	m.Label("whole")
	m.CMPQ(n, number(partialBytes/m.size))
	m.JLT(jump("rest"))
	for i, p := range partial {
		m.do(m.VADDPS, m.VADDPD, m.at(a, i*m.lanes()), p, p)
	}
	m.ADDQ(number(partialBytes), a)
	m.SUBQ(number(partialBytes/m.size), n)
	m.JMP(jump("whole"))

	m.Label("rest")
	for i, p := range partial {
		m.TESTQ(n, n)
		m.JLE(jump("pairs"))
		x := m.reg()
		m.loadLanes(m.at(a, i*m.lanes()), m.firstLanes(n), x)
		m.do(m.VADDPS, m.VADDPD, x, p, p)
		m.SUBQ(number(m.lanes()), n)
	}

	m.Label("pairs")
	for half := len(partial) / 2; half > 0; half /= 2 {
		for i := range half {
			m.do(m.VADDPS, m.VADDPD, partial[i+half], partial[i], partial[i])
		}
	}
	total := m.combineLanes(partial[0], m.VADDPS, m.VADDPD)
	m.result(total)
	m.end()
}

// combineLanes applies an operation to lanes at half the distance until one is left.
func (m *machine) combineLanes(x vec, single, double emit) reg.Register {
	if m.wide() {
		high := m.YMM()
		m.VEXTRACTF64X4(imm(1), x, high)
		m.do(single, double, high, x.AsY(), x.AsY())
	}
	high := m.XMM()
	m.VEXTRACTF128(imm(1), x.AsY(), high)
	low := x.AsX()
	m.do(single, double, high, low, low)
	shuffled := m.XMM()
	m.VPERMILPD(imm(1), low, shuffled)
	m.do(single, double, shuffled, low, low)
	if m.single() {
		m.VMOVSHDUP(low, shuffled)
		m.do(single, double, shuffled, low, low)
	}
	return low
}

// extreme generates MaxOf or MinOf. Minimum and maximum instructions may lose a NaN, so those are collected apart, in
// lanes that are otherwise 0 and added at last.
func (m *machine) extreme(name, doc string, start num, single, double emit) {
	m.function(name, doc, "(a []T) T")
	a, n := m.Load(m.Param("a").Base(), m.GP64()).(gp), m.Load(m.Param("a").Len(), m.GP64()).(gp)
	best, nan := m.vector(start), m.zero()
	add := func(x vec) {
		m.move(m.choose(m.compare(x, unordered, x), x, nan), nan)
		m.do(single, double, x, best, best)
	}
	m.Label("whole")
	m.CMPQ(n, number(m.lanes()))
	m.JLT(jump("rest"))
	x := m.reg()
	m.load(m.at(a, 0), x)
	add(x)
	m.ADDQ(number(m.bytes), a)
	m.SUBQ(number(m.lanes()), n)
	m.JMP(jump("whole"))

	m.Label("rest")
	m.TESTQ(n, n)
	m.JLE(jump("combine"))
	lanes := m.firstLanes(n)
	x = m.reg()
	m.loadLanes(m.at(a, 0), lanes, x)
	add(m.choose(lanes, x, start))

	m.Label("combine")
	total, nans := m.combineLanes(best, single, double), m.combineLanes(nan, m.VADDPS, m.VADDPD)
	m.do(m.VADDPS, m.VADDPD, nans, total, total)
	m.result(total)
	m.end()
}

// result stores the first lane of x as the result of the function.
func (m *machine) result(x reg.Register) {
	to, err := m.ReturnIndex(0).Resolve()
	if err != nil {
		panic(err)
	}
	m.do(m.VMOVSS, m.VMOVSD, x, to.Addr)
}

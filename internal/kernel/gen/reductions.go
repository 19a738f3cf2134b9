package main

import (
	"math"

	"github.com/mmcloughlin/avo/reg"
)

var (
	positiveInfinity = num(math.Inf(1))
	negativeInfinity = num(math.Inf(-1))
)

// reduction emits code that reduces the n elements at a to the first lane of the result. The code
// may change n but not a.
type reduction func(m *machine, a, n gp) reg.Register

// reductions generates the kernels that reduce all elements of a slice, or of each row of a matrix.
func (m *machine) reductions() {
	extreme := func(start num, single, double emit) reduction {
		return func(m *machine, a, n gp) reg.Register { return m.extreme(a, n, start, single, double) }
	}
	for _, k := range []struct {
		all, rows, doc string
		f              reduction
	}{
		{"sum", "sumRows", "adds the elements in the order that Vectors states", (*machine).sum},
		{"maxOf", "maxRows", "finds the greatest element, or NaN if there is one", extreme(negativeInfinity, m.VMAXPS, m.VMAXPD)},
		{"minOf", "minRows", "finds the least element, or NaN if there is one", extreme(positiveInfinity, m.VMINPS, m.VMINPD)},
	} {
		m.function(k.all, k.doc+".", "(a []T) T")
		a, n := m.slice("a")
		m.scalarStore(k.f(m, a, n), m.resolve(m.ReturnIndex(0)))
		m.end()

		m.function(k.rows, k.doc+" of each row of n; there is one or more.", "(dst []T, a *T, n int)")
		dst, rows := m.slice("dst")
		a = m.param("a")
		m.Label("row")
		m.scalarStore(k.f(m, a, m.param("n")), m.at(dst, 0))
		m.ADDQ(m.stride("n"), a)
		m.ADDQ(number(m.size), dst)
		m.DECQ(rows)
		m.JNZ(jump("row"))
		m.end()
	}
}

// dotRows generates DotRows.
func (m *machine) dotRows() {
	m.function("dotRows", "multiplies each row of a with x; there is one row or more.", "(dst []T, a *T, stride int, x *T, n int)")
	dst, rows := m.slice("dst")
	a, stride, x := m.param("a"), m.stride("stride"), m.param("x")
	m.Label("row")
	m.scalarStore(m.dot(a, x, m.param("n")), m.at(dst, 0))
	m.ADDQ(stride, a)
	m.ADDQ(number(m.size), dst)
	m.DECQ(rows)
	m.JNZ(jump("row"))
	m.end()
}

// scalarStore stores the first lane of x.
func (m *machine) scalarStore(x reg.Register, to mem) { m.do(m.VMOVSS, m.VMOVSD, x, to) }

// partialBytes is the size of all partial sums of Vectors.Sum together, which is the same on every
// instruction set.
const partialBytes = 256

// sum adds elements in the order that Vectors.Sum states.
func (m *machine) sum(a, n gp) reg.Register {
	return m.partialSums(n, []gp{a}, func(operands []mem, partial vec) {
		m.do(m.VADDPS, m.VADDPD, operands[0], partial, partial)
	}, func(operands []vec, partial vec) {
		m.do(m.VADDPS, m.VADDPD, operands[0], partial, partial)
	})
}

// dot adds the products a[i]·b[i] in the order in which sum adds elements.
func (m *machine) dot(a, b, n gp) reg.Register {
	return m.partialSums(n, []gp{a, b}, func(operands []mem, partial vec) {
		x := m.reg()
		m.load(operands[1], x)
		m.do(m.VFMADD231PS, m.VFMADD231PD, operands[0], x, partial)
	}, func(operands []vec, partial vec) {
		m.addMul(partial, operands[0], operands[1])
	})
}

// partialSums adds one term for each of the n elements at bases, in the order that Vectors.Sum
// states. The argument whole adds the terms of a vector in memory to a partial sum. The argument
// rest adds the terms of vectors in registers, whose lanes after the end of the slice are 0. The
// partial sums fill whole registers.
func (m *machine) partialSums(n gp, bases []gp, whole func([]mem, vec), rest func([]vec, vec)) reg.Register {
	partial := make([]vec, partialBytes/m.bytes)
	for i := range partial {
		partial[i] = m.zero()
	}
	from := make([]gp, len(bases))
	for k, base := range bases {
		from[k] = m.copyOf(base)
	}
	m.Label("whole")
	m.CMPQ(n, number(partialBytes/m.size))
	m.JLT(jump("rest"))
	for i, p := range partial {
		operands := make([]mem, len(from))
		for k, base := range from {
			operands[k] = m.at(base, i*m.lanes())
		}
		whole(operands, p)
	}
	for _, base := range from {
		m.ADDQ(number(partialBytes), base)
	}
	m.SUBQ(number(partialBytes/m.size), n)
	m.JMP(jump("whole"))

	m.Label("rest")
	for i, p := range partial {
		m.TESTQ(n, n)
		m.JLE(jump("pairs"))
		lanes := m.firstLanes(n)
		operands := make([]vec, len(from))
		for k, base := range from {
			operands[k] = m.reg()
			m.loadLanes(m.at(base, i*m.lanes()), lanes, operands[k])
		}
		rest(operands, p)
		m.SUBQ(number(m.lanes()), n)
	}

	m.Label("pairs")
	m.addHalves(partial)
	return m.combineLanes(partial[0], m.VADDPS, m.VADDPD)
}

// extreme finds the greatest or the least element. Minimum and maximum instructions may lose a NaN.
// NaNs are therefore collected in a second register, whose lanes are otherwise 0 and which is added
// at the end.
func (m *machine) extreme(a, n gp, start num, single, double emit) reg.Register {
	best, nan := m.vector(start), m.zero()
	from := m.copyOf(a)
	add := func(x vec) {
		m.move(m.choose(m.compare(x, unordered, x), x, nan), nan)
		m.do(single, double, x, best, best)
	}
	m.Label("whole")
	m.CMPQ(n, number(m.lanes()))
	m.JLT(jump("rest"))
	x := m.reg()
	m.load(m.at(from, 0), x)
	add(x)
	m.ADDQ(number(m.bytes), from)
	m.SUBQ(number(m.lanes()), n)
	m.JMP(jump("whole"))

	m.Label("rest")
	m.TESTQ(n, n)
	m.JLE(jump("combine"))
	lanes := m.firstLanes(n)
	x = m.reg()
	m.loadLanes(m.at(from, 0), lanes, x)
	add(m.choose(lanes, x, start))

	m.Label("combine")
	total, nans := m.combineLanes(best, single, double), m.combineLanes(nan, m.VADDPS, m.VADDPD)
	m.do(m.VADDPS, m.VADDPD, nans, total, total)
	return total
}

// combineLanes applies an operation to pairs of lanes, the upper half with the lower half, until
// one lane is left.
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

// addHalves adds the second half of some vectors to the first half until the first holds their sum.
func (m *machine) addHalves(partial []vec) {
	for half := len(partial) / 2; half > 0; half /= 2 {
		for i := range half {
			m.do(m.VADDPS, m.VADDPD, partial[i+half], partial[i], partial[i])
		}
	}
}

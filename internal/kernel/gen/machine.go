package main

import (
	"fmt"
	"math"
	"math/bits"
	"strings"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/gotypes"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// isa is an instruction set to generate for.
type isa struct {
	name  string
	bytes int // size of a vector register
}

var (
	avx2   = isa{name: "AVX2", bytes: 32}
	avx512 = isa{name: "AVX512", bytes: 64}
)

// machine emits instructions for vectors of one element type on one instruction set. Its methods
// hide the differences between element types and between instruction sets, so that a function is
// written once and generated four times. Methods return their results in fresh registers, so that
// code reads like expressions; avo assigns physical registers.
type machine struct {
	*build.Context
	isa
	size    int // bytes of an element: 4 for float32, 8 for float64
	globals map[string]mem
}

type (
	vec  = reg.VecVirtual
	gp   = reg.GPVirtual
	op   = operand.Op
	mem  = operand.Mem
	imm  = operand.U8
	emit = func(...op) // an instruction that avo has in more than one form

	// mask holds the result of a comparison: an opmask register on AVX-512, and on AVX2 a vector in
	// which the bits of each lane are all ones or all zeros.
	mask = reg.Register
)

// forBoth calls f with a machine for float32 and with one for float64.
func forBoth(ctx *build.Context, isa isa, f func(*machine)) {
	globals := map[string]mem{}
	f(&machine{ctx, isa, 4, globals})
	f(&machine{ctx, isa, 8, globals})
}

func (m *machine) lanes() int   { return m.bytes / m.size }
func (m *machine) wide() bool   { return m.isa == avx512 }
func (m *machine) single() bool { return m.size == 4 }

// typ returns the name of the Go type of an element.
func (m *machine) typ() string { return fmt.Sprintf("float%d", 8*m.size) }

// suffix returns the end of the names of functions, for instance AVX2F32.
func (m *machine) suffix() string { return fmt.Sprintf("%sF%d", m.name, 8*m.size) }

// function begins a function with the given signature, in which T stands for the element type. The
// function is declared noescape: it must not keep pointers.
func (m *machine) function(name, doc, signature string) {
	m.Function(name + m.suffix())
	m.Attributes(attr.NOSPLIT)
	m.Doc(name + m.suffix() + " " + doc)
	m.SignatureExpr("func" + strings.ReplaceAll(signature, "T", m.typ()))
	m.Pragma("noescape")
}

// reg returns a fresh vector register.
func (m *machine) reg() vec {
	if m.wide() {
		return m.ZMM()
	}
	return m.YMM()
}

// do emits the instruction single if elements are float32, and double if they are float64.
func (m *machine) do(single, double emit, ops ...op) {
	if m.single() {
		single(ops...)
	} else {
		double(ops...)
	}
}

// op emits an instruction whose last operand is its result, and returns the register of the result.
func (m *machine) op(single, double emit, ops ...op) vec {
	r := m.reg()
	m.do(single, double, append(ops, r)...)
	return r
}

// two, three and four turn an instruction with this number of operands into an emit.
func three(f func(a, b, c op)) emit   { return func(ops ...op) { f(ops[0], ops[1], ops[2]) } }
func two(f func(a, b op)) emit        { return func(ops ...op) { f(ops[0], ops[1]) } }
func four(f func(a, b, c, d op)) emit { return func(ops ...op) { f(ops[0], ops[1], ops[2], ops[3]) } }

// at returns the element with the given index in memory that starts at base.
func (m *machine) at(base reg.Register, element int) mem {
	return mem{Base: base, Disp: element * m.size}
}

// param loads an integer or pointer parameter of the function.
func (m *machine) param(name string) gp { return m.Load(m.Param(name), m.GP64()).(gp) }

// slice loads the pointer and the length of a parameter that is a slice.
func (m *machine) slice(name string) (base, length gp) {
	p := m.Param(name)
	return m.Load(p.Base(), m.GP64()).(gp), m.Load(p.Len(), m.GP64()).(gp)
}

// resolve returns the memory of a parameter or result.
func (m *machine) resolve(c gotypes.Component) mem {
	b, err := c.Resolve()
	if err != nil {
		panic(err)
	}
	return b.Addr
}

// stride loads a parameter that is a number of elements and returns it as a number of bytes.
func (m *machine) stride(name string) gp {
	r := m.param(name)
	m.SHLQ(imm(bits.TrailingZeros(uint(m.size))), r)
	return r
}

// copyOf returns a copy of a general register.
func (m *machine) copyOf(r gp) gp {
	c := m.GP64()
	m.MOVQ(r, c)
	return c
}

// jump returns a label as an operand.
func jump(label string) op { return operand.LabelRef(label) }

// number returns a small constant as an operand.
func number(n int) op { return operand.I32(n) }

// end emits the return from a function.
func (m *machine) end() {
	m.VZEROUPPER()
	m.RET()
}

// firstLanes returns the mask of the first n lanes. n must not be negative and may be larger than
// the number of lanes.
func (m *machine) firstLanes(n gp) mask {
	if m.wide() {
		ones, k := m.GP64(), m.K()
		m.MOVQ(number(-1), ones)
		count := m.copyOf(n)
		limit := m.GP64()
		m.MOVQ(number(m.lanes()), limit)
		m.CMPQ(count, limit)
		m.CMOVQGT(limit, count)
		m.BZHIQ(count, ones, ones)
		m.KMOVW(ones.As32(), k)
		return k
	}
	table, index := m.GP64(), m.GP64()
	m.MOVQ(number(m.lanes()), index)
	m.CMPQ(n, index)
	m.CMOVQLT(n, index)
	m.NEGQ(index)
	m.LEAQ(m.laneTable(), table)
	return m.op(m.VMOVUPS, m.VMOVUPD, mem{Base: table, Index: index, Scale: uint8(m.size), Disp: m.bytes})
}

// laneTable returns the memory of a table that holds a vector with all bits 1, followed by a vector
// with all bits 0.
func (m *machine) laneTable() mem {
	return m.global("lanes", func() {
		for i := range 2 * m.bytes / 8 {
			ones := operand.U64(math.MaxUint64)
			if i >= m.bytes/8 {
				ones = 0
			}
			m.AddDatum(8*i, ones)
		}
	})
}

// global returns the read-only data with the given name. If the file has none with that name yet,
// fill adds it.
func (m *machine) global(name string, fill func()) mem {
	g, ok := m.globals[name]
	if !ok {
		g = m.StaticGlobal(name + m.name)
		m.DataAttributes(attr.RODATA | attr.NOPTR)
		fill()
		m.globals[name] = g
	}
	return g
}

func (m *machine) load(from mem, to vec) { m.do(m.VMOVUPS, m.VMOVUPD, from, to) }
func (m *machine) store(x vec, to mem)   { m.do(m.VMOVUPS, m.VMOVUPD, x, to) }

// loadLanes loads the lanes of k and sets the other lanes to 0. It does not read their memory.
func (m *machine) loadLanes(from mem, k mask, to vec) {
	if m.wide() {
		m.do(three(m.VMOVUPS_Z), three(m.VMOVUPD_Z), from, k, to)
	} else {
		m.do(three(m.VMASKMOVPS), three(m.VMASKMOVPD), from, k, to)
	}
}

// storeLanes stores the lanes of k. It does not write the memory of the other lanes.
func (m *machine) storeLanes(x vec, k mask, to mem) {
	if m.wide() {
		m.do(m.VMOVUPS, m.VMOVUPD, x, k, to)
	} else {
		m.do(three(m.VMASKMOVPS), three(m.VMASKMOVPD), x, k, to)
	}
}

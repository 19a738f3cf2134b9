package main

import (
	"fmt"
	"math"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// isa is an instruction set to generate for.
type isa struct {
	name      string
	bytes     int // of a vector register
	registers int
}

var (
	avx2   = isa{name: "avx2", bytes: 32, registers: 16}
	avx512 = isa{name: "avx512", bytes: 64, registers: 32}
)

// machine emits instructions for vectors of one element type on one instruction set. Its methods hide the differences
// between both, so that a function is written once and generated four times. They return fresh registers: code reads
// like expressions, and avo finds the physical registers.
type machine struct {
	*build.Context
	isa
	size      int // of an element: 4 for float32, 8 for float64
	constants map[uint64]operand.Mem
}

type (
	vec  = reg.VecVirtual
	op   = operand.Op
	mem  = operand.Mem
	gp   = reg.GPVirtual
	imm  = operand.U8
	emit = func(...op)
)

func newMachine(ctx *build.Context, isa isa, size int) *machine {
	return &machine{Context: ctx, isa: isa, size: size, constants: map[uint64]operand.Mem{}}
}

// forBoth calls f with a machine for float32 and one for float64.
func forBoth(ctx *build.Context, isa isa, f func(*machine)) {
	f(newMachine(ctx, isa, 4))
	f(newMachine(ctx, isa, 8))
}

func (m *machine) lanes() int   { return m.bytes / m.size }
func (m *machine) wide() bool   { return m.isa == avx512 }
func (m *machine) single() bool { return m.size == 4 }

// typ is the Go type of an element.
func (m *machine) typ() string { return fmt.Sprintf("float%d", 8*m.size) }

// symbol makes the name of a function unique: addAVX2F32.
func (m *machine) symbol(name string) string {
	return fmt.Sprintf("%s%sF%d", name, map[bool]string{false: "AVX2", true: "AVX512"}[m.wide()], 8*m.size)
}

// reg returns a fresh vector register.
func (m *machine) reg() vec {
	if m.wide() {
		return m.ZMM()
	}
	return m.YMM()
}

// do emits single for float32 and double for float64.
func (m *machine) do(single, double emit, ops ...op) {
	if m.single() {
		single(ops...)
	} else {
		double(ops...)
	}
}

// op emits an instruction whose last operand is its result, and returns that.
func (m *machine) op(single, double emit, ops ...op) vec {
	r := m.reg()
	m.do(single, double, append(ops, r)...)
	return r
}

// at is the element with the given index in memory that starts at base.
func (m *machine) at(base reg.Register, element int) mem {
	return mem{Base: base, Disp: element * m.size}
}

// param loads an integer or pointer parameter.
func (m *machine) param(name string) gp { return m.Load(m.Param(name), m.GP64()).(gp) }

// stride loads a parameter that counts elements and returns it in bytes.
func (m *machine) stride(name string) gp {
	r := m.param(name)
	m.SHLQ(imm(m.shift()), r)
	return r
}

// shift is log2 of the size of an element.
func (m *machine) shift() uint64 { return uint64(math.Log2(float64(m.size))) }

// copyOf returns a copy of a general register.
func (m *machine) copyOf(r gp) gp {
	c := m.GP64()
	m.MOVQ(r, c)
	return c
}

func (m *machine) zero() vec {
	r := m.reg()
	if m.wide() {
		m.VPXORD(r, r, r)
	} else {
		m.VPXOR(r, r, r)
	}
	return r
}

func (m *machine) load(from mem, to vec) { m.do(m.VMOVUPS, m.VMOVUPD, from, to) }
func (m *machine) store(x vec, to mem)   { m.do(m.VMOVUPS, m.VMOVUPD, x, to) }
func (m *machine) spread(x mem) vec      { return m.op(m.VBROADCASTSS, m.VBROADCASTSD, x) }
func (m *machine) addMul(acc, a, b vec)  { m.do(m.VFMADD231PS, m.VFMADD231PD, a, b, acc) }

// tail says which lanes of a vector are in use: an opmask register on AVX-512, a vector of sign bits on AVX2.
type tail reg.Register

// firstLanes returns the tail of the first n lanes, 1 <= n <= lanes.
func (m *machine) firstLanes(n gp) tail {
	if m.wide() {
		bits, k := m.GP64(), m.K()
		m.MOVQ(operand.I32(-1), bits)
		m.BZHIQ(n, bits, bits)
		m.KMOVW(bits.As32(), k)
		return k
	}
	table, index := m.GP64(), m.GP64()
	m.LEAQ(m.laneTable(), table)
	m.MOVQ(n, index)
	m.NEGQ(index)
	return m.op(m.VMOVUPS, m.VMOVUPD, mem{Base: table, Index: index, Scale: uint8(m.size), Disp: m.bytes})
}

// laneTable is as many bytes of ones as a vector has, and then as many of zeros.
func (m *machine) laneTable() mem {
	const name = "lanes"
	if g, ok := m.constants[0]; ok {
		return g
	}
	g := m.StaticGlobal(fmt.Sprintf("%s%d", name, 8*m.size))
	m.DataAttributes(attr.RODATA | attr.NOPTR)
	for i := range 2 * m.bytes / 8 {
		bits := operand.U64(math.MaxUint64)
		if i >= m.bytes/8 {
			bits = 0
		}
		m.AddDatum(8*i, bits)
	}
	m.constants[0] = g
	return g
}

// loadTail loads the lanes of t, and zeros for the others, whose memory it does not touch.
func (m *machine) loadTail(from mem, t tail, to vec) {
	if m.wide() {
		m.do(three(m.VMOVUPS_Z), three(m.VMOVUPD_Z), from, t, to)
	} else {
		m.do(three(m.VMASKMOVPS), three(m.VMASKMOVPD), from, t, to)
	}
}

// storeTail stores the lanes of t and does not touch the memory of the others.
func (m *machine) storeTail(x vec, to mem, t tail) {
	if m.wide() {
		m.do(m.VMOVUPS, m.VMOVUPD, x, t, to)
	} else {
		m.do(three(m.VMASKMOVPS), three(m.VMASKMOVPD), x, t, to)
	}
}

// three adapts an instruction that avo knows with three operands only.
func three(f func(a, b, c op)) emit { return func(ops ...op) { f(ops[0], ops[1], ops[2]) } }

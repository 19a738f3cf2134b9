package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
)

// num is a constant operand: all lanes have the same value, rounded to the element type.
type num float64

// pattern is a constant operand given by the bits of an element, a float32 or float64.
type pattern uint64

func (x num) Asm() string     { return fmt.Sprint(float64(x)) }
func (x pattern) Asm() string { return fmt.Sprintf("%#x", uint64(x)) }

// vector returns x, which is a vec, num or pattern, in a register. A constant gets an unused
// register.
func (m *machine) vector(x op) vec {
	switch x := x.(type) {
	case num:
		return m.spread(uint64(m.bitsOf(float64(x))))
	case pattern:
		return m.spread(uint64(x))
	}
	return x.(vec)
}

// spread returns an unused register that holds the given bits in all lanes.
func (m *machine) spread(bits uint64) vec {
	if bits == 0 {
		return m.zero()
	}
	return m.broadcast(m.global(fmt.Sprintf("c%d_%x", 8*m.size, bits), func() {
		if m.single() {
			m.AddDatum(0, operand.U32(bits))
		} else {
			m.AddDatum(0, operand.U64(bits))
		}
	}))
}

func (m *machine) broadcast(x op) vec {
	return m.op(m.VBROADCASTSS, m.VBROADCASTSD, x)
}

func (m *machine) zero() vec {
	r := m.reg()
	m.do(m.VXORPS, m.VXORPD, r, r, r)
	return r
}

func (m *machine) move(x, to vec) { m.do(m.VMOVAPS, m.VMOVAPD, x, to) }

// These methods return x op y.
func (m *machine) add(x, y op) vec { return m.op(m.VADDPS, m.VADDPD, m.vector(y), m.vector(x)) }
func (m *machine) sub(x, y op) vec { return m.op(m.VSUBPS, m.VSUBPD, m.vector(y), m.vector(x)) }
func (m *machine) mul(x, y op) vec { return m.op(m.VMULPS, m.VMULPD, m.vector(y), m.vector(x)) }
func (m *machine) div(x, y op) vec { return m.op(m.VDIVPS, m.VDIVPD, m.vector(y), m.vector(x)) }

// min and max return y if x or y is NaN, and if both are zeros.
func (m *machine) min(x, y op) vec { return m.op(m.VMINPS, m.VMINPD, m.vector(y), m.vector(x)) }
func (m *machine) max(x, y op) vec { return m.op(m.VMAXPS, m.VMAXPD, m.vector(y), m.vector(x)) }

func (m *machine) sqrt(x vec) vec { return m.op(m.VSQRTPS, m.VSQRTPD, x) }

// These methods operate on the bits of x and y.
func (m *machine) and(x, y op) vec { return m.op(m.VANDPS, m.VANDPD, m.vector(y), m.vector(x)) }
func (m *machine) or(x, y op) vec  { return m.op(m.VORPS, m.VORPD, m.vector(y), m.vector(x)) }
func (m *machine) xor(x, y op) vec { return m.op(m.VXORPS, m.VXORPD, m.vector(y), m.vector(x)) }

// These methods operate on integers of the size of an element.
func (m *machine) addInt(x, y op) vec { return m.op(m.VPADDD, m.VPADDQ, m.vector(y), m.vector(x)) }
func (m *machine) subInt(x, y op) vec { return m.op(m.VPSUBD, m.VPSUBQ, m.vector(y), m.vector(x)) }
func (m *machine) shiftLeft(x vec, n int) vec {
	return m.op(m.VPSLLD, m.VPSLLQ, imm(n), x)
}
func (m *machine) shiftRight(x vec, n int) vec {
	return m.op(m.VPSRLD, m.VPSRLQ, imm(n), x)
}

// addMul adds x·y to the register acc. The result is rounded once.
func (m *machine) addMul(acc, x, y vec) { m.do(m.VFMADD231PS, m.VFMADD231PD, x, y, acc) }

// mulAdd returns x·y + z, rounded once.
func (m *machine) mulAdd(x, y, z op) vec {
	r := m.fresh(z)
	m.addMul(r, m.vector(x), m.vector(y))
	return r
}

// mulSubFrom returns z - x·y, rounded once.
func (m *machine) mulSubFrom(x, y, z op) vec {
	r := m.fresh(z)
	m.do(m.VFNMADD231PS, m.VFNMADD231PD, m.vector(x), m.vector(y), r)
	return r
}

// fresh returns x in a register that the caller may overwrite.
func (m *machine) fresh(x op) vec {
	v, ok := x.(vec)
	if !ok {
		return m.vector(x)
	}
	r := m.reg()
	m.move(v, r)
	return r
}

// polynomial returns c[0] + c[1]·x + c[2]·x² + …
func (m *machine) polynomial(x vec, c []float64) vec {
	sum := m.vector(num(c[len(c)-1]))
	for i := len(c) - 2; i >= 0; i-- {
		sum = m.mulAdd(sum, x, num(c[i]))
	}
	return sum
}

// rounding is the control byte of a rounding instruction. Its values turn off the exception for
// inexact results.
type rounding = imm

const (
	toEven rounding = 8
	down   rounding = 9
	up     rounding = 10
)

func (m *machine) round(x vec, r rounding) vec {
	if m.wide() {
		return m.op(m.VRNDSCALEPS, m.VRNDSCALEPD, r, x)
	}
	return m.op(three(m.VROUNDPS), three(m.VROUNDPD), r, x)
}

// predicate is the control byte of a comparison.
type predicate = imm

const (
	equal        predicate = 0x00
	unordered    predicate = 0x03
	notEqual     predicate = 0x04
	less         predicate = 0x11
	lessEqual    predicate = 0x12
	greaterEqual predicate = 0x1d
	greater      predicate = 0x1e
)

// compare returns the mask of the lanes in which x and y are in relation p. If x or y is NaN, all
// relations are false except notEqual and unordered.
func (m *machine) compare(x vec, p predicate, y op) mask {
	var k mask
	if m.wide() {
		k = m.K()
	} else {
		k = m.reg()
	}
	m.do(m.VCMPPS, m.VCMPPD, p, m.vector(y), x, k)
	return k
}

// choose returns the argument yes in the lanes of the mask k, and the argument no in other lanes.
func (m *machine) choose(k mask, yes, no op) vec {
	if m.wide() {
		// VBLENDMPS is not used. Package avo, which assigns registers, would take its result for an
		// operand too, so that all results would occupy registers through the whole loop.
		r := m.fresh(no)
		m.do(m.VMOVAPS, m.VMOVAPD, m.vector(yes), k, r)
		return r
	}
	return m.op(four(m.VBLENDVPS), four(m.VBLENDVPD), k, m.vector(yes), m.vector(no))
}

// The following methods return properties of the element type.

// fractionBits returns the number of bits of a number after its leading one.
func (m *machine) fractionBits() int { return either(m, 23, 52) }

// exponentBias returns the bias of the exponent in the bits of a number.
func (m *machine) exponentBias() int { return either(m, 127, 1023) }

func (m *machine) signBit() pattern { return pattern(1) << (8*m.size - 1) }

// either returns the argument single if elements are float32, and double if they are float64.
func either[T any](m *machine, single, double T) T {
	if m.single() {
		return single
	}
	return double
}

func (m *machine) abs(x vec) vec { return m.and(x, m.signBit()-1) }

// sign returns x with all bits except the sign bit set to 0.
func (m *machine) sign(x vec) vec { return m.and(x, m.signBit()) }

package main

import "math"

// pow computes float32 powers in float64, whose rounding errors do not matter then.
func (m *machine) pow(x, y vec) vec {
	wide := &machine{m.Context, m.isa, 8, m.globals}
	return m.narrow(wide.powOfNumbers(m.widen(x, 0), m.widen(y, 0)), wide.powOfNumbers(m.widen(x, 1), m.widen(y, 1)))
}

// powOfNumbers is exp(y·log|x|), with the cases that this formula misses as package math has them.
func (m *machine) powOfNumbers(x, y vec) vec {
	size := m.abs(x)
	z := m.exp(m.mul(y, m.log(size)))
	z = m.choose(m.compare(size, equal, num(1)), num(1), z) // also for infinite y

	// A negative number has a negative power if y is odd, and none if y is no integer.
	whole := m.compare(m.round(y, down), equal, y)
	half := m.mul(y, num(0.5))
	even := m.compare(m.round(half, down), equal, half)
	z = m.or(z, m.choose(whole, m.choose(even, num(0), m.sign(x)), num(0)))
	undefined := m.choose(whole, z, num(math.NaN()))
	finite := m.choose(m.compare(x, greater, negativeInfinity), undefined, z)
	z = m.choose(m.compare(x, less, num(0)), finite, z)
	return m.choose(m.compare(y, equal, num(0)), num(1), z)
}

// widen returns the lower (0) or upper (1) half of a vector of float32 as float64.
func (m *machine) widen(x vec, half uint8) vec {
	r := m.reg()
	if m.wide() {
		part := m.YMM()
		m.VEXTRACTF64X4(imm(half), x, part)
		m.VCVTPS2PD(part, r)
	} else {
		part := m.XMM()
		m.VEXTRACTF128(imm(half), x, part)
		m.VCVTPS2PD(part, r)
	}
	return r
}

// narrow is the inverse of widen.
func (m *machine) narrow(low, high vec) vec {
	r := m.reg()
	if m.wide() {
		lower, upper := m.YMM(), m.YMM()
		m.VCVTPD2PS(low, lower)
		m.VCVTPD2PS(high, upper)
		m.VINSERTF64X4(imm(1), upper, lower.AsZ(), r)
	} else {
		lower, upper := m.XMM(), m.XMM()
		m.VCVTPD2PSY(low, lower)
		m.VCVTPD2PSY(high, upper)
		m.VINSERTF128(imm(1), upper, lower.AsY(), r)
	}
	return r
}

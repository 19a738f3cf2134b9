package main

import "math"

// pow returns x to the power y for float32. It computes in float64, where rounding is negligible.
func (m *machine) pow(x, y vec) vec {
	wide := &machine{m.Context, m.isa, 8, m.globals}
	return m.narrow(wide.powOfNumbers(m.widen(x, 0), m.widen(y, 0)), wide.powOfNumbers(m.widen(x, 1), m.widen(y, 1)))
}

// powOfNumbers returns exp(y·log|x|). In the cases in which this formula is wrong, it returns the
// result of math.Pow.
func (m *machine) powOfNumbers(x, y vec) vec {
	size := m.abs(x)
	z := m.exp(m.mul(y, m.log(size)))
	z = m.choose(m.compare(size, equal, num(1)), num(1), z) // 1 or −1, also if y is infinite

	// The power of a negative number is negative if y is odd, and NaN if y is not an integer.
	whole := m.compare(m.round(y, down), equal, y)
	half := m.mul(y, num(0.5))
	even := m.compare(m.round(half, down), equal, half)
	z = m.or(z, m.choose(whole, m.choose(even, num(0), m.sign(x)), num(0)))
	undefined := m.choose(whole, z, num(math.NaN()))
	finite := m.choose(m.compare(x, greater, negativeInfinity), undefined, z)
	z = m.choose(m.compare(x, less, num(0)), finite, z)
	return m.choose(m.compare(y, equal, num(0)), num(1), z)
}

// widen returns half of a vector of float32 as float64: the lower half for 0, the upper for 1.
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

// narrow returns two vectors of float64 as one vector of float32. It is the inverse of widen.
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

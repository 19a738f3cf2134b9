package main

import (
	"math"
	"math/big"
)

// reduced is exp(x) = 2ⁿ·(1 + p): r = x - n·ln 2 with |r| <= ln(2)/2, p = exp(r) - 1 with a small
// relative error.
type reduced struct{ n, p vec }

// reduce splits exp(x). x is not too far outside of where exp(x) is a number.
func (m *machine) reduce(x vec) reduced {
	magic := m.vector(m.magic())
	n := m.sub(m.mulAdd(x, num(math.Log2E), magic), magic)
	ln2 := split(digitsLn2, either[uint](m, 24, 53), either[uint](m, 24, 53))
	r := m.mulSubFrom(n, num(ln2[0]), x)
	r = m.mulSubFrom(n, num(ln2[1]), r)
	// exp(r) - 1 = r + r²·P(r)
	p := fit(either(m, 4, 9), -math.Ln2/2, math.Ln2/2, series(func(k int64) *big.Float { return inverseFactorial(k + 2) }))
	return reduced{n, m.mulAdd(m.polynomial(r, p), m.mul(r, r), r)}
}

// magic is the number that moves the integer part of a small number to the lowest bits when added
// to it.
func (m *machine) magic() num { return num(math.Ldexp(1.5, m.fractionBits())) }

// scale returns x·2ⁿ rounded once, for integers n whose halves are exponents of numbers.
func (m *machine) scale(x, n vec) vec {
	if m.wide() {
		return m.op(m.VSCALEFPS, m.VSCALEFPD, n, x)
	}
	// In two steps, because 2ⁿ may be no number where x·2ⁿ is one; the first step is exact.
	magic := m.vector(m.magic())
	shifted := m.mulAdd(n, num(0.5), magic)
	rest := m.sub(n, m.sub(shifted, magic))
	return m.mul(m.mul(x, m.powerOfTwo(shifted)), m.powerOfTwo(m.add(rest, magic)))
}

// powerOfTwo returns 2ⁿ, given n + magic.
func (m *machine) powerOfTwo(shifted vec) vec {
	return m.addInt(m.shiftLeft(shifted, m.fractionBits()), num(1))
}

// clip limits x to lo <= x <= hi and keeps NaN.
func (m *machine) clip(x vec, lo, hi float64) vec { return m.max(num(lo), m.min(num(hi), x)) }

// exp clips to where the result has become 0 or +Inf.
func (m *machine) exp(x vec) vec {
	e := m.reduce(m.clip(x, either(m, -104.0, -746.0), either(m, 89.0, 710.0)))
	return m.scale(m.add(e.p, num(1)), e.n)
}

// expm1 clips to where the result has become -1 or +Inf. The sign is the sign of x, also of zeros.
func (m *machine) expm1(x vec) vec {
	e := m.reduce(m.clip(x, either(m, -18.0, -38.0), either(m, 89.0, 710.0)))
	// 2⁻ⁿ makes no difference from 1 where it is too small for powerOfTwo.
	inverse := m.powerOfTwo(m.sub(m.vector(m.magic()), m.min(e.n, num(m.fractionBits()+2))))
	return m.or(m.combineExpm1(e, inverse), m.sign(x))
}

// combineExpm1 returns exp(x) - 1 = 2ⁿ·(p + (1 - 2⁻ⁿ)), given 2⁻ⁿ.
func (m *machine) combineExpm1(e reduced, inverse vec) vec {
	return m.scale(m.add(e.p, m.sub(num(1), inverse)), e.n)
}

// tanh(|x|) = t/(t + 2) with t = exp(2|x|) - 1. It clips to where the result has become 1.
func (m *machine) tanh(x vec) vec {
	y := m.min(num(either(m, 10.0, 20.0)), m.abs(x))
	e := m.reduce(m.add(y, y))
	t := m.combineExpm1(e, m.powerOfTwo(m.sub(m.vector(m.magic()), e.n)))
	return m.or(m.div(t, m.add(t, num(2))), m.sign(x))
}

// logistic(x) is 1/(1 + z) or z/(1 + z) with z = exp(-|x|), which keeps the relative precision of
// small results.
func (m *machine) logistic(x vec) vec {
	z := m.exp(m.or(x, m.signBit()))
	above := m.choose(m.compare(x, less, num(0)), z, num(1))
	return m.div(above, m.add(z, num(1)))
}

// log of numbers, with the other cases put in afterwards.
func (m *machine) log(x vec) vec { return m.logCases(x, m.logSum(x, m.zero())) }

// log1p: with u = 1 + x rounded, log(1 + x) = log(u) + (x - (u - 1))/u but for terms far below the
// last bit.
func (m *machine) log1p(x vec) vec {
	u := m.add(x, num(1))
	lost := m.div(m.sub(x, m.sub(u, num(1))), u)
	return m.or(m.logCases(u, m.logSum(u, lost)), m.sign(x))
}

// logCases returns y = log(x), but -Inf for 0, NaN for negative numbers, and x for +Inf and NaN.
func (m *machine) logCases(x, y vec) vec {
	y = m.choose(m.compare(x, less, positiveInfinity), y, x)
	y = m.choose(m.compare(x, equal, num(0)), negativeInfinity, y)
	return m.choose(m.compare(x, less, num(0)), num(math.NaN()), y)
}

// logSum returns log(x) + c for a number x > 0 and a small c. With x = 2ⁿ·(1 + f) and 1/√2 <= 1 + f
// < √2, s = f/(2 + f), h = f²/2, log(1 + f) = f - (h - s·(h + R)), where R = s²·Q(s²) is the series
// of log((1 + s)/(1 - s))/s without its first term 2.
func (m *machine) logSum(x, c vec) vec {
	// A denormal number is scaled to a normal one.
	denormal := m.compare(x, less, num(math.Ldexp(1, 1-m.exponentBias())))
	digits := float64(m.fractionBits() + 1)
	x = m.choose(denormal, m.mul(x, num(math.Exp2(digits))), x)
	offset := m.choose(denormal, num(digits), num(0))

	// Adding the distance from 1/√2 to 1 to the bits of x carries into the exponent where the
	// fraction is above √2.
	root := m.bitsOf(math.Sqrt2 / 2)
	shifted := m.addInt(x, m.bitsOf(1)-root)
	one := m.addInt(m.and(shifted, pattern(1)<<m.fractionBits()-1), root)
	f := m.sub(one, num(1))

	// The exponent as an integer becomes a number below the digits of a power of two.
	power := math.Ldexp(1, m.fractionBits())
	n := m.or(m.shiftRight(shifted, m.fractionBits()), num(power))
	n = m.sub(m.sub(n, num(power+float64(m.exponentBias()))), offset)

	s := m.div(f, m.add(f, num(2)))
	z := m.mul(s, s)
	const greatest = (math.Sqrt2 - 1) / (math.Sqrt2 + 1) // the greatest s
	const limit = greatest * greatest
	q := fit(either(m, 3, 6), 0, limit, series(func(k int64) *big.Float { return ratio(2, 2*k+3) }))
	h := m.mul(m.mul(f, f), num(0.5))
	t := m.mulAdd(m.polynomial(z, q), z, h)
	// n·ln2[0] is exact, because the last bits of ln2[0] are 0.
	ln2 := split(digitsLn2, either[uint](m, 16, 42), either[uint](m, 24, 53))
	t = m.mulAdd(s, t, m.mulAdd(n, num(ln2[1]), c))
	return m.mulAdd(n, num(ln2[0]), m.sub(f, m.sub(h, t)))
}

// bitsOf returns the bits of a number.
func (m *machine) bitsOf(x float64) pattern {
	if m.single() {
		return pattern(math.Float32bits(float32(x)))
	}
	return pattern(math.Float64bits(x))
}

package main

import (
	"math"
	"math/big"
)

// reduced represents exp(x) as 2ⁿ·(1 + p), where p = exp(r) - 1 with a small relative error, r = x
// - n·ln 2, and |r| <= ln(2)/2.
type reduced struct{ n, p vec }

// reduce returns exp(x) as a reduced number. x may be only a little outside of the range in which
// exp(x) is neither 0 nor infinite.
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

// magic returns a number whose sum with a small number has the integer part of the small number in
// its lowest bits.
func (m *machine) magic() num { return num(math.Ldexp(1.5, m.fractionBits())) }

// scale returns x·2ⁿ, rounded once. n is an integer, and 2 to the power n/2 must be a number,
// neither 0 nor infinite.
func (m *machine) scale(x, n vec) vec {
	if m.wide() {
		return m.op(m.VSCALEFPS, m.VSCALEFPD, n, x)
	}
	// The product is computed in two steps, because 2ⁿ may overflow or underflow where x·2ⁿ does
	// not. The first step is exact.
	magic := m.vector(m.magic())
	shifted := m.mulAdd(n, num(0.5), magic)
	rest := m.sub(n, m.sub(shifted, magic))
	return m.mul(m.mul(x, m.powerOfTwo(shifted)), m.powerOfTwo(m.add(rest, magic)))
}

// powerOfTwo returns 2ⁿ, given n plus the number that magic returns.
func (m *machine) powerOfTwo(shifted vec) vec {
	return m.addInt(m.shiftLeft(shifted, m.fractionBits()), num(1))
}

// clip limits x to lo <= x <= hi and keeps NaN.
func (m *machine) clip(x vec, lo, hi float64) vec { return m.max(num(lo), m.min(num(hi), x)) }

// exp returns exp(x). It clips x to a range. Outside of the range the result is 0 or +Inf.
func (m *machine) exp(x vec) vec {
	e := m.reduce(m.clip(x, either(m, -104.0, -746.0), either(m, 89.0, 710.0)))
	return m.scale(m.add(e.p, num(1)), e.n)
}

// expm1 returns exp(x) - 1. It clips x to a range. Outside of the range the result is -1 or +Inf.
// The result has the sign of x, even if it is 0.
func (m *machine) expm1(x vec) vec {
	e := m.reduce(m.clip(x, either(m, -18.0, -38.0), either(m, 89.0, 710.0)))
	// Where 2⁻ⁿ is too small for powerOfTwo, 1 - 2⁻ⁿ rounds to 1.
	inverse := m.powerOfTwo(m.sub(m.vector(m.magic()), m.min(e.n, num(m.fractionBits()+2))))
	return m.or(m.combineExpm1(e, inverse), m.sign(x))
}

// combineExpm1 returns exp(x) - 1 = 2ⁿ·(p + (1 - 2⁻ⁿ)), given 2⁻ⁿ.
func (m *machine) combineExpm1(e reduced, inverse vec) vec {
	return m.scale(m.add(e.p, m.sub(num(1), inverse)), e.n)
}

// tanh returns tanh(x), using tanh(|x|) = t/(t + 2) with t = exp(2|x|) - 1. It clips |x| to the
// range above which the result is 1.
func (m *machine) tanh(x vec) vec {
	y := m.min(num(either(m, 10.0, 20.0)), m.abs(x))
	e := m.reduce(m.add(y, y))
	t := m.combineExpm1(e, m.powerOfTwo(m.sub(m.vector(m.magic()), e.n)))
	return m.or(m.div(t, m.add(t, num(2))), m.sign(x))
}

// logistic returns 1/(1 + exp(-x)). With z = exp(-|x|), it is 1/(1 + z), or z/(1 + z) for negative
// x, which keeps the relative precision of small results.
func (m *machine) logistic(x vec) vec {
	z := m.exp(m.or(x, m.signBit()))
	above := m.choose(m.compare(x, less, num(0)), z, num(1))
	return m.div(above, m.add(z, num(1)))
}

// log returns log(x). It computes the logarithm as for a positive number and then replaces the
// results of special arguments.
func (m *machine) log(x vec) vec { return m.logCases(x, m.logSum(x, m.zero())) }

// log1p returns log(1 + x). With u = 1 + x rounded, it is log(u) + (x - (u - 1))/u, except for
// terms far below the last bit.
func (m *machine) log1p(x vec) vec {
	u := m.add(x, num(1))
	lost := m.div(m.sub(x, m.sub(u, num(1))), u)
	return m.or(m.logCases(u, m.logSum(u, lost)), m.sign(x))
}

// logCases returns log(x). It is y except for special arguments: -Inf where x is 0, NaN where x is
// negative, and x where x is +Inf or NaN.
func (m *machine) logCases(x, y vec) vec {
	y = m.choose(m.compare(x, less, positiveInfinity), y, x)
	y = m.choose(m.compare(x, equal, num(0)), negativeInfinity, y)
	return m.choose(m.compare(x, less, num(0)), num(math.NaN()), y)
}

// logSum returns log(x) + c for a finite x > 0 and a small c. Let x = 2ⁿ·(1 + f) with 1/√2 <= 1 + f
// < √2, s = f/(2 + f) and h = f²/2. Then log(1 + f) = f - (h - s·(h + R)), where R = s²·Q(s²) is
// the series of log((1 + s)/(1 - s))/s without its first term 2.
func (m *machine) logSum(x, c vec) vec {
	// Scale a denormal number to a normal one.
	denormal := m.compare(x, less, num(math.Ldexp(1, 1-m.exponentBias())))
	digits := float64(m.fractionBits() + 1)
	x = m.choose(denormal, m.mul(x, num(math.Exp2(digits))), x)
	offset := m.choose(denormal, num(digits), num(0))

	// Add the difference between the bits of 1 and of 1/√2 to the bits of x. This carries into the
	// exponent where the fraction is above √2.
	root := m.bitsOf(math.Sqrt2 / 2)
	shifted := m.addInt(x, m.bitsOf(1)-root)
	one := m.addInt(m.and(shifted, pattern(1)<<m.fractionBits()-1), root)
	f := m.sub(one, num(1))

	// Convert the exponent from an integer to a float, by setting the lowest digits of a power of
	// two to it.
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

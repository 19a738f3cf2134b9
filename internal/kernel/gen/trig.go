package main

import (
	"math"
	"math/big"
)

func (m *machine) sin(x vec) vec {
	return m.choose(m.compare(x, equal, num(0)), x, m.sinOfQuarter(x, 0))
}
func (m *machine) cos(x vec) vec { return m.sinOfQuarter(x, 1) }

// trigLimit returns the largest |x| for which the assembly computes sine and cosine.
func (m *machine) trigLimit() float64 { return either(m, 0x1p17, 0x1p30) }

// sinOfQuarter returns sin(x + quarter·π/2). Where |x| is greater than trigLimit or x is NaN, it
// returns x.
//
// It reduces x to r = x - n·π/2. π/2 is stored as a sum of three parts; n times each part is
// subtracted from x, one after the other. The first step is exact: both numbers are multiples of
// the last digit of the first part or of x, and their difference is small. The rounding errors of
// later steps are relative to their results. So the error of r is about a unit in the last place
// even next to a multiple of π/2, provided that n times the difference between π/2 and the sum of
// its parts is small.
func (m *machine) sinOfQuarter(x vec, quarter uint64) vec {
	magic := m.vector(m.magic())
	shifted := m.mulAdd(x, num(2/math.Pi), magic)
	n := m.sub(shifted, magic)
	r := x
	for _, part := range split(digitsHalfPi, either[uint](m, 24, 53), either[uint](m, 24, 53), either[uint](m, 24, 53)) {
		r = m.mulSubFrom(n, num(part), r)
	}

	// The polynomials approximate (sin(r) - r)/r³ and (cos(r) - 1 + r²/2)/r⁴ as functions of r².
	alternating := func(first, offset int64) func(k int64) *big.Float {
		return func(k int64) *big.Float {
			c := inverseFactorial(2*k + offset)
			if (k+first)%2 == 1 {
				c.Neg(c)
			}
			return c
		}
	}
	const limit = (math.Pi / 4) * (math.Pi / 4) * 1.03 // wider by 3 %: n may not be nearest
	square := m.mul(r, r)
	s := m.polynomial(square, fit(either(m, 3, 6), 0, limit, series(alternating(1, 3))))
	sin := m.mulAdd(m.mul(square, r), s, r)
	c := m.polynomial(square, fit(either(m, 2, 5), 0, limit, series(alternating(0, 4))))
	cos := m.mulAdd(m.mul(square, square), c, m.mulSubFrom(square, num(0.5), num(1)))

	// The two lowest bits of n + quarter determine whether the result is sin or cos, and its sign.
	turn := m.addInt(shifted, pattern(quarter))
	y := m.choose(m.signMask(m.shiftLeft(turn, 8*m.size-1)), cos, sin)
	y = m.xor(y, m.sign(m.shiftLeft(turn, 8*m.size-2)))
	return m.choose(m.compare(m.abs(x), lessEqual, num(m.trigLimit())), y, x)
}

// signMask returns the mask of the lanes whose sign bit is set.
func (m *machine) signMask(x vec) mask {
	if !m.wide() {
		return x
	}
	k := m.K()
	m.do(two(m.VPMOVD2M), two(m.VPMOVQ2M), x, k)
	return k
}

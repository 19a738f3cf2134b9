package main

import (
	"math"
	"math/big"
)

// erf returns erf(x). It is x·P(x²) with a polynomial P for |x| < 1, and 1 - exp(-x²)·R(|x|) with
// R(x) = exp(x²)·erfc(x) for larger |x|. It clips |x| to the range above which the result rounds to
// one. R is approximated by a polynomial in v = (x - c)/(x + c), because R as a function of v is
// closer to a polynomial. The choice of c makes the domain of v symmetric.
func (m *machine) erf(x vec) vec {
	limit := either(m, 4.0, 6.0)
	y := m.min(num(limit), m.abs(x))
	square := m.mul(y, y)
	small := m.mul(y, m.polynomial(square, fit(either(m, 6, 12), 0, 1, erfSeries)))

	c := math.Sqrt(limit)
	edge := (limit - c) / (limit + c)
	r := fit(either(m, 6, 15), -edge, edge, func(v *big.Float) *big.Float {
		one := number512(1)
		x := zero512().Mul(number512(c), zero512().Quo(zero512().Add(one, v), zero512().Sub(one, v)))
		square := zero512().Mul(x, x)
		erfc := zero512().Sub(one, zero512().Mul(x, erfSeries(square)))
		return erfc.Mul(erfc, series(inverseFactorial)(square))
	})
	v := m.div(m.sub(y, num(c)), m.add(y, num(c)))
	e := m.reduce(m.sub(num(0), square))
	z := m.scale(m.add(e.p, num(1)), e.n) // exp(-x²)
	large := m.mulSubFrom(z, m.polynomial(v, r), num(1))
	return m.or(m.choose(m.compare(y, less, num(1)), small, large), m.sign(x))
}

// erfSeries returns erf(x)/x as a function of x²: 2/√π·Σ (-x²)ᵏ/(k!·(2k + 1)).
func erfSeries(square *big.Float) *big.Float {
	sum := series(func(k int64) *big.Float {
		c := zero512().Mul(inverseFactorial(k), ratio(1, 2*k+1))
		if k%2 == 1 {
			c.Neg(c)
		}
		return c
	})(square)
	root := zero512().Sqrt(constant(digitsPi))
	return sum.Mul(sum, zero512().Quo(number512(2), root))
}

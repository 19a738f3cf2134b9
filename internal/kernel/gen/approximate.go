package main

import (
	"math"
	"math/big"
)

// precision is the precision of the computation of coefficients, in bits.
const precision = 512

func number512(x float64) *big.Float { return new(big.Float).SetPrec(precision).SetFloat64(x) }

func ratio(a, b int64) *big.Float {
	return new(big.Float).SetPrec(precision).Quo(number512(float64(a)), number512(float64(b)))
}

func zero512() *big.Float { return new(big.Float).SetPrec(precision) }

// fit returns the coefficients of the polynomial of the given degree that equals f at the Chebyshev
// nodes of lo <= x <= hi. The largest error of this polynomial is within a small factor of the
// smallest one possible. The equations are solved with a precision that makes rounding errors
// negligible.
func fit(degree int, lo, hi float64, f func(x *big.Float) *big.Float) []float64 {
	n := degree + 1
	rows := make([][]*big.Float, n) // rows of the equations Σ c[j]·x^j = f(x), for each x
	for i := range rows {
		node := (lo+hi)/2 + (hi-lo)/2*math.Cos((float64(i)+0.5)*math.Pi/float64(n))
		node = float64(float32(node)) // the same number on every CPU
		x, power := number512(node), number512(1)
		for range n {
			rows[i] = append(rows[i], power)
			power = zero512().Mul(power, x)
		}
		rows[i] = append(rows[i], f(x))
	}
	for i := range rows {
		for j := range rows {
			if j == i {
				continue
			}
			factor := zero512().Quo(rows[j][i], rows[i][i])
			for k := i; k <= n; k++ {
				rows[j][k] = zero512().Sub(rows[j][k], zero512().Mul(factor, rows[i][k]))
			}
		}
	}
	c := make([]float64, n)
	for i := range c {
		c[i], _ = zero512().Quo(rows[i][n], rows[i][i]).Float64()
	}
	return c
}

// series returns the function Σ c(k)·x^k. It must be called with an x for which the sum converges.
func series(c func(k int64) *big.Float) func(x *big.Float) *big.Float {
	return func(x *big.Float) *big.Float {
		sum, power := zero512(), number512(1)
		for k := int64(0); ; k++ {
			term := zero512().Mul(c(k), power)
			sum.Add(sum, term)
			if k > 4 && (term.Sign() == 0 || term.MantExp(nil) < -precision) {
				return sum
			}
			power = zero512().Mul(power, x)
		}
	}
}

// inverseFactorial returns 1/n!.
func inverseFactorial(n int64) *big.Float {
	f := new(big.Int).MulRange(1, n)
	return zero512().Quo(number512(1), zero512().SetInt(f))
}

// constant returns the number with the given decimal digits.
func constant(digits string) *big.Float {
	x, _, err := big.ParseFloat(digits, 10, precision, big.ToNearestEven)
	if err != nil {
		panic(err)
	}
	return x
}

// split returns numbers that add up to the constant with the given digits, each rounded to the
// given number of bits.
func split(digits string, bits ...uint) []float64 {
	rest := constant(digits)
	var parts []float64
	for _, b := range bits {
		part, _ := new(big.Float).SetPrec(b).Set(rest).Float64()
		parts = append(parts, part)
		rest = zero512().Sub(rest, number512(part))
	}
	return parts
}

const (
	digitsLn2    = "0.693147180559945309417232121458176568075500134360255254120680009493393621969694715605863326996"
	digitsPi     = "3.141592653589793238462643383279502884197169399375105820974944592307816406286208998628034825342"
	digitsHalfPi = "1.570796326794896619231321691639751442098584699687552910487472296153908203143104499314017412671"
)

package kernel

import (
	"math"
	"math/big"
)

// oracleBits is the precision, in bits, of the numbers with which results in float64 are compared.
const oracleBits = 256

func toBig(x float64) *big.Float { return new(big.Float).SetPrec(oracleBits).SetFloat64(x) }

func newBig() *big.Float { return new(big.Float).SetPrec(oracleBits) }

// bigExp returns exp(x). It computes the series at x/2ᵏ and squares the result k times.
func bigExp(x *big.Float) *big.Float {
	const k = 24
	r := newBig().SetMantExp(x, -k)
	sum, term := toBig(1), toBig(1)
	for i := 1; term.Sign() != 0 && term.MantExp(nil) > -oracleBits; i++ {
		term.Quo(term.Mul(term, r), toBig(float64(i)))
		sum.Add(sum, term)
	}
	for range k {
		sum.Mul(sum, sum)
	}
	return sum
}

// bigLog returns log(x) for x > 0. It solves exp(y) = x by an iteration like Newton's.
func bigLog(x *big.Float) *big.Float {
	fraction := newBig()
	exponent := x.MantExp(fraction)
	f, _ := fraction.Float64()
	start := math.Log(f) + float64(exponent)*math.Ln2
	y := toBig(start)
	for range 4 {
		e := bigExp(y) // y += 2·(x - e)/(x + e), of third order
		step := newBig().Quo(newBig().Sub(x, e), newBig().Add(x, e))
		y.Add(y, step.Add(step, step))
	}
	return y
}

// bigExpm1 returns exp(x) - 1. For small x, it uses the series.
func bigExpm1(x *big.Float) *big.Float {
	if x.MantExp(nil) > 0 {
		return newBig().Sub(bigExp(x), toBig(1))
	}
	sum, term := newBig().Set(x), newBig().Set(x)
	for i := 2; term.Sign() != 0 && term.MantExp(nil) > sum.MantExp(nil)-oracleBits; i++ {
		term.Quo(term.Mul(term, x), toBig(float64(i)))
		sum.Add(sum, term)
	}
	return sum
}

// bigLog1p returns log(1 + x). For small x, it solves exp(y) - 1 = x by an iteration like Newton's.
func bigLog1p(x *big.Float) *big.Float {
	if x.MantExp(nil) > 0 {
		return bigLog(newBig().Add(x, toBig(1)))
	}
	f, _ := x.Float64()
	y := toBig(math.Log1p(f))
	for range 4 {
		e := bigExpm1(y)
		step := newBig().Quo(newBig().Sub(x, e), newBig().Add(toBig(2), newBig().Add(x, e)))
		y.Add(y, step.Add(step, step))
	}
	return y
}

// bigErf returns erf(x) for |x| < 7. It uses the series.
func bigErf(x *big.Float) *big.Float {
	square := newBig().Mul(x, x)
	sum, power := newBig(), newBig().Set(x) // power = (-1)ᵏ·x²ᵏ⁺¹/k!
	for k := 0; k < 8 || power.MantExp(nil) > -oracleBits; k++ {
		sum.Add(sum, newBig().Quo(power, toBig(float64(2*k+1))))
		power.Neg(power.Quo(power.Mul(power, square), toBig(float64(k+1))))
		if power.Sign() == 0 {
			break
		}
	}
	return sum.Mul(sum, newBig().Quo(toBig(2), newBig().Sqrt(bigPi())))
}

// bigPi returns π, computed by Machin's formula.
func bigPi() *big.Float {
	arctan := func(inverse int64) *big.Float {
		x := newBig().Quo(toBig(1), toBig(float64(inverse)))
		square, power, sum := newBig().Mul(x, x), newBig().Set(x), newBig()
		for k := 0; power.MantExp(nil) > -oracleBits; k++ {
			sum.Add(sum, newBig().Quo(power, toBig(float64(2*k+1))))
			power.Neg(power.Mul(power, square))
		}
		return sum
	}
	p := newBig().Mul(toBig(16), arctan(5))
	return p.Sub(p, newBig().Mul(toBig(4), arctan(239)))
}

// bigSin returns sin(x + quarter·π/2). It subtracts a multiple of π/2 from x and uses the series at
// the remainder r.
func bigSin(x *big.Float, quarter int64) *big.Float {
	half := bigPi()
	half.Quo(half, toBig(2))
	count := newBig().Quo(x, half)
	n, _ := count.Add(count, toBig(math.Copysign(0.5, float64(x.Sign())))).Int(nil)
	r := newBig().Sub(x, newBig().Mul(half, newBig().SetInt(n)))
	turn := (new(big.Int).And(n, big.NewInt(3)).Int64() + quarter) % 4
	sum, term := newBig(), toBig(1) // term = rᵏ/k!
	for k := int64(0); term.Sign() != 0 && term.MantExp(nil) > -2*oracleBits; k++ {
		if k%2 == 1-turn%2 { // odd powers belong to the sine, even powers to the cosine
			if k/2%2 == turn/2 {
				sum.Add(sum, term)
			} else {
				sum.Sub(sum, term)
			}
		}
		term.Quo(term.Mul(term, r), toBig(float64(k+1)))
	}
	return sum
}

// oracle64 holds functions that compute nearly exact values of the kernels of one argument.
var oracle64 = map[string]func(x *big.Float) *big.Float{
	"Exp":   bigExp,
	"Expm1": bigExpm1,
	"Log":   bigLog,
	"Log1p": bigLog1p,
	"Tanh": func(x *big.Float) *big.Float {
		e := bigExpm1(newBig().Add(x, x))
		return newBig().Quo(e, newBig().Add(e, toBig(2)))
	},
	"Logistic": func(x *big.Float) *big.Float {
		return newBig().Quo(toBig(1), newBig().Add(toBig(1), bigExp(newBig().Neg(x))))
	},
	"Rsqrt": func(x *big.Float) *big.Float { return newBig().Quo(toBig(1), newBig().Sqrt(x)) },
	"Sqrt":  func(x *big.Float) *big.Float { return newBig().Sqrt(x) },
	"Erf":   bigErf,
	"Sin":   func(x *big.Float) *big.Float { return bigSin(x, 0) },
	"Cos":   func(x *big.Float) *big.Float { return bigSin(x, 1) },
}

// oracle32 holds functions in float64 for the kernels of one argument. Their errors are far below
// the precision of float32.
var oracle32 = map[string]func(x float64) float64{
	"Exp": math.Exp, "Expm1": math.Expm1, "Log": math.Log, "Log1p": math.Log1p, "Tanh": math.Tanh,
	"Logistic": logistic, "Rsqrt": func(x float64) float64 { return 1 / math.Sqrt(x) }, "Sqrt": math.Sqrt,
	"Erf": math.Erf, "Sin": math.Sin, "Cos": math.Cos,
}

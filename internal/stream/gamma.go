package stream

import (
	"math"
	"math/rand/v2"
)

// Gamma draws from the gamma distribution with the given shape and with rate 1 (Marsaglia and Tsang
// 2000). It panics unless the shape is positive.
func Gamma(shape float64, random *rand.Rand) float64 {
	if !(shape > 0) {
		panic("stream.Gamma: want a positive shape")
	}
	if shape < 1 {
		return Gamma(shape+1, random) * math.Exp(-random.ExpFloat64()/shape)
	}
	if shape == 1 {
		return random.ExpFloat64()
	}
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := random.NormFloat64()
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v = v * v * v
		u := 1 - random.Float64()
		if u < 1-0.0331*x*x*x*x || math.Log(u) < 0.5*x*x+d-d*v+d*math.Log(v) {
			return d * v
		}
	}
}

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
		return Gamma(shape+1, random) * math.Pow(1-random.Float64(), 1/shape)
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
		if math.Log(1-random.Float64()) < 0.5*x*x+d-d*v+d*math.Log(v) {
			return d * v
		}
	}
}

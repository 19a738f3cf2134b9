package hard

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/transdim/vti/likelihood"
)

// drawResponse draws responses given a linear predictor, and returns a description of them.
func drawResponse(kind likelihood.Kind, eta []float64, random *rand.Rand) (y []float64, how string) {
	y = make([]float64, len(eta))
	switch kind {
	case likelihood.LogisticKind:
		level := []float64{0, 0, -3, 4}[random.IntN(4)]
		steep := math.Pow(10, uniform(random, -0.5, 2))
		how = fmt.Sprintf("level %g, steep %.1g", level, steep)
		for i := range y {
			if random.Float64() < 1/(1+math.Exp(-level-steep*eta[i])) {
				y[i] = 1
			}
		}
	case likelihood.PoissonKind:
		level := uniform(random, -3, 20)
		how = fmt.Sprintf("log rate %.1f", level)
		for i := range y {
			y[i] = distuv.Poisson{Lambda: math.Exp(math.Min(level+eta[i], 21)), Src: random}.Rand()
		}
	case likelihood.GammaKind, likelihood.WeibullKind, likelihood.ExponentialKind, likelihood.BetaKind, likelihood.NegativeBinomialKind, likelihood.ZeroInflatedKind, likelihood.HurdleKind:
		level, shape := uniform(random, -2, 3), math.Pow(10, uniform(random, -0.5, 3))
		how = fmt.Sprintf("level %.1f, shape %.1g", level, shape)
		for i := range y {
			y[i] = drawShaped(kind, math.Min(level+eta[i], 20), shape, random)
		}
	case likelihood.CumulativeLogitKind, likelihood.CumulativeProbitKind, likelihood.CategoricalKind: // two or three categories
		level, gap := uniform(random, -2, 2), math.Pow(10, uniform(random, -1, 1))
		if kind == likelihood.CategoricalKind {
			gap = math.Inf(1)
		}
		how = fmt.Sprintf("level %.1f, gap %.1g", level, gap)
		for i := range y {
			u := random.Float64()
			switch score := level + eta[i] + math.Log(u/(1-u)); {
			case score > gap:
				y[i] = 2
			case score > 0:
				y[i] = 1
			}
		}
	default:
		noise := math.Pow(10, uniform(random, -3, 1))
		scale := 1.0
		if kind == likelihood.GaussianKind {
			noise = math.Pow(10, uniform(random, -8, 1))
			if random.Float64() < 0.4 {
				scale = math.Pow(10, uniform(random, -12, 12))
			}
		} else {
			scale = math.Pow(10, uniform(random, -1, 2)) // by default, noise has sd 1 in most rows
		}
		how = fmt.Sprintf("noise %.0e", noise)
		shift := random.NormFloat64() * math.Pow(10, uniform(random, 0, 4))
		for i := range y {
			y[i] = eta[i] + noise*random.NormFloat64()
		}
		if random.Float64() < 0.25 {
			how += ", outlier"
			y[random.IntN(len(y))] += math.Pow(10, uniform(random, 0.5, 4)) * random.NormFloat64()
		}
		how += fmt.Sprintf(", scale %.0e", scale)
		for i := range y {
			y[i] = scale * (y[i] + shift)
		}
	}
	return y, how
}

// drawShaped draws a response given its shape, precision, dispersion or odds, within the range that
// vti varsel accepts.
func drawShaped(kind likelihood.Kind, eta, shape float64, random *rand.Rand) float64 {
	switch kind {
	case likelihood.ZeroInflatedKind, likelihood.HurdleKind: // smaller odds of 0: zeros alone carry no information
		shape /= 1 + shape
	}
	switch y := likelihood.New(kind, likelihood.Shape{}).Draw(eta, shape, random); {
	case kind.Discrete():
		return y
	case kind == likelihood.BetaKind:
		return math.Min(math.Max(y, 1e-9), 1-1e-9)
	default:
		return math.Max(y, 1e-100)
	}
}

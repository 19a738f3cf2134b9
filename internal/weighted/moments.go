package weighted

import (
	"math"

	"github.com/transdim/vti/internal/psis"
)

// Moments are mean and standard deviation of a quantity over weighted draws, with their standard
// errors, and NaN where the draws do not resolve them.
type Moments struct{ Mean, MeanSE, SD, SDSE float64 }

const (
	// mostRelativeError is the standard error of a standard deviation, relative to it, above which
	// it is not resolved. Chosen by hand: not even its first digit is known then.
	mostRelativeError = 0.2
	// heavier is by how much k̂ of a moment may exceed that of the weights alone, where these are
	// not reliable themselves, which is for a verdict to say. Chosen by hand, as the noise of k̂ of
	// some thousand draws.
	heavier = 0.1
)

// MomentsOf estimates moments from independent draws with weights, which need not sum to one. value
// is the quantity in each draw, or its expectation given what was drawn; then within is an unbiased
// estimate of its variance given that, and else nil (Rao–Blackwell).
//
// A moment can lie in a tail that few draws or none have reached, although the weights themselves
// are reliable, and then its standard error is too small too. Each moment is therefore judged by
// Pareto's k̂ of the weights times what it is the mean of (Vehtari et al. 2024, section 3.2.4).
func MomentsOf(weight, value, within []float64) Moments {
	return momentsOf(weight, value, within, psis.ReliableFor(len(weight)))
}

// MomentsOfChain estimates moments from draws of a chain, which R̂ and effective draws judge: k̂
// takes their repetitions, and a small mode far out, for a heavy tail. There are no standard
// errors.
func MomentsOfChain(weight, value []float64) Moments {
	m := momentsOf(weight, value, nil, math.Inf(1))
	m.MeanSE, m.SDSE = math.NaN(), math.NaN()
	return m
}

// momentsOf estimates moments, which are resolved up to a k̂.
func momentsOf(weight, value, within []float64, most float64) Moments {
	var mass, mean float64
	for i, w := range weight {
		mass += w
		mean += w * value[i]
	}
	mean /= mass
	square := make([]float64, len(weight)) // of the distance from the mean, in each draw
	var variance, ofMean float64
	for i, w := range weight {
		distance := value[i] - mean
		square[i] = distance * distance
		ofMean += w * w * square[i]
		if within != nil {
			square[i] += within[i]
		}
		variance += w * square[i]
	}
	variance /= mass
	var ofVariance float64
	for i, w := range weight {
		excess := w * (square[i] - variance)
		ofVariance += excess * excess
	}
	m := Moments{Mean: mean, MeanSE: math.Sqrt(ofMean) / mass, SD: math.Sqrt(variance)}
	if m.SD > 0 {
		m.SDSE = math.Sqrt(ofVariance) / mass / (2 * m.SD)
	}
	// shape is k̂ of the weights times a power of the squared distance
	shape := func(power float64) float64 {
		logs := make([]float64, len(weight))
		for i, w := range weight {
			if logs[i] = math.Log(w); power > 0 {
				logs[i] += power * math.Log(square[i])
			}
		}
		return psis.Smooth(logs).K
	}
	resolved := func(power float64) bool {
		k := shape(power)
		return k <= most || k <= shape(0)+heavier
	}
	switch {
	case m.SD == 0:
	case !resolved(1):
		m.SD, m.SDSE = math.NaN(), math.NaN()
		if !resolved(0.5) {
			m.Mean, m.MeanSE = math.NaN(), math.NaN()
		}
	case !(m.SDSE <= mostRelativeError*m.SD):
		m.SD, m.SDSE = math.NaN(), math.NaN()
	}
	return m
}

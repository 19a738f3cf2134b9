package varsel

import (
	"cmp"
	"math"
	"slices"
)

// weightedValue is the value of a coefficient in one draw, and the weight of the draw.
type weightedValue struct{ value, weight float64 }

// summarize returns the posterior of one coefficient from the weighted draws that include it; it is
// zero in the others. mass is the weight of all draws together, which need not be one. The draws
// are sorted.
func summarize(name string, draws []weightedValue, mass float64) Coefficient {
	var inMass, first, second float64
	for _, d := range draws {
		inMass += d.weight
		first += d.weight * d.value
	}
	mean, meanIn := first/mass, first/inMass
	for _, d := range draws {
		second += d.weight * (d.value - meanIn) * (d.value - meanIn)
	}
	sdIn := math.Sqrt(second / inMass)
	// Law of total variance over in and out.
	share := inMass / mass
	sd := math.Sqrt(share*sdIn*sdIn + share*(1-share)*meanIn*meanIn)
	if inMass == 0 {
		sd = 0
	}
	slices.SortFunc(draws, func(a, b weightedValue) int { return cmp.Compare(a.value, b.value) })
	return Coefficient{
		Name: name, Mean: Number(mean), SD: Number(sd), MeanGivenIn: Number(meanIn), SDGivenIn: Number(sdIn),
		Q025:        Number(quantile(draws, mass-inMass, 0.025)),
		Q975:        Number(quantile(draws, mass-inMass, 0.975)),
		Q025GivenIn: Number(quantile(draws, 0, 0.025)),
		Q975GivenIn: Number(quantile(draws, 0, 0.975)),
	}
}

// quantile is the smallest value whose cumulative weight reaches the level, for draws sorted by
// value together with a point mass of weight atZero at zero. NaN for no draws at all.
func quantile(draws []weightedValue, atZero, level float64) float64 {
	total := atZero
	for _, d := range draws {
		total += d.weight
	}
	if !(total > 0) {
		return math.NaN()
	}
	target := level * total
	var cumulative float64
	zeroPassed := atZero == 0
	for _, d := range draws {
		if !zeroPassed && d.value >= 0 {
			if cumulative += atZero; cumulative >= target {
				return 0
			}
			zeroPassed = true
		}
		if cumulative += d.weight; cumulative >= target {
			return d.value
		}
	}
	if !zeroPassed || len(draws) == 0 {
		return 0
	}
	return draws[len(draws)-1].value
}

package varsel

import (
	"cmp"
	"math"
	"slices"
)

// summarize returns the posterior of one coefficient from weighted draws. in[i] tells whether draw i includes it; values of the other draws are
// ignored (they count as zero). Weights need not be normalised.
func summarize(name string, values []float64, in []bool, weights []float64) Coefficient {
	var mass, inMass, first, second float64
	order := make([]int, 0, len(values))
	for i, weight := range weights {
		if weight == 0 {
			continue
		}
		mass += weight
		if in[i] {
			inMass += weight
			first += weight * values[i]
			order = append(order, i)
		}
	}
	mean, meanIn := first/mass, first/inMass
	for _, i := range order {
		deviation := values[i] - meanIn
		second += weights[i] * deviation * deviation
	}
	sdIn := math.Sqrt(second / inMass)
	// Law of total variance over in and out.
	share := inMass / mass
	sd := math.Sqrt(share*sdIn*sdIn + share*(1-share)*meanIn*meanIn)
	if inMass == 0 {
		sd = 0
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	return Coefficient{
		Name: name, Mean: Number(mean), SD: Number(sd), MeanGivenIn: Number(meanIn), SDGivenIn: Number(sdIn),
		Q025:        Number(quantile(values, weights, order, mass-inMass, 0.025)),
		Q975:        Number(quantile(values, weights, order, mass-inMass, 0.975)),
		Q025GivenIn: Number(quantile(values, weights, order, 0, 0.025)),
		Q975GivenIn: Number(quantile(values, weights, order, 0, 0.975)),
	}
}

// quantile is the smallest value whose cumulative weight reaches the level, for the draws in order (sorted by value)
// together with a point mass of weight atZero at zero. NaN for no draws at all.
func quantile(values, weights []float64, order []int, atZero, level float64) float64 {
	total := atZero
	for _, i := range order {
		total += weights[i]
	}
	if total == 0 {
		return math.NaN()
	}
	target := level * total
	var cumulative float64
	zeroPassed := atZero == 0
	for _, i := range order {
		if !zeroPassed && values[i] >= 0 {
			if cumulative += atZero; cumulative >= target {
				return 0
			}
			zeroPassed = true
		}
		if cumulative += weights[i]; cumulative >= target {
			return values[i]
		}
	}
	if !zeroPassed || len(order) == 0 {
		return 0
	}
	return values[order[len(order)-1]]
}

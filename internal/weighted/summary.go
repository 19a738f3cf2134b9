package weighted

import (
	"cmp"
	"math"
	"slices"
)

// Value is the value of a quantity in one draw, and the weight of the draw.
type Value struct{ Value, Weight float64 }

// Summary describes a quantity over weighted draws.
type Summary struct {
	Mean, SD  float64
	Quantiles []float64 // at the levels given to Summarise
}

// Summarise describes a quantity that only some draws have; in all other draws it is zero. The
// result all is over all draws, and the result included over the draws with the quantity. The
// argument in holds these draws, which Summarise sorts by value, and mass is the total weight of
// all draws. Results that cannot be computed, such as the mean of no draws, are NaN.
func Summarise(in []Value, mass float64, levels []float64) (all, included Summary) {
	var inMass, first, second float64
	for _, v := range in {
		inMass += v.Weight
		first += v.Weight * v.Value
	}
	all.Mean, included.Mean = first/mass, first/inMass
	for _, v := range in {
		second += v.Weight * (v.Value - included.Mean) * (v.Value - included.Mean)
	}
	included.SD = math.Sqrt(second / inMass)
	if inMass > 0 { // law of total variance, for draws with and without the quantity
		share := inMass / mass
		all.SD = math.Sqrt(share*included.SD*included.SD + share*(1-share)*included.Mean*included.Mean)
	}
	slices.SortFunc(in, func(a, b Value) int { return cmp.Compare(a.Value, b.Value) })
	for _, level := range levels {
		all.Quantiles = append(all.Quantiles, quantile(in, mass-inMass, level))
		included.Quantiles = append(included.Quantiles, quantile(in, 0, level))
	}
	return all, included
}

// quantile returns the smallest value whose cumulative weight reaches the level. The draws must be
// sorted by value; a draw of value 0 and weight atZero is added to them. The result is NaN if there
// are no draws and atZero is 0.
func quantile(draws []Value, atZero, level float64) float64 {
	total := atZero
	for _, v := range draws {
		total += v.Weight
	}
	if !(total > 0) {
		return math.NaN()
	}
	target := level * total
	var cumulative float64
	zeroPassed := atZero == 0
	for _, v := range draws {
		if !zeroPassed && v.Value >= 0 {
			if cumulative += atZero; cumulative >= target {
				return 0
			}
			zeroPassed = true
		}
		if cumulative += v.Weight; cumulative >= target {
			return v.Value
		}
	}
	if !zeroPassed || len(draws) == 0 {
		return 0
	}
	return draws[len(draws)-1].Value
}

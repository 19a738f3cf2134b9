package varsel

import (
	"math"

	"github.com/transdim/vti/internal/weighted"
)

// levels are those of the quantiles of a coefficient.
var levels = []float64{0.025, 0.975}

// summarize returns the posterior of one coefficient from the weighted draws that include it; it is
// zero in the others. mass is the weight of all draws together, which need not be one. chain
// numbers the chain of each draw from 0; nil where draws are independent. Means and standard
// deviations that the draws do not resolve are NaN. The draws are sorted.
func summarize(name string, draws []weighted.Value, mass float64, chain []int) Coefficient {
	weight, value := make([]float64, len(draws)), make([]float64, len(draws))
	for i, d := range draws {
		weight[i], value[i] = d.Weight, d.Value
	}
	var m weighted.Moments
	if chain == nil {
		m = weighted.MomentsOf(weight, value, nil, nil)
	} else {
		m = weighted.MomentsOfChains(weight, value, chain)
	}
	all, given := weighted.Summarise(draws, mass, levels)
	if len(draws) > 0 {
		if math.IsNaN(m.SD) {
			all.SD = math.NaN()
		}
		if math.IsNaN(m.Mean) {
			all.Mean = math.NaN()
			given.Quantiles[0], given.Quantiles[1] = math.NaN(), math.NaN()
		}
	}
	return Coefficient{
		Name: name, Mean: Number(all.Mean), SD: Number(all.SD),
		MeanGivenIn: Number(m.Mean), MeanGivenInSE: Number(m.MeanSE), SDGivenIn: Number(m.SD), SDGivenInSE: Number(m.SDSE),
		Q025: Number(all.Quantiles[0]), Q975: Number(all.Quantiles[1]),
		Q025GivenIn: Number(given.Quantiles[0]), Q975GivenIn: Number(given.Quantiles[1]),
	}
}

package varsel

import "github.com/transdim/vti/internal/weighted"

// levels are those of the quantiles of a coefficient.
var levels = []float64{0.025, 0.975}

// summarize returns the posterior of one coefficient from the weighted draws that include it; it is
// zero in the others. mass is the weight of all draws together, which need not be one. The draws
// are sorted.
func summarize(name string, draws []weighted.Value, mass float64) Coefficient {
	all, given := weighted.Summarise(draws, mass, levels)
	return Coefficient{
		Name: name, Mean: Number(all.Mean), SD: Number(all.SD), MeanGivenIn: Number(given.Mean), SDGivenIn: Number(given.SD),
		Q025: Number(all.Quantiles[0]), Q975: Number(all.Quantiles[1]),
		Q025GivenIn: Number(given.Quantiles[0]), Q975GivenIn: Number(given.Quantiles[1]),
	}
}

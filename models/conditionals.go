package models

import (
	"context"
	"math"
	"slices"

	"github.com/transdim/vti/internal/weighted"
)

const (
	// conditionalDraws is the number of weighted models for which conditionals are computed: the
	// probabilities of the outcome of one site given all other sites of the code. mostConditionals
	// is the largest number of evidences computed for conditionals, which take about a second. With
	// fewer than fewestConditionals models there are no conditionals, because the error of their
	// average would be estimated too poorly.
	conditionalDraws   = 512
	mostConditionals   = 1 << 15
	fewestConditionals = 128
)

// conditionalGain is a ratio of standard errors. The average of conditionals replaces the weighted
// count of an event if the standard error of the average is below conditionalGain times the
// standard error of the count. The ratio is below one, since the smaller of two estimated errors is
// too small.
const conditionalGain = 0.5

// conditionals holds, for models drawn by their weights, the posterior probability that site i has
// outcome 1 given the outcomes of all other sites. Its average over models estimates the
// probability of outcome 1 without bias, and with hardly any variance where sites are nearly
// independent (Rao–Blackwell). Counts of the draws with a rare outcome are skewed instead, and
// their standard errors are too small where counts are low.
type conditionals struct {
	codes       [][]int32
	probability [][]float64
}

// flipped returns a copy of a code in which the outcome of one site, 0 or 1, is changed.
func flipped(code []int32, site int) []int32 {
	other := slices.Clone(code)
	other[site] = 1 - other[site]
	return other
}

// sharpen replaces probabilities of events, and their standard errors, by averages of conditionals
// where the averages are much more precise. The argument ess is the effective number of draws
// behind the probabilities. Only events decided by the outcome of one site, whatever the outcomes
// of the other sites, are replaced. No standard error becomes less than the argument least, because
// the draws may not show that an event can occur. Nor does it become less than the standard error
// of an event that none of the models shows (leastSE): where one predictor stands in for another,
// its conditional probability is small in nearly all models and near 1 in a few. The function
// events returns the events that a model satisfies.
func (c *conditionals) sharpen(ess, least float64, events func(code []int32) []int, probability, se []float64) {
	n := len(probability)
	site, decided := slices.Repeat([]int{-1}, n), make([]int, n)
	sum, squares := make([]float64, n), make([]float64, n)
	inside, inOther := make([]bool, n), make([]bool, n)
	mark := func(in []bool, code []int32) []int {
		clear(in)
		list := events(code)
		for _, event := range list {
			in[event] = true
		}
		return list
	}
	for k, code := range c.codes {
		satisfied := slices.Clone(mark(inside, code))
		for i, outcome := range code {
			for _, event := range slices.Concat(satisfied, mark(inOther, flipped(code, i))) {
				if inside[event] == inOther[event] {
					continue
				}
				p := c.probability[k][i]
				if inside[event] != (outcome == 1) {
					p = 1 - p
				}
				if decided[event]++; site[event] >= 0 && site[event] != i {
					decided[event] = -len(c.codes) * len(code) // so that it never equals len(c.codes)
				}
				site[event] = i
				sum[event] += p
				squares[event] += p * p
			}
		}
	}
	draws := float64(len(c.codes))
	least = math.Max(least, leastSE(draws))
	for event := range probability {
		if decided[event] != len(c.codes) {
			continue
		}
		mean := sum[event] / draws
		variance := math.Max(0, squares[event]/draws-mean*mean)
		if meanSE := math.Max(math.Sqrt(variance*(1/draws+1/ess)), least); meanSE < conditionalGain*se[event] {
			probability[event], se[event] = mean, meanSE
		}
	}
}

// conditionals computes the conditionals of models drawn by the weights of all draws. It returns
// nil if evidences are estimates, a site has more than two outcomes, or there are too many sites.
func (w *modelWeights) conditionals(ctx context.Context, weights []float64) (*conditionals, error) {
	cards := w.Space.Cards()
	draws := min(conditionalDraws, mostConditionals/max(len(cards), 1))
	if !w.Exact() || draws < fewestConditionals || slices.ContainsFunc(cards, func(card int) bool { return card != 2 }) {
		return nil, nil
	}
	var codes [][]int32
	for _, row := range weighted.Rows(weights, draws, w.random(w.stream+"/conditionals")) {
		codes = append(codes, w.codes[w.positions[row]])
	}
	return w.conditionalsAt(ctx, codes)
}

// conditionalsAt returns, for each code and site, the probability of outcome 1 of the site given
// the other outcomes in the code. It follows from p(m) p(y | m) of the code and of the code with
// the other outcome of the site.
func (x *Visited) conditionalsAt(ctx context.Context, codes [][]int32) (*conditionals, error) {
	var looked [][]int32 // each code, followed by its copies with one site flipped
	for _, code := range codes {
		looked = append(looked, code)
		for site := range code {
			looked = append(looked, flipped(code, site))
		}
	}
	// a separate Visited: models evaluated here are not evidence that the draws missed models
	masses := x.Visit()
	positions, err := masses.Add(ctx, looked, nil)
	if err != nil {
		return nil, err
	}
	c := &conditionals{codes: codes}
	for k, code := range codes {
		family := positions[k*(len(code)+1):]
		one := make([]float64, len(code))
		for site, outcome := range code {
			one[site] = 1 / (1 + math.Exp(masses.logMass(family[1+site])-masses.logMass(family[0])))
			if outcome == 0 {
				one[site] = 1 - one[site]
			}
		}
		c.probability = append(c.probability, one)
	}
	return c, nil
}

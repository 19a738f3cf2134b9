package models

import (
	"context"
	"math"
	"slices"

	"github.com/transdim/vti/internal/weighted"
)

const (
	// conditionalDraws is the number of weighted models whose conditionals are computed.
	// mostConditionals bounds the number of evidences to about a second of work. Fewer models than
	// fewestConditionals would estimate the error of the average too poorly.
	conditionalDraws   = 512
	mostConditionals   = 1 << 15
	fewestConditionals = 128
)

// conditionalGain is the share of the error of a count below which an average of conditionals
// replaces it. It is below one, since the smaller of two estimated errors is too small on average.
const conditionalGain = 0.5

// conditionals holds the probabilities of each site given all others, at models [S, sites] drawn by
// their weights. The average of p(m_i = 1 | m_−i, y) has the mean of m_i, and hardly any variance
// where predictors are nearly independent (Rao–Blackwell). A count of rare outcomes is skewed, and
// its standard error too small where it is low.
type conditionals struct {
	codes       [][]int32
	probability [][]float64
}

// flipped returns a code with the other outcome of a site.
func flipped(code []int32, site int) []int32 {
	other := slices.Clone(code)
	other[site] = 1 - other[site]
	return other
}

// sharpen replaces probabilities of events from ess effective draws, and their standard errors, by
// averages of conditionals where these are much more precise: for events that one site decides,
// whatever the others are. No standard error is below least, because draws may not have shown when
// an event happens.
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
					decided[event] = -len(c.codes) * len(code) // never
				}
				site[event] = i
				sum[event] += p
				squares[event] += p * p
			}
		}
	}
	draws := float64(len(c.codes))
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

// conditionals computes the conditionals of models drawn by the weights of all draws; nil where
// evidences are estimates, sites have more than two outcomes, or there are too many.
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

// conditionalsAt returns the probabilities of every site of some models given all other sites, from
// the masses of each model and of the models that differ in one site.
func (x *Visited) conditionalsAt(ctx context.Context, codes [][]int32) (*conditionals, error) {
	var looked [][]int32 // each code, followed by the code with each site flipped
	for _, code := range codes {
		looked = append(looked, code)
		for site := range code {
			looked = append(looked, flipped(code, site))
		}
	}
	// a separate Visited: models evaluated here are no sign of models missed by draws
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

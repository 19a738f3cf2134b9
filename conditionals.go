package vti

import (
	"math"
	"slices"
)

// conditionalGain is the part of the error of a count below which an average of conditionals takes
// its place. Chosen by hand: the smaller of two errors that are both estimated is too small itself.
const conditionalGain = 0.5

// conditionals are the probabilities of each site given all others, at models [S, sites] that were
// drawn by their weights: the average of p(m_i = 1 | m_−i, y) has the mean of m_i, and hardly any
// variance where predictors have little to do with each other (Rao–Blackwell). A count of rare
// outcomes is skewed, and its standard error too small where it is low.
type conditionals struct {
	codes [][]int32
	one   [][]float64
}

// flipped is a code with the other outcome of a site.
func flipped(code []int32, site int) []int32 {
	other := slices.Clone(code)
	other[site] = 1 - other[site]
	return other
}

// sharpen replaces probabilities of events, and their standard errors, of so many effective draws,
// by averages of conditionals where these are known much better: of events that one site decides,
// whatever the others are. No standard error is below least: draws may not have shown when an event
// happens.
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
		own := slices.Clone(mark(inside, code))
		for i, outcome := range code {
			for _, event := range slices.Concat(own, mark(inOther, flipped(code, i))) {
				if inside[event] == inOther[event] {
					continue
				}
				p := c.one[k][i]
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
		if own := math.Max(math.Sqrt(variance*(1/draws+1/ess)), least); own < conditionalGain*se[event] {
			probability[event], se[event] = mean, own
		}
	}
}

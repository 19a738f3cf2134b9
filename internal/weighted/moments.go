package weighted

import (
	"maps"
	"math"
	"slices"

	"github.com/transdim/vti/internal/psis"
)

// Moments holds the mean and standard deviation of a quantity over weighted draws, with their
// standard errors. They are NaN if the draws are too few or too unequal to estimate them.
type Moments struct{ Mean, MeanSE, SD, SDSE float64 }

const (
	// mostRelativeError is the largest relative standard error of a standard deviation that is
	// reported. Above it, not even the first digit is known.
	mostRelativeError = 0.2
	// heavier is the excess of the k̂ of a moment over the k̂ of the weights that is allowed where
	// the weights are not reliable themselves, which is for a verdict to report. It is the noise of
	// k̂ of some thousand draws.
	heavier = 0.1
	// fewestEffective is the number of effective draws below which nothing is estimated: the spread
	// of so few draws is no measure of the distance of their mean from the true mean. With 10
	// normal draws the mean is more than 4 standard errors off once in 300 times, and with 20
	// hardly ever.
	fewestEffective = 10
	// fewDraws is the number of effective draws at which the draws' own fourth moment gets a weight
	// of one half. Not tuned.
	fewDraws = 400
)

// MomentsOf estimates moments from draws with weights, which need not sum to one. value is the
// quantity in each draw, or its expectation given the draw; then within is an unbiased estimate of
// its variance given the draw, and otherwise nil (Rao–Blackwell). group numbers the group of each
// draw from 0, where only draws of different groups are independent, and is nil where all are.
//
// A moment can lie in a tail that few draws or none have reached, although the weights themselves
// are reliable. Its standard error is then too small too. Each moment is therefore judged by
// Pareto's k̂ of the weights times the values that it averages (Vehtari et al. 2024, section
// 3.2.4). Standard errors have a part for the tail beyond the draws (psis.Result), which is most of
// them where there is no variance. Squares often have none. A sample without the draws that make
// most of their mean has too small a k̂ too, and a low limit of k̂ would choose such samples. So
// the error of a standard deviation has the part of a k̂ larger by its own error where it can be
// above ½, and the limit is the limit for means. Of 4,000 draws of a t distribution with three
// degrees of freedom, 60 percent are resolved, with errors of the stated size; with a limit of ½
// and the part of k̂ itself, 7 percent were, and a fifteenth of these was more than four errors
// off. The standard error of a standard deviation rests on the fourth moment, which is too small in
// most samples of some tens of independent draws. Where the standard error is below the error for n
// effective normal draws, SD/√(2n), its square is moved towards the square of the latter, by the
// share fewDraws/(fewDraws + n) of the distance. Many draws from a proposal with heavier tails than
// the quantity have the right fourth moment, and the error for normal draws would be a quarter too
// wide.
func MomentsOf(weight, value, within []float64, group []int) Moments {
	if !(effective(weight, group) >= fewestEffective) {
		return Moments{math.NaN(), math.NaN(), math.NaN(), math.NaN()}
	}
	reliable := psis.ReliableFor(len(sums(weight, group)))
	m := momentsOf(weight, value, within, group, reliable)
	if group == nil && within == nil {
		n := effective(weight, nil)
		normal := m.SD / math.Sqrt(2*n)
		m.SDSE = math.Sqrt(m.SDSE*m.SDSE + fewDraws/(fewDraws+n)*math.Max(0, normal*normal-m.SDSE*m.SDSE))
	}
	return m
}

// effective returns the effective number of groups, or of draws if group is nil.
func effective(weight []float64, group []int) float64 {
	var mass, squares float64
	for _, w := range sums(weight, group) {
		mass += w
		squares += w * w
	}
	return mass * mass / squares
}

// sums returns the sum of terms in each group, or the terms themselves if group is nil.
func sums(terms []float64, group []int) []float64 {
	if group == nil {
		return terms
	}
	groupSums := make([]float64, slices.Max(group)+1)
	for i, v := range terms {
		groupSums[group[i]] += v
	}
	return groupSums
}

// MomentsOfChains estimates moments from draws of several chains; chain numbers the chain of each
// draw from 0. Standard errors come from the differences between chains, and are NaN for a single
// one. R̂ and effective draws judge chains: k̂ would take a small mode far out, which some of them
// have met, for a heavy tail. From 25 chains on, k̂ of sums over chains has its part in the errors.
func MomentsOfChains(weight, value []float64, chain []int) Moments {
	return momentsOf(weight, value, nil, chain, math.Inf(1))
}

// Plain estimates moments by groups as MomentsOf does, even if the draws are too few or too
// unequal.
func Plain(weight, value []float64, group []int) Moments {
	m, _, _ := plain(weight, value, nil, group)
	return m
}

// plain are moments, whatever the draws resolve, with the squared distance from the mean in each
// draw and the sum of the weights. Draws of different groups are independent; without groups all
// are.
func plain(weight, value, within []float64, group []int) (m Moments, square []float64, mass float64) {
	mean := 0.0
	for i, w := range weight {
		mass += w
		mean += w * value[i]
	}
	mean /= mass
	square = make([]float64, len(weight))
	deviation := newGroupedSum(group)
	var variance float64
	for i, w := range weight {
		distance := value[i] - mean
		square[i] = distance * distance
		deviation.add(i, w*distance)
		if within != nil {
			square[i] += within[i]
		}
		variance += w * square[i]
	}
	variance /= mass
	excess := newGroupedSum(group)
	for i, w := range weight {
		excess.add(i, w*(square[i]-variance))
	}
	m = Moments{Mean: mean, MeanSE: deviation.se() / mass, SD: math.Sqrt(variance)}
	if m.SD > 0 {
		m.SDSE = excess.se() / mass / (2 * m.SD)
	}
	return m, square, mass
}

// momentsOf estimates moments. They are reported if their k̂ is at most most.
func momentsOf(weight, value, within []float64, group []int, most float64) Moments {
	m, square, mass := plain(weight, value, within, group)
	// smoothed are the weights times a power of the squared distance, of each group
	smoothed := func(power float64) psis.Result {
		products := make([]float64, len(weight))
		for i, w := range weight {
			products[i] = w * math.Pow(square[i], power)
		}
		products = sums(products, group)
		for i, v := range products {
			products[i] = math.Log(v)
		}
		return psis.Smooth(products)
	}
	resolved := func(k float64) bool { return k <= most || k <= smoothed(0).K+heavier }
	if m.SD == 0 {
		return m
	}
	distances, squares := smoothed(0.5), smoothed(1)
	m.MeanSE = math.Hypot(m.MeanSE, unreached(distances, distances.Unreached, mass))
	m.SDSE = math.Hypot(m.SDSE, unreached(squares, squares.UnreachedAtMost, mass)/(2*m.SD))
	if !resolved(max(distances.K, squares.K)) || m.SDSE > mostRelativeError*m.SD {
		m.SD, m.SDSE = math.NaN(), math.NaN()
	}
	if !resolved(distances.K) {
		m.Mean, m.MeanSE = math.NaN(), math.NaN()
	}
	return m
}

// unreached is the part of the mean of weights times values, under weights with sum mass, that the
// largest may lack, if it is a share of the mean.
func unreached(products psis.Result, share, mass float64) float64 {
	if share == 0 {
		return 0 // also where all are zero
	}
	return share * math.Exp(products.LogMean) * float64(products.N) / mass
}

// groupedSum is a sum of terms of mean zero. Terms of different groups are independent.
type groupedSum struct {
	group   []int // of each term, from 0; nil where all are independent
	sums    map[int]float64
	squares float64 // of all terms, without groups
}

func newGroupedSum(group []int) *groupedSum {
	return &groupedSum{group: group, sums: map[int]float64{}}
}

func (s *groupedSum) add(i int, term float64) {
	if s.group == nil {
		s.squares += term * term
		return
	}
	s.sums[s.group[i]] += term
}

// se returns the standard error of the sum. It is NaN if there is a single group, whose terms sum
// to zero.
func (s *groupedSum) se() float64 {
	if s.group == nil {
		return math.Sqrt(s.squares)
	}
	groups := float64(len(s.sums))
	if groups < 2 {
		return math.NaN()
	}
	var squares float64
	for _, g := range slices.Sorted(maps.Keys(s.sums)) {
		squares += s.sums[g] * s.sums[g]
	}
	return math.Sqrt(squares * groups / (groups - 1))
}

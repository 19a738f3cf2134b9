package weighted

import (
	"math"
	"slices"

	"github.com/transdim/vti/internal/psis"
)

// Moments holds the mean and standard deviation of a quantity over weighted draws, with their
// standard errors. They are NaN if the draws are too few or too unequal to estimate them.
type Moments struct{ Mean, MeanSE, SD, SDSE float64 }

// unresolved holds the moments that draws cannot estimate.
var unresolved = Moments{math.NaN(), math.NaN(), math.NaN(), math.NaN()}

const (
	// mostRelativeError is the largest relative standard error of a standard deviation that is
	// reported. Above it, not even the first digit is known.
	mostRelativeError = 0.2
	// The constant heavier is the largest excess of a moment's k̂ over the k̂ of the weights at
	// which the moment is reported although its k̂ is above the limit. The weights are then
	// unreliable themselves, which the verdict on the weights reports. The value is the noise of k̂
	// for some thousand draws.
	heavier = 0.1
	// fewestEffective is the number of effective draws below which nothing is estimated. The
	// spread of fewer draws says too little about the error of their mean. With 10 normal draws the
	// mean is more than 4 standard errors off once in 300 times, and with 20 hardly ever.
	fewestEffective = 10
	// fewDraws is the number of effective draws for which the standard error of a standard
	// deviation is computed in equal parts from the fourth moment of the draws and from the fourth
	// moment of a normal distribution. Half and twice give the same answers
	// (docs/benchmarks/constants.md).
	fewDraws = 400
)

// MomentsOf estimates moments from draws with weights, which need not sum to one. The argument
// value holds the quantity in each draw. If the argument within is not nil, value holds instead the
// expectation of the quantity given the draw, and within an unbiased estimate of its variance given
// the draw (Rao–Blackwell). The argument group holds the number of the group of each draw, from 0;
// only draws of different groups are independent. If group is nil, all draws are independent.
//
// A moment can lie in a tail that few draws or none have reached, although the weights themselves
// are reliable. Its standard error is then too small as well. MomentsOf therefore computes Pareto's
// k̂, the shape of the tail, of two products (Vehtari et al. 2024, section 3.2.4): the weights
// times the distances of the values from their mean, and the weights times the squared distances. A
// k̂ is too large if it is above both psis.ReliableFor and the k̂ of the weights alone plus the
// constant heavier. The mean is NaN if the first k̂ is too large. The standard deviation is NaN if
// the larger of the two k̂ is too large, or if its relative standard error is above
// mostRelativeError.
//
// Each standard error includes a part for the tail beyond the largest draw (psis.Result.Unreached).
// This part is most of the error if the averaged products have an infinite variance, which squares
// often have. A variance is finite for a shape k below ½. But ½ is no good limit for the k̂ of the
// squares, because a sample without the few draws that make most of the mean also has too small a
// k̂. Therefore the limit is the limit for means, and the error of the standard deviation has the
// larger part psis.Result.UnreachedAtMost. For example, of samples of 4,000 draws of a t
// distribution with three degrees of freedom, 60 percent have their standard deviation reported,
// and its errors have the stated size. With a limit of ½ and the part Unreached, 7 percent would
// have it reported, and one in 15 of these would be more than four standard errors off.
//
// The standard error of the standard deviation is computed from the fourth moment, which is too
// small in most samples of some tens of independent draws. If group and within are nil, and the
// standard error is below SD/√(2n), the error for n effective normal draws, its square is moved
// towards the square of SD/√(2n), by the fraction fewDraws/(fewDraws + n) of the distance. The
// fraction decreases with n, because many draws from a proposal with heavier tails than the
// quantity have the right fourth moment. For them SD/√(2n) would be a quarter too large.
func MomentsOf(weight, value, within []float64, group []int) Moments {
	g := groupsOf(group, len(weight))
	n := g.effective(weight)
	if !(n >= fewestEffective) {
		return unresolved
	}
	m := momentsOf(weight, value, within, g, psis.ReliableFor(g.count+g.empty))
	if group == nil && within == nil {
		normal := m.SD / math.Sqrt(2*n)
		m.SDSE = math.Sqrt(m.SDSE*m.SDSE + fewDraws/(fewDraws+n)*math.Max(0, normal*normal-m.SDSE*m.SDSE))
	}
	return m
}

// MomentsOfChains estimates moments from draws of the given number of chains. The argument chain
// holds the number of the chain of each draw, from 0; chains without draws of the quantity are
// possible. Standard errors come from the differences between chains, and are NaN for a single
// chain. There is no limit for k̂, because k̂ cannot distinguish a heavy tail from a small mode
// that only some chains have visited; callers judge chains by R̂ and effective draws. With 25
// chains or more, the standard errors include a part for the tail beyond the draws, from the k̂ of
// sums over chains.
//
// All results are NaN if there are fewer than fewestEffective draws, or if the effective number of
// chains with draws is below half of the chains and below fewestEffective: the differences between
// so few draws or chains can be zero by chance.
func MomentsOfChains(weight, value []float64, chain []int, chains int) Moments {
	g := groupsOf(chain, len(weight))
	if len(value) < fewestEffective || g.effective(weight) < math.Min(fewestEffective, float64(chains)/2) {
		return unresolved
	}
	return momentsOf(weight, value, nil, g, math.Inf(1))
}

// Plain estimates moments of grouped draws as MomentsOf does, but reports them even if the draws
// are too few or too unequal, and without the part of the errors for the tail beyond the draws.
func Plain(weight, value []float64, group []int) Moments {
	m, _, _ := plain(weight, value, nil, groupsOf(group, len(weight)))
	return m
}

// plain returns the moments without a limit for k̂ and without errors for the tail beyond the
// draws. The result square holds the squared distance of each draw from the mean, and mass is the
// sum of the weights. The values of the argument within, if it is not nil, are added to square.
func plain(weight, value, within []float64, g groups) (m Moments, square []float64, mass float64) {
	mean := 0.0
	for i, w := range weight {
		mass += w
		mean += w * value[i]
	}
	mean /= mass
	square = make([]float64, len(weight))
	terms := make([]float64, len(weight))
	var variance float64
	for i, w := range weight {
		distance := value[i] - mean
		square[i] = distance * distance
		terms[i] = w * distance
		if within != nil {
			square[i] += within[i]
		}
		variance += w * square[i]
	}
	variance /= mass
	m = Moments{Mean: mean, MeanSE: g.se(terms) / mass, SD: math.Sqrt(variance)}
	if m.SD > 0 {
		for i, w := range weight {
			terms[i] = w * (square[i] - variance)
		}
		m.SDSE = g.se(terms) / mass / (2 * m.SD)
	}
	return m, square, mass
}

// momentsOf estimates moments with errors for the tail beyond the draws. A moment is NaN if its k̂
// is above both the argument most and the k̂ of the weights plus the constant heavier.
func momentsOf(weight, value, within []float64, g groups, most float64) Moments {
	m, square, mass := plain(weight, value, within, g)
	// smoothed smooths the sums over each group of the weights times a power of the squared
	// distance.
	smoothed := func(power float64) psis.Result {
		products := make([]float64, len(weight))
		for i, w := range weight {
			products[i] = w * math.Pow(square[i], power)
		}
		products = g.sums(products)
		for i, v := range products {
			products[i] = math.Log(v)
		}
		return psis.SmoothWithZeros(products, g.empty)
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

// unreached returns the part of a mean that the tail beyond the draws may add to it. The argument
// products holds the terms of the mean, weights times values, mass is the sum of the weights, and
// share is this part divided by the mean.
func unreached(products psis.Result, share, mass float64) float64 {
	if share == 0 {
		return 0 // share is 0 also if all products are 0
	}
	return share * math.Exp(products.LogMean) * float64(products.N) / mass
}

// groups numbers the groups of draws. Only draws of different groups are independent.
type groups struct {
	of    []int // number of the group of each draw, from 0, in the given order; nil if all are independent
	count int   // number of groups with draws
	empty int   // number of other groups below the largest given number
}

// groupsOf leaves out the groups without draws. Each of the draws has a given group, from 0; a nil
// group stands for independent draws.
func groupsOf(group []int, draws int) groups {
	if len(group) == 0 {
		return groups{count: draws}
	}
	g := groups{of: make([]int, draws)}
	number := make([]int32, slices.Max(group)+1)
	for _, given := range group {
		number[given] = 1
	}
	for given, used := range number {
		number[given] = int32(g.count)
		g.count += int(used)
	}
	g.empty = len(number) - g.count
	for i, given := range group {
		g.of[i] = int(number[given])
	}
	return g
}

// sums returns the sum of terms in each group, or the terms themselves if all are independent.
func (g groups) sums(terms []float64) []float64 {
	if g.of == nil {
		return terms
	}
	groupSums := make([]float64, g.count)
	for i, v := range terms {
		groupSums[g.of[i]] += v
	}
	return groupSums
}

// effective returns the effective number of groups of weighted draws.
func (g groups) effective(weight []float64) float64 {
	var mass, squares float64
	for _, w := range g.sums(weight) {
		mass += w
		squares += w * w
	}
	return mass * mass / squares
}

// se returns the standard error of the sum of terms of mean zero. It is NaN if there is a single
// group, whose terms sum to zero.
func (g groups) se(terms []float64) float64 {
	var squares float64
	for _, sum := range g.sums(terms) {
		squares += sum * sum
	}
	switch {
	case g.of == nil:
		return math.Sqrt(squares)
	case g.count < 2:
		return math.NaN()
	}
	return math.Sqrt(squares * float64(g.count) / float64(g.count-1))
}

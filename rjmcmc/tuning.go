package rjmcmc

import (
	"math"
	"slices"
)

// Tuning holds the parameters of a run's proposals. Only burn-in changes it.
type Tuning struct {
	// BirthMean and BirthSD are the parameters of a normal density g_j of each coordinate,
	// estimated from its values in the population. Births use g_j if Quadratic is nil or not
	// positive definite. [D]
	BirthMean, BirthSD []float64
	// WalkScale is the standard deviation of a Walk step of each coordinate j. If the log density
	// is approximated by a quadratic form with precision matrix Λ (QuadraticTarget), its unit is
	// Λ_jj^−½. [D]
	WalkScale []float64
	// JointScale is the factor of a Joint step in a model of k active coordinates, k = 0 … D. [D+1]
	JointScale []float64
	// Quadratic is nil before it is first fitted, and above MaxQuadraticDim coordinates.
	Quadratic *Quadratic
}

// Settings of the adaptation. Half or twice each, except walkTarget, gives the same answers
// (docs/benchmarks/constants.md).
const (
	// walkTarget is the optimal acceptance rate of a one-dimensional random walk (Roberts and
	// Rosenthal 2001).
	walkTarget = 0.44
	// birthInflation is the factor of the estimated standard deviation in births. With narrower
	// births, coordinates with values in the tails would rarely be removed.
	birthInflation = 1.2
	priorDraws     = 5   // weight of the previous variance in a renewal, in draws
	momentEvery    = 4   // iterations between updates of the population's moments
	firstWindow    = 24  // iteration of the first renewal; each later renewal is at twice the iteration of the renewal before
	lastWindow     = .75 // share of burn-in after which only step sizes adapt
)

// jointTarget returns the target acceptance rate of a Joint step in k dimensions: 0.44 for k = 1,
// 0.234 in the limit.
func jointTarget(k int) float64 { return 0.234 + (walkTarget-0.234)/float64(max(k, 1)) }

// gain returns the Robbins-Monro step size at the n-th update, n = 1, 2, ….
func gain(n int) float64 { return math.Pow(float64(n), -0.6) }

// firstScale is the standard deviation, in units of θ, of starting values and of the first births
// and steps. Adaptation replaces it.
const firstScale = 1.0

func newTuning(dim int) Tuning {
	t := Tuning{
		BirthMean:  make([]float64, dim),
		BirthSD:    slices.Repeat([]float64{firstScale}, dim),
		WalkScale:  slices.Repeat([]float64{firstScale}, dim),
		JointScale: make([]float64, dim+1),
	}
	for k := range t.JointScale {
		t.JointScale[k] = 2.38 / math.Sqrt(float64(max(k, 1)))
	}
	return t
}

// adapter renews a Tuning from the population of chains.
type adapter struct {
	tuning *Tuning
	next   int // iteration of the next renewal
	last   int // iteration of the last renewal

	walks, joints rates
	// count, sum and square are the moments, since the last renewal, of θ_j − BirthMean[j] over the
	// chains in which coordinate j is active. [D]
	count, sum, square []float64
	// fit is nil above MaxQuadraticDim coordinates, on lists, and under a QuadraticTarget.
	fit   *fit
	items *itemWeights // nil unless the space is a space of lists
}

func newAdapter(t *Tuning, dim, burnIn int) *adapter {
	a := &adapter{
		tuning: t, next: firstWindow, last: int(lastWindow * float64(burnIn)),
		walks: newRates(dim), joints: newRates(dim + 1),
		count: make([]float64, dim), sum: make([]float64, dim), square: make([]float64, dim),
	}
	if dim <= MaxQuadraticDim {
		a.fit = newFit(dim)
	}
	return a
}

// rates collects the acceptance probabilities of one kind of move, by index of the step scale.
type rates struct {
	sum, tries []float64
	updates    []int
}

func newRates(n int) rates {
	return rates{sum: make([]float64, n), tries: make([]float64, n), updates: make([]int, n)}
}

func (r *rates) add(index int, probability float64) {
	r.sum[index] += probability
	r.tries[index]++
}

// adjust changes each scale that was used such that its acceptance rate approaches the target, and
// clears the rates.
func (r *rates) adjust(scale []float64, target func(index int) float64) {
	for i, tries := range r.tries {
		if tries == 0 {
			continue
		}
		r.updates[i]++
		scale[i] *= math.Exp(gain(r.updates[i]) * (r.sum[i]/tries - target(i)))
		r.sum[i], r.tries[i] = 0, 0
	}
}

func (a *adapter) renews(t int) bool { return t == a.next && t <= a.last }

// endIteration updates the tuning after burn-in iteration t = 1, 2, …. It returns new proposal
// weights for the items of lists, or nil if they do not change.
func (a *adapter) endIteration(t int, mask []bool, theta []float64) (weights []float64) {
	a.walks.adjust(a.tuning.WalkScale, func(int) float64 { return walkTarget })
	a.joints.adjust(a.tuning.JointScale, jointTarget)
	if t%momentEvery == 0 {
		a.observe(mask, theta)
	}
	if !a.renews(t) {
		return nil
	}
	a.renew()
	if a.items != nil {
		weights = a.items.renew()
	}
	a.next = 2 * t
	if 2*a.next > a.last { // no full window would follow: this window ends with the adaptation
		a.next = a.last
	}
	return weights
}

func (a *adapter) observe(mask []bool, theta []float64) {
	dim := len(a.count)
	for i, on := range mask {
		if on {
			j := i % dim
			x := theta[i] - a.tuning.BirthMean[j] // values less their mean keep the sums accurate
			a.count[j]++
			a.sum[j] += x
			a.square[j] += x * x
		}
	}
}

// renew replaces the moments and the approximation by estimates since the last renewal, and starts
// the next window.
func (a *adapter) renew() {
	t := a.tuning
	for j, n := range a.count {
		if n == 0 {
			continue // the coordinate was never active
		}
		mean := a.sum[j] / n
		variance := max(0, a.square[j]/n-mean*mean)
		old := t.BirthSD[j] / birthInflation
		t.BirthMean[j] += mean * n / (n + priorDraws)
		t.BirthSD[j] = birthInflation * math.Sqrt((n*variance+priorDraws*old*old)/(n+priorDraws))
	}
	clear(a.count)
	clear(a.sum)
	clear(a.square)
	if a.fit != nil {
		t.Quadratic = a.fit.solve(t)
		a.fit = newFit(len(t.BirthMean))
	}
}

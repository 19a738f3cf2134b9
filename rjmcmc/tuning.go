package rjmcmc

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// Tuning holds the proposals of a run. It changes during burn-in only.
type Tuning struct {
	// BirthMean and BirthSD are the normal density g_j that coordinate j is born from. [D]
	BirthMean, BirthSD []float64
	// WalkScale is the standard deviation of a Walk step of each coordinate. [D]
	WalkScale []float64
	// JointScale multiplies a Joint step in a model of k active coordinates, k = 0 … D. [D+1]
	JointScale []float64
	// JointFactor is the lower triangular L, row-major, of the covariance L Lᵀ of Joint steps over all coordinates; the rows of
	// the active ones give their joint marginal. [D*D], nil when there are no Joint moves.
	JointFactor []float64
}

// Settings of the adaptation.
const (
	walkTarget = 0.44 // optimal acceptance of a one-dimensional random walk (Roberts and Rosenthal 2001)
	// birthInflation widens g_j beyond the population's spread: values outside g's bulk are slow to die.
	birthInflation = 1.2
	priorDraws     = 5   // weight, in draws, of the previous value when a variance is renewed
	priorPairs     = 20  // draws at which a correlation counts half
	momentEvery    = 4   // iterations between looks at the population's moments
	firstWindow    = 24  // iteration of the first renewal; windows double from there
	lastWindow     = .75 // share of burn-in after which only step sizes adapt
)

// jointTarget is the acceptance aimed at by Joint steps in k dimensions: 0.44 at 1, 0.234 in the limit.
func jointTarget(k int) float64 { return 0.234 + (walkTarget-0.234)/float64(max(k, 1)) }

// gain is the Robbins-Monro step at the n-th update, n = 1, 2, ….
func gain(n int) float64 { return math.Pow(float64(n), -0.6) }

func newTuning(dim int, scale float64, joint bool) Tuning {
	t := Tuning{
		BirthMean:  make([]float64, dim),
		BirthSD:    slices.Repeat([]float64{scale}, dim),
		WalkScale:  slices.Repeat([]float64{scale}, dim),
		JointScale: make([]float64, dim+1),
	}
	for k := range t.JointScale {
		t.JointScale[k] = 2.38 / math.Sqrt(float64(max(k, 1)))
	}
	if joint {
		t.JointFactor = make([]float64, dim*dim)
		for j := range dim {
			t.JointFactor[j*dim+j] = scale
		}
	}
	return t
}

func (t Tuning) clone() Tuning {
	return Tuning{
		BirthMean: slices.Clone(t.BirthMean), BirthSD: slices.Clone(t.BirthSD), WalkScale: slices.Clone(t.WalkScale),
		JointScale: slices.Clone(t.JointScale), JointFactor: slices.Clone(t.JointFactor),
	}
}

// adapter renews a Tuning from the population of chains.
type adapter struct {
	tuning *Tuning
	dim    int
	next   int // iteration of the next renewal
	last   int // no renewal after it

	walks, joints rates

	// Moments of the window: count and sums over chains where i and j are both active, entry i*dim+j.
	// The diagonal alone is kept without Joint moves.
	count, sum, square, product []float64
}

func newAdapter(t *Tuning, dim, burnIn int) *adapter {
	size := dim
	if t.JointFactor != nil {
		size = dim * dim
	}
	return &adapter{
		tuning: t, dim: dim, next: firstWindow, last: int(lastWindow * float64(burnIn)),
		walks: newRates(dim), joints: newRates(dim + 1),
		count: make([]float64, size), sum: make([]float64, size), square: make([]float64, size), product: make([]float64, size),
	}
}

// rates collects the acceptance probabilities of one move, by scale index.
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

// adjust moves each scale that was tried towards its target and starts afresh.
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

// endIteration looks at the chains after burn-in iteration t = 1, 2, ….
func (a *adapter) endIteration(t int, mask []bool, theta []float64) {
	a.walks.adjust(a.tuning.WalkScale, func(int) float64 { return walkTarget })
	a.joints.adjust(a.tuning.JointScale, jointTarget)
	if t%momentEvery == 0 {
		a.observe(mask, theta)
	}
	if t != a.next || t > a.last {
		return
	}
	a.renew()
	a.next = 2 * t
	if 2*a.next > a.last { // the rest is too short for two windows
		a.next = a.last
	}
}

func (a *adapter) observe(mask []bool, theta []float64) {
	d := a.dim
	active := make([]int, 0, d)
	for start := 0; start < len(mask); start += d {
		active = active[:0]
		for j, on := range mask[start : start+d] {
			if on {
				active = append(active, j)
			}
		}
		row := theta[start : start+d]
		if a.tuning.JointFactor == nil {
			for _, j := range active {
				a.count[j]++
				a.sum[j] += row[j] - a.tuning.BirthMean[j]
				a.square[j] += (row[j] - a.tuning.BirthMean[j]) * (row[j] - a.tuning.BirthMean[j])
			}
			continue
		}
		for _, i := range active {
			x := row[i] - a.tuning.BirthMean[i] // a shift near the mean keeps the sums accurate
			for _, j := range active {
				at := i*d + j
				a.count[at]++
				a.sum[at] += x
				a.square[at] += x * x
				a.product[at] += x * (row[j] - a.tuning.BirthMean[j])
			}
		}
	}
}

// renew replaces birth proposals and step covariance by the moments of the window, and empties it.
func (a *adapter) renew() {
	d, t := a.dim, a.tuning
	sd := make([]float64, d)
	stride := 1
	if t.JointFactor != nil {
		stride = d + 1
		a.renewFactor(sd)
	}
	for j := range d {
		at := j * stride
		n := a.count[at]
		if n == 0 {
			continue // never active: nothing learnt
		}
		mean := a.sum[at] / n
		variance := max(0, a.square[at]/n-mean*mean)
		old := t.BirthSD[j] / birthInflation
		t.BirthMean[j] += mean * n / (n + priorDraws)
		t.BirthSD[j] = birthInflation * math.Sqrt((n*variance+priorDraws*old*old)/(n+priorDraws))
	}
	for _, s := range [][]float64{a.count, a.sum, a.square, a.product} {
		clear(s)
	}
}

// renewFactor sets L from pairwise correlations within the draws where both coordinates are active,
// shrunk by their number, and marginal spreads. Pairwise estimates need not form a correlation
// matrix; shrinking them towards the identity always ends in one.
func (a *adapter) renewFactor(sd []float64) {
	d, t := a.dim, a.tuning
	correlation := mat.NewSymDense(d, nil)
	for i := range d {
		at := i*d + i
		n := a.count[at]
		old := t.BirthSD[i] / birthInflation
		sd[i] = old
		if n > 0 {
			mean := a.sum[at] / n
			sd[i] = math.Sqrt((max(0, a.square[at]-n*mean*mean) + priorDraws*old*old) / (n + priorDraws))
		}
		correlation.SetSym(i, i, 1)
		for j := range i {
			correlation.SetSym(i, j, a.correlation(i, j))
		}
	}
	var cholesky mat.Cholesky
	for !cholesky.Factorize(correlation) || cholesky.Cond() > 1e8 {
		for i := range d {
			for j := range i {
				correlation.SetSym(i, j, 0.9*correlation.At(i, j))
			}
		}
	}
	var lower mat.TriDense
	cholesky.LTo(&lower)
	for i := range d {
		for j := range i + 1 {
			t.JointFactor[i*d+j] = sd[i] * lower.At(i, j)
		}
	}
}

func (a *adapter) correlation(i, j int) float64 {
	at, ta := i*a.dim+j, j*a.dim+i
	n := a.count[at]
	if n < 2 {
		return 0
	}
	covariance := a.product[at] - a.sum[at]*a.sum[ta]/n
	vi := a.square[at] - a.sum[at]*a.sum[at]/n
	vj := a.square[ta] - a.sum[ta]*a.sum[ta]/n
	if vi <= 0 || vj <= 0 {
		return 0
	}
	r := covariance / math.Sqrt(vi*vj) * n / (n + priorPairs)
	return max(-1, min(1, r))
}

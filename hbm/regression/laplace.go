package regression

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/stream"
)

// laplaceEffects approximates the distribution of all effects v of a regression (see jointEffects)
// whose response is not gaussian, given its hyperparameters h. W is the diagonal matrix of the
// curvatures w_i of −log p(y_i | η_i) in the linear predictor η_i of row i, and
//
//	v | y, h ≈ N(v̂, P⁻¹),   P = Fᵀ Dᵀ W D F + I.
//
// The proposal q(o | h) is the marginal distribution, in this approximation, of the outer effects
// o, the effects of the population and of all groupings but the inner one. The inner effects u are
// then integrated out by quadrature for each level j, so that
//
//	p(y, o | h) = N(o; 0, I) Π_j ∫ Π_{i in j} p(y_i | η_i(o) + a_i u) N(u; 0, I) du,
//
// and a draw has the weight p(y, o | h) / q(o | h), whose mean is p(y | h) for any approximation.
type laplaceEffects struct {
	*jointEffects
	rule       *innerRule // quadrature rule for weights
	coarse     *innerRule // rule with fewer nodes, for the approximation
	constants  float64    // constants in the log densities of the rows
	start      []float64  // effects F v at which the search for v̂ starts: the mode for other h
	first      int        // index of the first inner effect
	inner      int        // the index of the inner grouping
	outside    []bool     // whether each effect is an outer effect
	outer      []int      // indices of the outer effects
	drawnPairs int        // number of pairs of draws for each estimate
	gramFirst  []int      // first index of each pair of blocks among the weighted products
	grams      int
}

func newLaplaceEffects(r *Regression) *laplaceEffects {
	l := &laplaceEffects{jointEffects: r.joint(), rule: newInnerRule(r, quadratureNodes), coarse: newInnerRule(r, coarseNodes)}
	l.outside = l.isOuter()
	l.outer = apply.Where(len(l.outside), func(k int) bool { return l.outside[k] })
	l.constants = r.logConstants()
	l.inner, l.first = slices.Index(r.groups, r.inner), l.innerAt()
	for _, p := range l.pairs {
		l.gramFirst = append(l.gramFirst, l.grams)
		l.grams += len(p.gram)
	}
	all, typical := slices.Repeat([]bool{true}, r.Dim()), make([]float64, r.Dim())
	p := l.proposal(all, typical)
	l.start = p.effectsOf(p.leastSquaresEffects())
	return l.startAtMode(all, typical)
}

// startAtMode returns a copy of l whose searches for modes start at the mode of a model given the
// hyperparameters in θ. This saves steps, because effects that the rows determine well hardly
// depend on hyperparameters.
func (l *laplaceEffects) startAtMode(mask []bool, theta []float64) *laplaceEffects {
	p := l.proposal(mask, theta)
	if !p.climb() {
		return l
	}
	started := *l
	started.start = p.effectsOf(p.centre)
	return &started
}

// coarseNodes holds the numbers of nodes, in each dimension, of rules that only find a proposal, by
// the number of effects of a level.
var coarseNodes = [mostPerLevel + 1]int{1, 5, 4, 3, 2}

// outerProposal is the approximation of laplaceEffects given hyperparameters.
type outerProposal struct {
	*conditional
	response response
	l        *laplaceEffects
	point    *innerPoint
	// logScale is the log density of q(o) at its centre
	logScale float64
}

// proposal returns a proposal whose centre and factor are not set.
func (l *laplaceEffects) proposal(mask []bool, theta []float64) *outerProposal {
	return &outerProposal{conditional: l.prior(mask, theta, l.r.sdsAt(theta)), response: l.r.responseAt(mask, theta), l: l}
}

// approximate returns the Laplace approximation given the hyperparameters in θ, for the model with
// the coordinates in mask. It returns false if double precision does not suffice.
func (l *laplaceEffects) approximate(mask []bool, theta []float64) (*outerProposal, bool) {
	p := l.proposal(mask, theta)
	if !p.climb() {
		return nil, false
	}
	p.point = l.rule.point(p.factors[l.inner], p.response)
	outer := len(l.outer)
	p.logScale = p.factor.LogDetOfLast(outer)/2 - float64(outer)*halfLog2Pi
	return p, true
}

// drawn holds a draw of the outer effects, with its unnormalised log posterior density p(y, o | h)
// and the log density of its proposal.
type drawn struct {
	v          []float64 // all effects [E]; the inner effects only start searches for their modes
	logP, logQ float64
}

// wideOneShare is the share of draws in which the noise of one effect is wideFactor times as wide,
// and wideAllShare the share in which the noise of all effects is wider (see wideAll). An effect
// that the rows bound on one side only, for example if all counts are zero, has a tail that is far
// from normal. Half and twice these constants give the same answers. If all constants in the group
// "hierarchies" of docs/benchmarks/constants.md are halved together, two answers leave out one
// standard deviation.
const (
	wideOneShare = 0.1
	wideAllShare = 0.1
	wideFactor   = 3.0
)

// wideAll returns the factor by which the noise of all outer effects is sometimes widened. It is
// smaller for more effects, because otherwise no wide draw would be near the posterior.
func (l *laplaceEffects) wideAll() float64 {
	return 1 + (wideFactor-1)/math.Sqrt(float64(len(l.outer)))
}

func (l *laplaceEffects) noise(random *rand.Rand) []float64 {
	z := stream.Normals(random, l.effects)
	if len(l.outer) == 0 {
		return z
	}
	switch u := random.Float64(); {
	case u < wideOneShare:
		z[l.outer[random.IntN(len(l.outer))]] *= wideFactor
	case u < wideOneShare+wideAllShare:
		wide := l.wideAll()
		for _, k := range l.outer {
			z[k] *= wide
		}
	}
	return z
}

// logNoise returns the log density of noise z of the d outer effects, without −d/2 log 2π.
func (l *laplaceEffects) logNoise(z []float64) float64 {
	if len(l.outer) == 0 {
		return 0
	}
	squares, one, wide := 0.0, 0.0, l.wideAll()
	for _, k := range l.outer {
		squares += z[k] * z[k]
		one += math.Exp(z[k]*z[k]*(1-1/(wideFactor*wideFactor))/2) / wideFactor
	}
	d := float64(len(l.outer))
	all := squares*(1-1/(wide*wide))/2 - d*math.Log(wide)
	return -squares/2 + logsum.Of([]float64{math.Log(1 - wideOneShare - wideAllShare), math.Log(wideOneShare * one / d), math.Log(wideAllShare) + all})
}

// pair returns the outer effects at noise z and at −z around the centre. The part of the error of
// the approximation that is odd in z cancels in the mean of the two weights.
func (p *outerProposal) pair(z []float64) [2]drawn {
	away := p.factor.Spread(z) // outer effects come last in P: they depend on their own noise only
	logQ := p.logScale + p.l.logNoise(z)
	var pair [2]drawn
	for k, sign := range []float64{1, -1} {
		d := drawn{v: make([]float64, p.l.effects), logQ: logQ}
		for i := range d.v {
			d.v[i] = p.centre[i] + sign*away[i]
		}
		d.logP = p.logPosterior(d.v)
		pair[k] = d
	}
	return pair
}

// logPosterior returns log p(y, o | h) for the outer effects in v. Searches for the modes of the
// inner effects start at the inner effects in v.
func (p *outerProposal) logPosterior(v []float64) float64 {
	l := p.l
	q := l.r.perLevel()
	outer := slices.Clone(v)
	clear(outer[l.first : l.first+l.r.effects(l.r.inner)])
	p.point.eta = p.eta(outer)
	mode := make([]float64, q)
	sum := l.constants
	for level := range l.r.inner.Levels {
		copy(mode, v[l.first+level*q:])
		sum += p.point.integral(level, mode)
	}
	for k, x := range v {
		if l.outside[k] {
			sum -= x*x/2 + halfLog2Pi
		}
	}
	return sum
}

// outerTheta writes outer effects into the coordinates θ of a model.
func (p *outerProposal) outerTheta(v []float64, mask []bool, theta []float64) {
	for j := range p.mean {
		if mask[j] {
			for k := j; k < p.until[j]; k++ {
				theta[k] = p.mean[k] + p.sd[k]*v[j]
			}
		}
	}
	p.l.eachOuter(func(coordinate, effect int) {
		if mask[coordinate] {
			theta[coordinate] = v[effect]
		}
	})
}

// unused returns the log density of the standard normal effects v that the model lacks. The density
// of the proposal has this density as a factor. logScale is the logarithm of the product of the
// prior standard deviations of the population effects in the model.
func (p *outerProposal) unused(v []float64, mask []bool) (logNormal, logScale float64) {
	without := func(x float64) { logNormal -= x*x/2 + halfLog2Pi }
	for j := range p.sd {
		if mask[j] && p.until[j] > j {
			logScale += math.Log(p.l.r.coordinates[j].sd)
		} else {
			without(v[j])
		}
	}
	p.l.eachOuter(func(coordinate, effect int) {
		if !mask[coordinate] {
			without(v[effect])
		}
	})
	return logNormal, logScale
}

// Numbers of pairs of draws of the outer effects at each point of hyperparameters. The number is
// chosen so that the relative variance of their mean weight, estimated from laplacePilot pairs, is
// below laplaceVariance. It is at most laplaceMostPairs. Half and twice these constants give the
// same answers. If all constants in the group "hierarchies" of docs/benchmarks/constants.md are
// halved together, two answers leave out one standard deviation.
const (
	laplaceMostPairs = 8
	laplacePilot     = 48
	laplaceVariance  = 0.2
)

// outerDraws holds the draws of the outer effects at one point of hyperparameters.
type outerDraws struct {
	theta      [][]float64 // coordinates of each draw
	logP, logQ []float64   // log densities, given the hyperparameters, of the other coordinates
	share      []float64   // weight of each draw divided by the sum of the weights
}

// tuneAt returns a copy of l whose searches for modes start at the modes given the hyperparameters
// in θ, and which draws as often as estimates at θ need (see laplaceVariance).
func (l *laplaceEffects) tuneAt(mask []bool, theta []float64, random *rand.Rand) integrator {
	nearby := *l.startAtMode(mask, theta)
	nearby.drawnPairs = laplaceMostPairs
	p, ok := nearby.approximate(mask, theta)
	if !ok {
		return &nearby
	}
	weights := apply.UpTo(laplacePilot, func(int) float64 { return p.logWeight(l.noise(random)) })
	variance := laplacePilot/logsum.Effective(weights) - 1 // relative to the square of the mean
	if pairs := math.Ceil(variance / laplaceVariance); pairs < laplaceMostPairs {
		nearby.drawnPairs = max(1, int(pairs))
	}
	return &nearby
}

func (p *outerProposal) logWeight(z []float64) float64 {
	pair := p.pair(z)
	return logsum.Of([]float64{pair[0].logP - pair[0].logQ, pair[1].logP - pair[1].logQ}) - math.Ln2
}

// logMarginal approximates log p(y, h | m) for the hyperparameters h in θ; it is −Inf if it cannot
// be computed. It uses the same normal numbers at every point, so that it is a smooth function of
// h. It uses the rule with fewer nodes, because only proposals depend on it, not weights.
func (l *laplaceEffects) logMarginal(mask []bool, theta []float64) float64 {
	p, ok := l.approximate(mask, theta)
	if !ok {
		return math.Inf(-1)
	}
	p.point = l.coarse.point(p.factors[l.inner], p.response)
	return p.logWeight(l.noise(stream.Rand(0, "hbm/outer"))) + l.r.logPriorOfHyperparameters(mask, theta)
}

// estimate returns the logarithm of an unbiased estimate of p(y, h | m), from pairs of draws of the
// outer effects.
func (l *laplaceEffects) estimate(mask []bool, theta []float64, random func() *rand.Rand) (float64, keptEffects) {
	p, ok := l.approximate(mask, theta)
	if !ok {
		return math.Inf(-1), keptEffects{}
	}
	var draws outerDraws
	generator := random()
	for range l.drawnPairs {
		for _, d := range p.pair(l.noise(generator)) {
			drawnTheta := slices.Clone(theta)
			p.outerTheta(d.v, mask, drawnTheta)
			logNormal, logScale := p.unused(d.v, mask)
			draws.theta = append(draws.theta, drawnTheta)
			draws.logP, draws.logQ = append(draws.logP, d.logP-logNormal-logScale), append(draws.logQ, d.logQ-logNormal-logScale)
			draws.share = append(draws.share, d.logP-d.logQ)
		}
	}
	total := logsum.Of(draws.share)
	logsum.Shares(draws.share)
	return total - math.Log(float64(len(draws.share))) + l.r.logPriorOfHyperparameters(mask, theta), keptEffects{outer: draws}
}

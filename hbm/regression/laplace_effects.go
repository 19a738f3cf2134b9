package regression

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/likelihood"
)

// laplaceEffects approximates the distribution of all effects v of a regression (see jointEffects)
// whose response is not gaussian, given its hyperparameters h. With w_i the curvatures of −log
// p(y_i) in η_i,
//
//	v | y, h ≈ N(v̂, P⁻¹),   P = Fᵀ Dᵀ W D F + I.
//
// Its marginal distribution of the effects o of the population and of all groupings but the inner
// one is what draws are proposed from: the inner effects are then integrated out by quadrature, so
// that
//
//	p(y, o | h) = N(o; 0, I) Π_j ∫ Π_{i in j} p(y_i | η_i(o) + a_i u) N(u; 0, I) du,
//
// and a draw has the weight p(y, o | h) / q(o | h), whose mean is p(y | h) whatever the
// approximation is. To be near this density rather than that of all effects, v̂ is moved to its
// mode in o, and w_i are curvatures expected over the inner effects.
type laplaceEffects struct {
	*jointEffects
	rule      *innerRule // of weights
	coarse    *innerRule // of the approximation
	constants float64    // of the densities of the rows
	start     []float64  // of the search for v̂: F v at another h
	innerAt   int        // the first of the inner effects
	inner     int        // the index of their grouping
	outside   []bool     // of each effect: whether it is an outer one
	outer     []int      // those that are
	gramFirst []int      // of each pair: its place among the weighted products
	grams     int
}

func newLaplaceEffects(r *Regression) *laplaceEffects {
	l := &laplaceEffects{jointEffects: r.joint(), rule: newInnerRule(r, quadratureNodes), coarse: newInnerRule(r, coarseNodes)}
	l.outside = l.isOuter()
	for k, outer := range l.outside {
		if outer {
			l.outer = append(l.outer, k)
		}
	}
	l.constants = r.logConstants()
	for k, g := range r.groups {
		if g == r.inner {
			l.inner, l.innerAt = k, l.firstOf[k]
		}
	}
	for _, p := range l.pairs {
		l.gramFirst = append(l.gramFirst, l.grams)
		l.grams += len(p.gram)
	}
	all, typical := slices.Repeat([]bool{true}, r.Dim()), make([]float64, r.Dim())
	p := l.proposal(all, typical)
	l.start = p.effectsOf(p.leastSquares())
	return l.from(all, typical)
}

// from is l with searches for modes that start at the mode of a model given the hyperparameters in
// θ: effects that rows know well are much the same for others, and a few steps are saved for each.
func (l *laplaceEffects) from(mask []bool, theta []float64) *laplaceEffects {
	p := l.proposal(mask, theta)
	if !p.climb() {
		return l
	}
	own := *l
	own.start = p.effectsOf(p.centre)
	return &own
}

// leastSquares is the mode that there would be if the response were gaussian on the scale of the
// predictor, with the curvature that each row has where it fits exactly; no effects where that
// cannot be computed. Newton's steps from no effects at all would take a count of a million for a
// predictor of a million.
func (p *outerProposal) leastSquares() []float64 {
	l := p.l
	right, weight := make([]float64, len(l.r.y)), make([]float64, len(l.r.y))
	none := make([]float64, l.effects)
	eta := p.eta(none)
	for i, at := range l.r.linearised(l.r.y, nil) {
		var slope float64
		slope, weight[i] = p.given.NewtonAt(l.r.y[i], at, p.given.sigma)
		right[i] = slope + weight[i]*(at-eta[i])
	}
	for i, t := range l.r.times {
		right[i], weight[i] = t*right[i], t*weight[i]
	}
	if !p.factorize(weight) {
		return none
	}
	return p.factor.Solve(p.gradient(right, none))
}

// coarseNodes are those of rules that only find where to draw from.
var coarseNodes = []int{1, 5, 4, 3}

// outerProposal is the approximation given hyperparameters.
type outerProposal struct {
	*conditional
	given  response
	l      *laplaceEffects
	point  *innerPoint
	values []float64 // of P
	// logScale is the log density of q(o) at its centre
	logScale float64
}

// proposal is one that is still to be found.
func (l *laplaceEffects) proposal(mask []bool, theta []float64) *outerProposal {
	return &outerProposal{conditional: l.prior(mask, theta), given: l.r.responseAt(mask, theta), l: l}
}

// newtonSteps bounds the steps to the mode of all effects, and outerSteps those from there to the
// mode of the outer ones; a step of less than closeSquare, or closeOuter, squared distances in
// posterior standard deviations, is the last. farthestStart bounds standard effects where a search
// starts, and longestClimb what a careful step changes a linear predictor by. Chosen by hand:
// weights make up for the rest, and what a step of Newton leaves of a short way is about its
// square.
const (
	newtonSteps   = 60
	outerSteps    = 4
	closeSquare   = 0.05
	closeOuter    = 1e-3
	farthestStart = 4
	longestClimb  = 3
)

// given returns the approximation at the hyperparameters in θ of the model that uses the
// coordinates in mask, with the Laplace approximation of log p(y | h, m); false where it cannot be
// computed in double precision.
func (l *laplaceEffects) given(mask []bool, theta []float64) (*outerProposal, bool) {
	p := l.proposal(mask, theta)
	if !p.climb() || !p.moveOuter() {
		return nil, false
	}
	return p, true
}

// climb takes the centre near the mode of all effects: from a mode nearby, and where that fails, as
// it may where rows take effects many standard deviations from their prior, from least squares.
// Where rows contradict each other that is no better, and steps go from the prior, no longer than
// rows can follow: the density is log-concave, so that they arrive.
func (p *outerProposal) climb() bool {
	start := p.standard(p.l.start)
	for k, v := range start {
		start[k] = math.Min(math.Max(v, -farthestStart), farthestStart)
	}
	return p.climbFrom(start, math.Inf(1)) || p.climbFrom(p.leastSquares(), math.Inf(1)) ||
		p.climbFrom(make([]float64, p.l.effects), longestClimb)
}

// climbFrom is climb from one place, which is overwritten, by steps that change no predictor by
// more than longest.
func (p *outerProposal) climbFrom(start []float64, longest float64) bool {
	l, r := p.l, p.l.r
	var eta []float64
	value := func(v []float64) float64 {
		eta = p.eta(v)
		sum := likelihood.LogKernels(p.given.Row, r.y, r.times, eta, p.given.sigma)
		for _, x := range v {
			sum -= x * x / 2
		}
		return sum
	}
	p.centre = start
	best := value(p.centre)
	if !(best > math.Inf(-1)) {
		p.centre = make([]float64, l.effects)
		best = value(p.centre)
	}
	slope, curvature, trial := make([]float64, len(r.y)), make([]float64, len(r.y)), make([]float64, l.effects)
	for range newtonSteps {
		likelihood.Newtons(p.given.Row, r.y, r.times, eta, p.given.sigma, slope, curvature)
		if !p.factorize(curvature) {
			return false
		}
		gradient := p.gradient(slope, p.centre)
		step := p.factor.Solve(gradient)
		decrement := dot(step, gradient)
		if math.IsNaN(decrement) {
			return false
		}
		first := 1.0
		if !math.IsInf(longest, 1) {
			for k := range trial {
				trial[k] = p.centre[k] + step[k]
			}
			first = math.Min(1, longest/floats.Distance(eta, p.eta(trial), math.Inf(1)))
		}
		for share := first; ; share /= 2 {
			if share < 1e-6*first {
				return decrement < closeSquare
			}
			for k := range trial {
				trial[k] = p.centre[k] + share*step[k]
			}
			if at := value(trial); at >= best+1e-4*share*decrement {
				p.centre, trial, best = trial, p.centre, at
				break
			}
		}
		if decrement < closeSquare {
			break
		}
	}
	return true
}

// eta are the linear predictors at effects v.
func (p *outerProposal) eta(v []float64) []float64 {
	eta := p.predictor(p.effectsOf(v))
	for i, offset := range p.l.r.offset {
		eta[i] += offset
	}
	return eta
}

// gradient is that of Σ log p(y_i | η_i) − |v|²/2 from slopes in η.
func (p *outerProposal) gradient(slope, v []float64) []float64 {
	right := make([]float64, p.l.effects)
	for i, blocks := range p.l.rows {
		for k, b := range blocks {
			first := p.l.jointEffects.blocks[b].first
			for a, z := range p.l.designs[i][k] {
				right[first+a] += z * slope[i]
			}
		}
	}
	gradient := p.transposed(right)
	for k := range gradient {
		gradient[k] -= v[k]
	}
	return gradient
}

// factorize sets P and its factor for weights of rows.
func (p *outerProposal) factorize(weight []float64) bool {
	l := p.l
	grams := make([]float64, l.grams)
	for i, designs := range l.designs {
		pairs := l.rowPairs[i]
		for k, x := range designs {
			for _, z := range designs[:k+1] {
				gram := grams[l.gramFirst[pairs[0]]:]
				if pairs = pairs[1:]; len(x) == 1 && len(z) == 1 {
					gram[0] += weight[i] * x[0] * z[0]
				} else {
					addProduct(gram, x, z, weight[i])
				}
			}
		}
	}
	p.values = make([]float64, l.values)
	var work []float64
	for k, pair := range l.pairs {
		pair.gram = grams[l.gramFirst[k]:][:len(pair.gram)]
		work = p.precision(pair, 1, p.values[pair.first:], work)
	}
	var ok bool
	p.factor, ok = l.symbolic.Factorize(p.values)
	return ok
}

// moveOuter moves the centre to the mode of the outer effects, takes P there, and finds the Laplace
// approximation of log p(y | h).
func (p *outerProposal) moveOuter() bool {
	l, r := p.l, p.l.r
	q, n := len(r.inner.Columns), len(r.y)
	point := l.coarse.point(p.factors[l.inner], p.given)
	mode := make([]float64, q)
	slope, curvature := make([]float64, n), make([]float64, n)
	best, bestAt := math.Inf(-1), p.centre
	bestFactor, bestValues := p.factor, p.values
	for step := range outerSteps {
		point.eta = p.eta(l.outerOf(p.centre))
		clear(slope)
		clear(curvature)
		value := l.constants
		for level := range r.inner.Levels {
			copy(mode, p.centre[l.innerAt+level*q:])
			value += point.expected(level, mode, slope, curvature)
		}
		for k, v := range p.centre {
			if l.outside[k] {
				value -= v * v / 2
			}
		}
		if !(value > best) {
			break
		}
		if !p.factorize(curvature) {
			break
		}
		best, bestAt, bestFactor, bestValues = value, p.centre, p.factor, p.values
		gradient := p.gradient(slope, p.centre)
		for k := range gradient {
			if !l.outside[k] {
				gradient[k] = 0
			}
		}
		move := p.factor.Solve(gradient)
		if dot(move, gradient) < closeOuter || step == outerSteps-1 {
			break
		}
		next := make([]float64, len(p.centre))
		for k := range next {
			next[k] = p.centre[k] + move[k]
		}
		p.centre = next
	}
	if math.IsInf(best, -1) {
		return false
	}
	p.centre, p.factor, p.values = bestAt, bestFactor, bestValues
	p.point = l.rule.point(p.factors[l.inner], p.given)
	innerDet := 0.0
	for _, pair := range l.pairs {
		if block := l.jointEffects.blocks[pair.i]; pair.i == pair.j && block.group == l.inner {
			var b smallBlock
			copy(b[:], p.values[pair.first:pair.first+q*(q+1)/2])
			logDiagonal, ok := b.factorize(q)
			if !ok {
				return false
			}
			innerDet += 2 * logDiagonal
		}
	}
	outer := float64(len(l.outer))
	p.logScale = (p.factor.LogDet()-innerDet)/2 - outer*halfLog2Pi
	p.logDensity = best - outer*halfLog2Pi - p.logScale
	return true
}

// outerOf is v without the inner effects.
func (l *laplaceEffects) outerOf(v []float64) []float64 {
	outer := slices.Clone(v)
	clear(outer[l.innerAt : l.innerAt+l.r.inner.effects()])
	return outer
}

// drawn are outer effects, with their log densities given h: under the posterior, unnormalised, and
// under the proposal.
type drawn struct {
	v          []float64 // [E], inner effects as the proposal has them
	logP, logQ float64
}

// Shares of draws with wider noise: of one effect, wideFactor times as wide, and of all of them. An
// effect that the rows bound on one side only, as where all counts are zero, has a tail that is far
// from normal. Chosen by hand.
const (
	wideOneShare = 0.1
	wideAllShare = 0.1
	wideFactor   = 3.0
)

// wideAll is how much wider noise of all outer effects is: the less the more there are, or no draw
// would be near the posterior.
func (l *laplaceEffects) wideAll() float64 {
	return 1 + (wideFactor-1)/math.Sqrt(float64(len(l.outer)))
}

// noise draws the noise of all effects.
func (l *laplaceEffects) noise(random *rand.Rand) []float64 {
	z := make([]float64, l.effects)
	for k := range z {
		z[k] = random.NormFloat64()
	}
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

// logNoise is the log density of noise of the outer effects less −d/2 log 2π.
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

// pair are the two sets of outer effects that noise puts opposite to each other around the centre:
// the odd part of what the approximation misses cancels in the mean of their weights.
func (p *outerProposal) pair(z []float64) [2]drawn {
	away := p.factor.Spread(z) // of outer effects by their noise alone, as they come last in P
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

// logPosterior is log p(y, o | h) for the outer effects in v; its inner effects are where modes are
// searched for from.
func (p *outerProposal) logPosterior(v []float64) float64 {
	l := p.l
	q := len(l.r.inner.Columns)
	p.point.eta = p.eta(l.outerOf(v))
	mode := make([]float64, q)
	sum := l.constants
	for level := range l.r.inner.Levels {
		copy(mode, v[l.innerAt+level*q:])
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
	r := p.l.r
	for j := range r.Frame.Columns {
		if mask[j] {
			theta[j] = p.mean[j] + p.sd[j]*v[j]
		}
	}
	for k, g := range r.groups {
		if g.first < 0 {
			continue
		}
		q, levels := len(g.Columns), len(g.Levels)
		for c := range q {
			for level := range levels {
				if at := g.first + c*levels + level; mask[at] {
					theta[at] = v[p.l.firstOf[k]+level*q+c]
				}
			}
		}
	}
}

// unused is the part of the log density of standard normal effects v, and of the proposal, that
// belongs to effects which the model does not have, and the logarithm of the scale of those of the
// population that it has.
func (p *outerProposal) unused(v []float64, mask []bool) (logNormal, logScale float64) {
	r := p.l.r
	without := func(x float64) { logNormal -= x*x/2 + halfLog2Pi }
	for j := range r.Frame.Columns {
		if mask[j] {
			logScale += math.Log(p.sd[j])
		} else {
			without(v[j])
		}
	}
	for k, g := range r.groups {
		if g.first < 0 {
			continue
		}
		q, levels := len(g.Columns), len(g.Levels)
		for c := range q {
			for level := range levels {
				if !mask[g.first+c*levels+level] {
					without(v[p.l.firstOf[k]+level*q+c])
				}
			}
		}
	}
	return logNormal, logScale
}

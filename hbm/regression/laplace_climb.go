package regression

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// leastSquaresEffects returns the mode that the effects would have if every row were gaussian on
// the scale of the predictor, with the curvature that its log density has at an exact fit. It
// returns zero effects if the mode cannot be computed. From zero effects, a Newton step would move
// the predictor of a count of a million to about a million.
func (p *outerProposal) leastSquaresEffects() []float64 {
	l := p.l
	if l.r.unordered != nil {
		return make([]float64, l.effects) // log densities have bounded slopes: the mode is not far from zero
	}
	right, weight := make([]float64, len(l.r.y)), make([]float64, len(l.r.y))
	none := make([]float64, l.effects)
	eta := p.eta(none)
	for i, y := range l.r.y {
		predictor := l.r.linearised(y)
		var slope float64
		slope, weight[i] = p.response.NewtonAt(y, predictor, p.response.sigma)
		right[i] = slope + weight[i]*(predictor-eta[i])
	}
	for i, t := range l.r.times {
		right[i], weight[i] = t*right[i], t*weight[i]
	}
	if !p.factorize(weight) {
		return none
	}
	return p.factor.Solve(p.gradient(right, none))
}

// newtonSteps bounds the steps to the mode of all effects, and outerSteps the steps from there to
// the mode of the outer effects. A step with a squared length, in posterior standard deviations,
// below closeSquare or closeOuter is the last. farthestStart bounds the absolute values of standard
// effects at the start of a search. longestClimb bounds the change of a linear predictor in a
// careful step. A short Newton step leaves an error of about the square of its length, which
// weights correct.
const (
	newtonSteps   = 60
	outerSteps    = 4
	closeSquare   = 0.05
	closeOuter    = 1e-2
	farthestStart = 4
	longestClimb  = 3
)

// climb moves the centre near the mode of all effects. A first search starts at the mode for other
// hyperparameters (laplaceEffects.start). It may fail if the data move effects many standard
// deviations from their prior mean; then a second search starts at leastSquaresEffects. If rows
// contradict each other this search may fail too, and a third search starts at the prior, with
// bounded steps. It finds the mode, because the density is log-concave.
func (p *outerProposal) climb() bool {
	start := p.standard(p.l.start)
	for k, v := range start {
		start[k] = math.Min(math.Max(v, -farthestStart), farthestStart)
	}
	return p.climbFrom(start, math.Inf(1)) || p.climbFrom(p.leastSquaresEffects(), math.Inf(1)) ||
		p.climbFrom(make([]float64, p.l.effects), longestClimb)
}

// climbFrom searches the mode from start, which it overwrites. Steps change predictors by at most
// longest.
func (p *outerProposal) climbFrom(start []float64, longest float64) bool {
	l, r := p.l, p.l.r
	var eta []float64
	value := func(v []float64) float64 {
		eta = p.eta(v)
		sum := p.response.logKernels(r.y, r.times, eta)
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
	slope, curvature, trial := make([]float64, r.planes*len(r.y)), make([]float64, r.curvatures()*len(r.y)), make([]float64, l.effects)
	for range newtonSteps {
		p.response.newtons(r.y, r.times, eta, slope, curvature)
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
			if reached := value(trial); reached >= best+1e-4*share*decrement {
				p.centre, trial, best = trial, p.centre, reached
				break
			}
		}
		if decrement < closeSquare {
			break
		}
	}
	return true
}

// eta returns the linear predictors at effects v.
func (p *outerProposal) eta(v []float64) []float64 { return p.predictor(p.effectsOf(v)) }

// gradient returns the gradient in v of Σ_i log p(y_i | η_i) − |v|²/2, from the slopes of the rows
// in η.
func (p *outerProposal) gradient(slope, v []float64) []float64 {
	gradient := p.transposed(p.l.productsWith(slope))
	for k := range gradient {
		gradient[k] -= v[k]
	}
	return gradient
}

// factorize sets P and its factor for the curvatures of the rows. It returns false if P has no
// factor.
func (p *outerProposal) factorize(weight []float64) bool {
	l := p.l
	n, planes := len(l.designs), l.r.planes
	grams := make([]float64, l.grams)
	for i, designs := range l.designs {
		pairs := l.rowPairs[i]
		for k, x := range designs {
			for m, z := range designs[:k+1] {
				for plane := range planes {
					last := planes
					if k == m {
						last = plane + 1
					}
					for other := range last {
						curvature, gram := weight[curvatureOf(plane, other)*n+i], grams[l.gramFirst[pairs[0]]:]
						if pairs = pairs[1:]; len(x) == 1 && len(z) == 1 {
							gram[0] += curvature * x[0] * z[0]
						} else {
							addProduct(gram, x, z, curvature)
						}
					}
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

// moveOuter moves the centre to the mode of the outer effects, computes P at this mode, and finds
// the Laplace approximation of log p(y | h).
func (p *outerProposal) moveOuter() bool {
	l, r := p.l, p.l.r
	q, n := r.perLevel(), len(r.y)
	point := l.coarse.point(p.factors[l.inner], p.response)
	mode := make([]float64, q)
	slope, curvature := make([]float64, r.planes*n), make([]float64, r.curvatures()*n)
	best, bestAt := math.Inf(-1), p.centre
	bestFactor, bestValues := p.factor, p.values
	for step := range outerSteps {
		point.eta = p.eta(l.outerOf(p.centre))
		clear(slope)
		clear(curvature)
		value := l.constants
		for level := range r.inner.Levels {
			copy(mode, p.centre[l.first+level*q:])
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
	p.point = l.rule.point(p.factors[l.inner], p.response)
	innerDet := 0.0
	for _, pairs := range l.levels {
		b := p.levelBlock(pairs)
		logDiagonal, ok := b.factorize(q)
		if !ok {
			return false
		}
		innerDet += 2 * logDiagonal
	}
	outer := float64(len(l.outer))
	p.logScale = (p.factor.LogDet()-innerDet)/2 - outer*halfLog2Pi
	p.logDensity = best - outer*halfLog2Pi - p.logScale
	return true
}

// levelBlock returns the block of P of the effects of a level, from the pairs of its planes.
func (p *outerProposal) levelBlock(pairs []levelPair) (b smallBlock) {
	q := len(p.l.r.inner.Columns)
	for _, pair := range pairs {
		values := p.values[pair.first:]
		for a := range q {
			for c := range q {
				if pair.plane == pair.other && c > a {
					break
				}
				*b.at(pair.plane*q+a, pair.other*q+c) = values[0]
				values = values[1:]
			}
		}
	}
	return b
}

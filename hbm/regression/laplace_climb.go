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

// newtonSteps bounds the steps to the mode of all effects. A step with a squared length, in
// posterior standard deviations, below closeSquare is the last. farthestStart bounds the absolute
// values of standard effects at the start of a search. longestClimb bounds the change of a linear
// predictor in a careful step. A short Newton step leaves an error of about the square of its
// length, which weights correct.
const (
	newtonSteps   = 60
	closeSquare   = 0.05
	farthestStart = 4
	longestClimb  = 3
)

// climb moves the centre near the mode of all effects. A first search starts at the mode for other
// hyperparameters (laplaceEffects.start). It may fail if the data move effects many standard
// deviations from their prior mean; then a second search starts at leastSquaresEffects. If rows
// contradict each other this search may fail too, and a third search starts at the prior, with
// bounded steps. This search finds the mode, because the density is log-concave.
func (p *outerProposal) climb() bool {
	start := p.standard(p.l.start)
	for k, v := range start {
		start[k] = math.Min(math.Max(v, -farthestStart), farthestStart)
	}
	return p.climbFrom(start, math.Inf(1)) || p.climbFrom(p.leastSquaresEffects(), math.Inf(1)) ||
		p.climbFrom(make([]float64, p.l.effects), longestClimb)
}

// climbFrom searches the mode from start, which it overwrites. Steps change predictors by at most
// the argument longest.
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
			floats.AddTo(trial, p.centre, step)
			first = math.Min(1, longest/floats.Distance(eta, p.eta(trial), math.Inf(1)))
		}
		for share := first; ; share /= 2 {
			if share < 1e-6*first {
				return decrement < closeSquare
			}
			floats.AddScaledTo(trial, p.centre, share, step)
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

// eta returns the linear predictors at standardised effects v.
func (p *outerProposal) eta(v []float64) []float64 { return p.predictor(p.effectsOf(v)) }

// gradient returns the gradient in v of Σ_i log p(y_i | η_i) − |v|²/2, from the slopes of the rows
// in η.
func (p *outerProposal) gradient(slope, v []float64) []float64 {
	gradient := p.transposed(p.l.productsWith(slope))
	floats.Sub(gradient, v)
	return gradient
}

// factorize sets P and its Cholesky factor, given the curvatures of the rows. It returns false if P
// is not positive definite.
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
	values := make([]float64, l.values)
	var work []float64
	for k, pair := range l.pairs {
		pair.gram = grams[l.gramFirst[k]:][:len(pair.gram)]
		work = p.precision(pair, 1, values[pair.first:], work)
	}
	var ok bool
	p.factor, ok = l.symbolic.Factorize(values)
	return ok
}

package regression

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/dense"
	"github.com/transdim/vti/internal/distinct"
	"github.com/transdim/vti/internal/logsum"
)

// innerRule integrates out the effects of the inner grouping, the grouping with the most effects,
// on the host and level by level. It uses the adaptive Gauss-Hermite rules of quadratureRows.
type innerRule struct {
	r       *Regression
	members [][]int     // rows of each level
	largest int         // the largest number of rows of a level
	y       [][]float64 // responses of these rows
	times   [][]float64 // number of rows for which each row stands; nil if always 1
	rules   [mostPerLevel + 1]nodeRule
}

// nodeRule holds the nodes and weights of a rule for some number of effects; see hermiteRule.
type nodeRule struct {
	nodes  [][]float64
	weight []float64
}

func newInnerRule(r *Regression, nodes [mostPerLevel + 1]int) *innerRule {
	l := &innerRule{r: r, members: r.innerRows()}
	for _, rows := range l.members {
		l.y, l.times, l.largest = append(l.y, distinct.At(r.y, rows)), append(l.times, distinct.At(r.times, rows)), max(l.largest, len(rows))
	}
	for q := range r.perLevel() + 1 {
		l.rules[q].nodes, l.rules[q].weight = hermiteRule(q, nodes[q])
	}
	return l
}

// innerPoint holds values on which the integrals over the inner effects depend: the predictors of
// the rows without the inner effects, and the change of a predictor by a unit of each inner effect.
type innerPoint struct {
	*innerRule
	nodeRule
	active   []int     // indices of the effects of a level that change a predictor; only these are integrated
	eta      []float64 // [M·n] predictors without the inner effects
	unit     []float64 // [n, q] change by a unit of each effect, the same in every plane
	response response
	memory   []float64   // working memory for the predictors of a level, at every node
	slope    []float64   // working memory for slopes
	curve    []float64   // working memory for curvatures
	hessian  []float64   // working memory for the curvature of a level
	terms    []float64   // working memory for the terms of the rule
	u        [][]float64 // working memory for the nodes of the rule
}

// point returns an innerPoint with a response and Λ, the rows of factor. The caller sets eta.
func (l *innerRule) point(factor [][]float64, response response) *innerPoint {
	q, n := len(factor), len(l.r.y)
	p := &innerPoint{innerRule: l, unit: make([]float64, n*q), response: response}
	p.active = apply.Where(l.r.perLevel(), func(k int) bool {
		return slices.ContainsFunc(factor[k%q:], func(row []float64) bool { return row[k%q] != 0 })
	})
	p.nodeRule = l.rules[len(p.active)]
	p.memory, p.terms = make([]float64, l.r.planes*l.largest*len(p.nodes)), make([]float64, len(p.nodes))
	p.slope, p.curve = make([]float64, l.r.planes*l.largest), make([]float64, l.r.curvatures()*l.largest)
	p.hessian = make([]float64, mostPerLevel*mostPerLevel)
	for i := range n {
		z := l.r.inner.z.RawRowView(i)
		for c := range q {
			for a := c; a < q; a++ {
				p.unit[i*q+c] += z[a] * factor[a][c]
			}
		}
	}
	p.u = apply.UpTo(len(p.nodes), func(int) []float64 { return make([]float64, l.r.perLevel()) })
	return p
}

// pointAt returns the innerPoint at population and outer effects, given less their prior mean.
func (l *innerRule) pointAt(prior *conditional, effects []float64, response response) *innerPoint {
	p := l.point(prior.factors[slices.Index(l.r.groups, l.r.inner)], response)
	p.eta = prior.predictor(effects)
	return p
}

// logDensity returns log p(y | θ) with the inner effects integrated out, without the constants in
// the density of the response.
func (l *innerRule) logDensity(mask []bool, theta []float64) (sum float64) {
	prior, _, effects := l.r.joint().effectsAt(mask, theta)
	p := l.pointAt(prior, effects, l.r.responseAt(mask, theta))
	for level := range l.members {
		sum += p.integral(level, p.start(level))
	}
	return sum
}

// newtons writes the slope and the curvature of the log density of each row of a level in its
// linear predictor. If far is true, or the response is continuous, with a density that is not
// log-concave, the curvature is the curvature of a quadratic bound.
func (p *innerPoint) newtons(level int, far bool, eta, slope, curvature []float64) {
	y, times := p.y[level], p.times[level]
	if !far && !p.r.Frame.Response.Continuous() {
		p.response.newtons(y, times, eta, slope, curvature)
		return
	}
	for i := range y {
		slope[i], curvature[i] = p.response.BoundAt(y[i], eta[i], p.response.sigma)
	}
	for i, t := range times {
		slope[i], curvature[i] = t*slope[i], t*curvature[i]
	}
}

// mostPerLevel is the largest number of effects of a level that are integrated out: the number of
// nodes of a rule is exponential in it.
const mostPerLevel = 4

// identity returns the identity matrix [q·q] in the working memory of the curvature.
func (p *innerPoint) identity(q int) []float64 {
	hessian := p.hessian[:q*q]
	clear(hessian)
	for c := range q {
		hessian[c*q+c] = 1
	}
	return hessian
}

// closeMode is the distance from the mode, in posterior standard deviations, at which the search
// for the mode ends and nodes are laid around the point that was found. Nodes around a point at
// this distance are as good as nodes around the mode. mostModeSteps bounds the steps of the search.
// Half and twice these constants give the same answers. If all constants in the group "hierarchies"
// of docs/benchmarks/constants.md are halved together, two answers leave out one standard
// deviation.
const (
	closeMode     = 0.02
	mostModeSteps = 300
)

// start returns the start of the search for the mode of the effects u of a level: zero, or least
// squares on the scale of the predictor if this gives effects many standard deviations from zero.
// For example, if at zero the expected count is e³⁰⁰ times too large, each step of a search from
// zero changes the predictor by only one unit.
func (p *innerPoint) start(level int) []float64 {
	r, q := p.r, len(p.r.inner.Columns)
	start := make([]float64, r.perLevel())
	if r.Frame.Response.Continuous() || r.unordered != nil {
		return start
	}
	hessian := p.identity(q)
	for k, i := range p.members[level] {
		eta, times := r.linearised(r.y[i]), 1.0
		if p.times[level] != nil {
			times = p.times[level][k]
		}
		slope, weight := p.response.NewtonAt(r.y[i], eta, p.response.sigma)
		unit := p.unit[i*q:][:q]
		for a, x := range unit {
			start[a] += times * x * (slope + weight*(eta-p.eta[i]))
			for b, z := range unit[:a+1] {
				hessian[a*q+b] += times * weight * x * z
			}
		}
	}
	factor, ok := dense.Factorize(hessian, q, 0)
	if !ok {
		return make([]float64, q)
	}
	factor.Solve(start)
	if !r.Frame.Response.HasUnit() && !(floats.Norm(start, math.Inf(1)) > farthestStart) {
		clear(start)
	}
	return start
}

// predictors writes the linear predictors of the rows of a level at effects u to dst.
func (p *innerPoint) predictors(rows []int, u, dst []float64) []float64 {
	n, planes := len(p.r.y), p.r.planes
	q := len(u) / planes
	dst = dst[:planes*len(rows)]
	for m := range planes {
		predictor, beside, effects := dst[m*len(rows):][:len(rows)], p.eta[m*n:][:n], u[m*q:][:q]
		for k, i := range rows {
			sum := beside[i]
			for c, x := range effects {
				sum += p.unit[i*q+c] * x
			}
			predictor[k] = sum
		}
	}
	return dst
}

// climb moves the effects of a level, mode [q], to their posterior mode. It returns the factor L of
// the precision at the mode, which is valid until the next call; ok is false if it finds no mode.
func (p *innerPoint) climb(level int, mode []float64) (factor dense.Factor, ok bool) {
	rows, q, planes := p.members[level], len(mode), p.r.planes
	columns := q / planes
	// The log density of a time far below its mean is nearly linear: a Newton step from there ends
	// far above the mode, and each step back is only 1/shape long.
	far := p.r.Frame.Response.HasUnit()
	for step := 0; ; step++ {
		var move [mostPerLevel]float64
		hessian := p.identity(q)
		for c := range q {
			move[c] = -mode[c]
		}
		slope, curvature := p.slope[:planes*len(rows)], p.curve[:p.r.curvatures()*len(rows)]
		p.newtons(level, far, p.predictors(rows, mode, p.memory), slope, curvature)
		for m := range planes {
			for other := range m + 1 {
				slopes, curve := slope[m*len(rows):], curvature[curvatureOf(m, other)*len(rows):]
				for k, i := range rows {
					unit := p.unit[i*columns:][:columns]
					for a, x := range unit {
						beside, row := unit, hessian[(m*columns+a)*q+other*columns:]
						if other == m {
							move[m*columns+a] += slopes[k] * x
							beside = unit[:a+1]
						}
						curved := curve[k] * x
						for b, z := range beside {
							row[b] += curved * z
						}
					}
				}
			}
		}
		if factor, ok = dense.Factorize(hessian, q, 0); !ok {
			return factor, false
		}
		factor.SolveLower(move[:q])
		decrement := dot(move[:q], move[:q])
		factor.SolveUpper(move[:q])
		if nearMode := decrement < closeMode*closeMode; nearMode && far {
			far = false
			continue
		} else if nearMode || step == mostModeSteps {
			return factor, true
		}
		largest := 0.0
		for _, i := range rows {
			for m := range planes {
				largest = math.Max(largest, math.Abs(dot(p.unit[i*columns:][:columns], move[m*columns:])))
			}
		}
		share := math.Min(1, longestClimb/largest) // no predictor changes by more than longestClimb
		for c := range q {
			mode[c] += share * move[c]
		}
	}
}

// integral returns log ∫ Π_i p(y_i | η_i + a_i u) N(u; 0, I) du, without the constants in the
// density of the response. The product is over the rows i of a level, η_i is the predictor without
// the effects u of the level, and a_i the change of the predictor by a unit of each effect. The
// search for the mode starts at mode [q], which it overwrites.
func (p *innerPoint) integral(level int, mode []float64) float64 {
	rows, planes := p.members[level], p.r.planes
	factor, ok := p.climb(level, mode)
	if !ok {
		return math.NaN()
	}
	sets := p.memory[:planes*len(rows)*len(p.nodes)]
	for k, t := range p.nodes {
		u := p.u[k]
		clear(u)
		for k, c := range p.active {
			u[c] = math.Sqrt2 * t[k]
		}
		factor.SolveUpper(u)
		for _, c := range p.active {
			u[c] += mode[c]
		}
		p.predictors(rows, u, sets[k*planes*len(rows):])
	}
	p.response.logKernelSums(p.y[level], p.times[level], sets, p.terms)
	for k, u := range p.u {
		p.terms[k] += p.weight[k] - dot(u, u)/2
	}
	// The scale of u in t is √2^q / |L|, the normal density of u has (2π)^(−q/2).
	return logsum.Of(p.terms) - factor.LogDet()/2 + float64(len(p.active))*(math.Ln2/2-halfLog2Pi)
}

// effectCandidates is the number of normal draws from which the method draw picks the effects of a
// level. effectStretch is the width of their distribution, relative to the normal approximation at
// the mode: a larger width bounds weights in the tails.
const (
	effectCandidates = 16
	effectStretch    = 1.2
)

// draw draws the effects of a level given all other quantities: it picks, by weight, one of several
// draws from a normal distribution around the mode.
func (p *innerPoint) draw(level int, random *rand.Rand) (u []float64) {
	mode := p.start(level)
	factor, ok := p.climb(level, mode)
	best := math.Inf(-1)
	if !ok {
		return mode
	}
	rows, z := p.members[level], make([]float64, len(mode))
	for range effectCandidates {
		candidate := make([]float64, len(mode))
		for c := range z {
			z[c] = random.NormFloat64()
			candidate[c] = effectStretch * z[c]
		}
		factor.SolveUpper(candidate)
		floats.Add(candidate, mode)
		value := p.response.logKernels(p.y[level], p.times[level], p.predictors(rows, candidate, p.memory)) + (dot(z, z)-dot(candidate, candidate))/2
		// the largest sum of log weight and Gumbel noise gives a draw in proportion to weight
		if value -= math.Log(random.ExpFloat64()); value > best {
			best, u = value, candidate
		}
	}
	if u == nil {
		return mode
	}
	return u
}

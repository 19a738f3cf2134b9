package regression

import (
	"slices"
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
	rule       *innerRule // of weights
	coarse     *innerRule // of the approximation
	constants  float64    // of the densities of the rows
	start      []float64  // of the search for v̂: F v at another h
	first      int        // the first of the inner effects
	inner      int        // the index of their grouping
	outside    []bool     // of each effect: whether it is an outer one
	outer      []int      // those that are
	drawnPairs int        // of draws for each estimate
	gramFirst  []int      // of each pair: its place among the weighted products
	grams      int
	levels     [][]levelPair // of each level of the inner grouping: the pairs of its planes
}

// levelPair is a pair of two planes of a level of the inner grouping, and the place of the first of
// its values among those of P.
type levelPair struct{ plane, other, first int }

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
			l.inner, l.first = k, l.firstOf[k]
		}
	}
	for _, p := range l.pairs {
		l.gramFirst = append(l.gramFirst, l.grams)
		l.grams += len(p.gram)
	}
	l.levels = l.levelPairs()
	all, typical := slices.Repeat([]bool{true}, r.Dim()), make([]float64, r.Dim())
	p := l.proposal(all, typical)
	l.start = p.effectsOf(p.leastSquares())
	return l.from(all, typical)
}

// levelPairs lists the pairs of planes of each level of the inner grouping.
func (l *laplaceEffects) levelPairs() (list [][]levelPair) {
	size, planes := len(l.r.inner.Columns), l.r.planes
	place := map[int]int{} // of a level in the list
	for _, p := range l.pairs {
		i, j := l.blocks[p.i], l.blocks[p.j]
		if i.group != l.inner || j.group != l.inner {
			continue
		}
		block, other := (i.first-l.first)/size, (j.first-l.first)/size
		level := block / planes
		if _, ok := place[level]; !ok {
			place[level] = len(list)
			list = append(list, nil)
		}
		at := place[level]
		list[at] = append(list[at], levelPair{block % planes, other % planes, p.first})
	}
	return list
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

// coarseNodes are those of rules that only find where to draw from.
var coarseNodes = [mostPerLevel + 1]int{1, 5, 4, 3, 2}

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

// outerOf is v without the inner effects.
func (l *laplaceEffects) outerOf(v []float64) []float64 {
	outer := slices.Clone(v)
	clear(outer[l.first : l.first+l.r.effects(l.r.inner)])
	return outer
}

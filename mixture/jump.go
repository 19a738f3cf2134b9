package mixture

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/transdim/vti/internal/apply"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/pick"
	"github.com/transdim/vti/internal/stream"
)

// chain is a reversible-jump sampler of states. Its moves between numbers of components follow
// Richardson and Green (1997, section 3.2). The likelihood in the acceptance ratio sums over the
// component of each row, so that no allocation of rows to components is proposed. Only the Gibbs
// steps, at a given number of components, draw allocations, and then forget them.
type chain struct {
	p      *Problem
	random *rand.Rand
	state  state
	// density[i] is p(y_i | state), a sum over components, and part[j][i] is its term of component
	// j.
	density []float64
	part    [][]float64
	logLik  float64
	// rows is a buffer of the Gibbs steps for the rows of each component.
	rows     [][]int
	proposed []float64
}

func (p *Problem) newChain(s state, random *rand.Rand) *chain {
	c := &chain{p: p, random: random, state: s, density: make([]float64, p.Rows()), proposed: make([]float64, p.Rows())}
	c.refresh()
	return c
}

func (c *chain) refresh() {
	clear(c.density)
	for len(c.part) < c.state.size() {
		c.part = append(c.part, make([]float64, len(c.density)))
	}
	c.part = c.part[:c.state.size()]
	for j, one := range c.state.components {
		c.p.family.fill(c.part[j], one)
		for i, d := range c.part[j] {
			c.density[i] += d
		}
	}
	c.logLik = logSum(c.density)
}

// logSum returns Σ log x. It takes the logarithms of products of many numbers, because products
// cost less than logarithms.
func logSum(x []float64) float64 {
	total, product := 0.0, 1.0
	for _, v := range x {
		next := product * v
		if next < 1e-200 || next > 1e200 {
			total += math.Log(product) + logTiny(v)
			next = 1
		}
		product = next
	}
	return total + math.Log(product)
}

// logTiny returns log x, also for subnormal x, where math.Log is imprecise on some processors.
func logTiny(x float64) float64 {
	if x < 1e-300 {
		return math.Log(x*0x1p200) - 200*math.Ln2
	}
	return math.Log(x)
}

// accept reports whether a proposal with the given log acceptance ratio is accepted.
func accept(log float64, random *rand.Rand) bool { return math.Log(1-random.Float64()) < log }

func beta(a, b float64, random *rand.Rand) float64 {
	x, y := stream.Gamma(a, random), stream.Gamma(b, random)
	return x / (x + y)
}

// logBeta2 returns the log density of Beta(2, 2).
func logBeta2(u float64) float64 { return math.Log(6 * u * (1 - u)) }

// jumps is the number of moves of each of two kinds (split or merge, birth or death) in a sweep.
// With k components a move takes about 1/k of the time of the Gibbs steps. Half or twice this
// number gives the same answers (docs/benchmarks/constants.md).
const jumps = 3

func (c *chain) sweep() {
	c.gibbs()
	c.refresh()
	for range jumps {
		c.splitOrMerge()
		c.birthOrDeath()
	}
}

// gibbs draws allocations of rows, and then weights, parameters and β from their conditional
// distributions. Afterwards it sorts the components by their means.
func (c *chain) gibbs() {
	s, k := &c.state, c.state.size()
	for len(c.rows) < k {
		c.rows = append(c.rows, nil)
	}
	for j := range k {
		c.rows[j] = c.rows[j][:0]
	}
	for i, density := range c.density {
		at := 0
		if density > 0 {
			at = pick.Func(k, c.random.Float64()*density, func(j int) float64 { return c.part[j][i] })
		} else { // all densities of the row are 0 in float64
			at = c.far(i)
		}
		c.rows[at] = append(c.rows[at], i)
	}
	total := 0.0
	for j := range s.components {
		s.components[j].weight = math.Max(stream.Gamma(c.p.Options.Concentration+float64(len(c.rows[j])), c.random), leastGamma)
		total += s.components[j].weight
	}
	for j, one := range s.components {
		weight := one.weight / total
		s.components[j] = c.p.family.update(one, c.rows[j], s.beta, c.random)
		s.components[j].weight = weight
	}
	s.beta = c.p.family.updateHyper(s.components, c.random)
	s.sort()
}

// leastGamma replaces smaller Gamma draws, so that components without rows have weights above 0.
const leastGamma = 1e-290

// far draws the component of a row far from all components, from the logarithms of their densities.
func (c *chain) far(row int) int {
	logs := apply.To(c.state.components, func(one component) float64 { return math.Log(one.weight) + c.p.family.logDensity(row, one) })
	return pick.Log(logs, c.random.Float64())
}

// logSplitRatio returns the log acceptance ratio of a split of one of k components, without the
// likelihood. If only neighbours merge, choosing one of k components to split and choosing one of k
// neighbouring pairs of k+1 components to merge have the same probability 1/k. If any two of k+1
// components merge, the probability of a pair is smaller by the factor 2/(k+1).
func (c *chain) logSplitRatio(one, left, right component, u []float64, k int) float64 {
	p, d, b := c.p, c.p.Options.Concentration, c.state.beta
	size := float64(k)
	dirichlet := logsum.Gamma((size+1)*d) - logsum.Gamma(size*d) - logsum.Gamma(d) + (d-1)*(math.Log(left.weight)+math.Log(right.weight)-math.Log(one.weight))
	prior := p.family.logPrior(left, b) + p.family.logPrior(right, b) - p.family.logPrior(one, b)
	choice := math.Log(size + 1) // log of (k+1)!/k!, the ratio of the numbers of orders of the components
	if !p.neighbours() {
		choice = math.Ln2
	}
	return choice + dirichlet + prior - p.family.proposal().log(u) + p.family.logJacobian(one, left, right, u)
}

// splitOrMerge proposes a split or a merge, each with probability one half.
func (c *chain) splitOrMerge() {
	k := c.state.size()
	if c.random.IntN(2) == 0 {
		if k < c.p.Options.MaxComponents {
			c.trySplit(k)
		}
	} else if k > 1 {
		c.tryMerge(k)
	}
}

func (c *chain) trySplit(k int) {
	j, s := c.random.IntN(k), &c.state
	u := c.p.family.proposal().draw(c.random)
	one := s.components[j]
	left, right := c.p.family.split(one, u)
	if !(left.mean < right.mean) || math.IsInf(c.p.family.proposal().log(u), -1) {
		return // possible by rounding errors only
	}
	if c.p.neighbours() && (j > 0 && left.mean <= s.components[j-1].mean || j+1 < k && right.mean >= s.components[j+1].mean) {
		return // a merge could not reverse this split, since left and right are not neighbours
	}
	first, second := make([]float64, len(c.density)), make([]float64, len(c.density))
	c.p.family.fill(first, left)
	c.p.family.fill(second, right)
	for i := range c.proposed {
		c.proposed[i] = math.Max(c.density[i]-c.part[j][i], 0) + first[i] + second[i]
	}
	logLik := logSum(c.proposed)
	if !accept(logLik-c.logLik+c.logSplitRatio(one, left, right, u, k), c.random) {
		return
	}
	s.components = slices.Insert(s.components, j, left)
	s.components[j+1] = right
	c.part[j] = second
	c.part = slices.Insert(c.part, j, first)
	c.take(logLik)
}

func (c *chain) tryMerge(k int) {
	s := &c.state
	var j, other int
	if c.p.neighbours() {
		j = c.random.IntN(k - 1)
		other = j + 1
	} else {
		j, other = pair(k, func(j int) float64 { return s.components[j].mean }, c.random)
	}
	left, right := s.components[j], s.components[other]
	one, u := c.p.family.merge(left, right)
	part := make([]float64, len(c.density))
	c.p.family.fill(part, one)
	for i := range c.proposed {
		c.proposed[i] = math.Max(c.density[i]-c.part[j][i]-c.part[other][i], 0) + part[i]
	}
	logLik := logSum(c.proposed)
	if !accept(logLik-c.logLik-c.logSplitRatio(one, left, right, u, k-1), c.random) {
		return
	}
	s.components[j], c.part[j] = one, part
	s.components = slices.Delete(s.components, other, other+1)
	c.part = slices.Delete(c.part, other, other+1)
	c.take(logLik)
}

func (c *chain) take(logLik float64) {
	c.density, c.proposed, c.logLik = c.proposed, c.density, logLik
}

// birthOrDeath proposes a component from the prior or the removal of a component, each with
// probability one half. All factors of the acceptance ratio but the likelihood cancel. A birth
// draws the component from its prior, and its weight w from Beta(δ, kδ) with the concentration δ.
// If k Dirichlet weights are multiplied by 1 − w, they are with w a draw of k+1 Dirichlet weights.
// The k+1 possible ranks of the new component cancel the probability 1/(k+1) that it is the one to
// be removed.
func (c *chain) birthOrDeath() {
	k, s, o := c.state.size(), &c.state, c.p.Options
	if c.random.IntN(2) == 0 {
		if k == o.MaxComponents {
			return
		}
		w := beta(o.Concentration, float64(k)*o.Concentration, c.random)
		if !(w > 0 && w < 1) {
			return
		}
		born := c.p.family.draw(s.beta, c.random)
		born.weight = w
		part := make([]float64, len(c.density))
		c.p.family.fill(part, born)
		for i := range c.proposed {
			c.proposed[i] = (1-w)*c.density[i] + part[i]
		}
		logLik := logSum(c.proposed)
		if !accept(logLik-c.logLik, c.random) {
			return
		}
		c.scaleWeights(1 - w)
		j := 0
		for j < k && s.components[j].mean < born.mean {
			j++
		}
		s.components = slices.Insert(s.components, j, born)
		c.part = slices.Insert(c.part, j, part)
		c.take(logLik)
		return
	}
	if k == 1 {
		return
	}
	j := c.random.IntN(k)
	rest := 0.0 // 1 − weight of the removed component, as a sum that loses no digits
	for i, one := range s.components {
		if i != j {
			rest += one.weight
		}
	}
	for i := range c.proposed {
		c.proposed[i] = math.Max(c.density[i]-c.part[j][i], 0) / rest
	}
	logLik := logSum(c.proposed)
	if !accept(logLik-c.logLik, c.random) {
		return
	}
	s.components = slices.Delete(s.components, j, j+1)
	c.part = slices.Delete(c.part, j, j+1)
	c.scaleWeights(1 / rest)
	c.take(logLik)
}

// scaleWeights multiplies all weights, and the terms part of the density, by a number.
func (c *chain) scaleWeights(by float64) {
	for j := range c.state.components {
		c.state.components[j].weight *= by
		for i := range c.part[j] {
			c.part[j][i] *= by
		}
	}
}

package mixture

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/transdim/vti/internal/stream"
)

// chain is a reversible-jump sampler of states. Its moves between numbers of components are those
// of Richardson and Green (1997, section 3.2), with rows summed over components in the acceptance
// ratio, so that no allocation has to be proposed; within a number allocations are drawn for the
// Gibbs steps and forgotten.
type chain struct {
	p      *Problem
	random *rand.Rand
	state  state
	// density[i] is p(y_i | state), part[j][i] the term of component j in it
	density []float64
	part    [][]float64
	logLik  float64
	// allocations are buffers of the Gibbs steps
	counts []int
	sums   []float64
	// proposed is a buffer of densities
	proposed []float64
}

// newChain starts a chain at a state.
func (p *Problem) newChain(s state, random *rand.Rand) *chain {
	c := &chain{p: p, random: random, state: s, density: make([]float64, len(p.y)), proposed: make([]float64, len(p.y))}
	c.refresh()
	return c
}

// refresh computes all densities of the state anew.
func (c *chain) refresh() {
	clear(c.density)
	for len(c.part) < c.state.size() {
		c.part = append(c.part, make([]float64, len(c.p.y)))
	}
	c.part = c.part[:c.state.size()]
	for j := range c.part {
		c.fill(c.part[j], c.state.weight[j], c.state.mean[j], c.state.variance[j])
		for i, d := range c.part[j] {
			c.density[i] += d
		}
	}
	c.logLik = logSum(c.density)
}

// fill writes the weighted density of one component at every row.
func (c *chain) fill(part []float64, weight, mean, variance float64) {
	factor, half := weight/math.Sqrt(2*math.Pi*variance), -0.5/variance
	for i, y := range c.p.y {
		d := y - mean
		part[i] = factor * math.Exp(half*d*d)
	}
}

// logSum is Σ log x, multiplied up as far as float64 allows: logarithms cost more than products.
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

// logTiny is log x, also of subnormal numbers, of which math.Log is imprecise on some
// processors.
func logTiny(x float64) float64 {
	if x < 1e-300 {
		return math.Log(x*0x1p200) - 200*math.Ln2
	}
	return math.Log(x)
}

func (c *chain) accept(log float64) bool { return math.Log(1-c.random.Float64()) < log }

// beta draws from Beta(a, b).
func beta(a, b float64, random *rand.Rand) float64 {
	x, y := stream.Gamma(a, random), stream.Gamma(b, random)
	return x / (x + y)
}

// logBeta2 is the log density of Beta(2, 2).
func logBeta2(u float64) float64 { return math.Log(6 * u * (1 - u)) }

// component is one component of a mixture.
type component struct{ weight, mean, variance float64 }

// split divides a component into two of the same weight, mean and variance together.
func (one component) split(u1, u2, u3 float64) (left, right component) {
	sd := math.Sqrt(one.variance)
	left.weight, right.weight = one.weight*u1, one.weight*(1-u1)
	left.mean = one.mean - u2*sd*math.Sqrt((1-u1)/u1)
	right.mean = one.mean + u2*sd*math.Sqrt(u1/(1-u1))
	left.variance = u3 * (1 - u2*u2) * one.variance / u1
	right.variance = (1 - u3) * (1 - u2*u2) * one.variance / (1 - u1)
	return left, right
}

// merged is the component that split divides into the two, with the numbers that it takes for it.
func merged(left, right component) (one component, u1, u2, u3 float64) {
	w := left.weight + right.weight
	u1 = left.weight / w
	one = component{weight: w, mean: u1*left.mean + (1-u1)*right.mean}
	one.variance = u1*left.variance + (1-u1)*right.variance + u1*(1-u1)*(right.mean-left.mean)*(right.mean-left.mean)
	u2 = (right.mean - left.mean) * math.Sqrt(u1*(1-u1)/one.variance)
	u3 = u1 * left.variance / (u1*left.variance + (1-u1)*right.variance)
	return one, u1, u2, u3
}

// logSplitJacobian is the log of the absolute Jacobian determinant of (one, u1, u2, u3) → (left,
// right): Richardson and Green (1997, equation 11).
func logSplitJacobian(one, left, right component, u2, u3 float64) float64 {
	return math.Log(one.weight) + math.Log(right.mean-left.mean) + math.Log(left.variance) + math.Log(right.variance) -
		math.Log(u2*(1-u2*u2)*u3*(1-u3)) - math.Log(one.variance)
}

// logSplitRatio is the log acceptance ratio of a split of one of k components, without the
// likelihood. Choosing one of k components to split, and one of k neighbouring pairs of k+1 to
// merge, have the same probability.
func (c *chain) logSplitRatio(one, left, right component, u1, u2, u3 float64, k int) float64 {
	p, d, b := c.p, c.p.Options.Concentration, c.state.beta
	size := float64(k)
	dirichlet := logGamma((size+1)*d) - logGamma(size*d) - logGamma(d) + (d-1)*(math.Log(left.weight)+math.Log(right.weight)-math.Log(one.weight))
	prior := p.logMean(left.mean) + p.logMean(right.mean) - p.logMean(one.mean) +
		p.logVariance(left.variance, b) + p.logVariance(right.variance, b) - p.logVariance(one.variance, b)
	return math.Log(size+1) + dirichlet + prior - logBeta2(u1) - logBeta2(u2) + logSplitJacobian(one, left, right, u2, u3)
}

// splitOrMerge proposes either with probability one half.
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

func (c *chain) component(j int) component {
	return component{c.state.weight[j], c.state.mean[j], c.state.variance[j]}
}

func (c *chain) trySplit(k int) {
	j, s := c.random.IntN(k), &c.state
	u1, u2, u3 := beta(2, 2, c.random), beta(2, 2, c.random), c.random.Float64()
	one := c.component(j)
	left, right := one.split(u1, u2, u3)
	// the two must be neighbours, or no merge leads back
	if j > 0 && left.mean <= s.mean[j-1] || j+1 < k && right.mean >= s.mean[j+1] || !(left.variance > 0 && right.variance > 0) {
		return
	}
	first, second := make([]float64, len(c.p.y)), make([]float64, len(c.p.y))
	c.fill(first, left.weight, left.mean, left.variance)
	c.fill(second, right.weight, right.mean, right.variance)
	for i := range c.proposed {
		c.proposed[i] = math.Max(c.density[i]-c.part[j][i], 0) + first[i] + second[i]
	}
	logLik := logSum(c.proposed)
	if !c.accept(logLik - c.logLik + c.logSplitRatio(one, left, right, u1, u2, u3, k)) {
		return
	}
	s.weight, s.mean, s.variance = slices.Insert(s.weight, j, left.weight), slices.Insert(s.mean, j, left.mean), slices.Insert(s.variance, j, left.variance)
	s.weight[j+1], s.mean[j+1], s.variance[j+1] = right.weight, right.mean, right.variance
	c.part[j] = second
	c.part = slices.Insert(c.part, j, first)
	c.take(logLik)
}

func (c *chain) tryMerge(k int) {
	j, s := c.random.IntN(k-1), &c.state
	left, right := c.component(j), c.component(j+1)
	one, u1, u2, u3 := merged(left, right)
	if !(u2 > 0 && u2 < 1 && u3 > 0 && u3 < 1) {
		return // rounding: no split leads back
	}
	part := make([]float64, len(c.p.y))
	c.fill(part, one.weight, one.mean, one.variance)
	for i := range c.proposed {
		c.proposed[i] = math.Max(c.density[i]-c.part[j][i]-c.part[j+1][i], 0) + part[i]
	}
	logLik := logSum(c.proposed)
	if !c.accept(logLik - c.logLik - c.logSplitRatio(one, left, right, u1, u2, u3, k-1)) {
		return
	}
	s.weight, s.mean, s.variance = slices.Delete(s.weight, j, j+1), slices.Delete(s.mean, j, j+1), slices.Delete(s.variance, j, j+1)
	s.weight[j], s.mean[j], s.variance[j] = one.weight, one.mean, one.variance
	c.part = slices.Delete(c.part, j, j+1)
	c.part[j] = part
	c.take(logLik)
}

// take makes the proposed densities those of the state.
func (c *chain) take(logLik float64) {
	c.density, c.proposed, c.logLik = c.proposed, c.density, logLik
}

// birthOrDeath proposes a component from the prior, or the end of one, with probability one half
// each. All priors and proposals cancel but the likelihood: a birth draws from the prior given k,
// the k+1 orders of the larger mixture make up for the choice of one of k+1 to die, and the weights
// of a Dirichlet are those of one with a component less, scaled to the rest of a Beta(δ, kδ)
// weight.
func (c *chain) birthOrDeath() {
	k, s, o := c.state.size(), &c.state, c.p.Options
	if c.random.IntN(2) == 0 {
		if k == o.MaxComponents {
			return
		}
		w := beta(o.Concentration, float64(k)*o.Concentration, c.random)
		mean := o.MeanSD * c.random.NormFloat64()
		variance := s.beta / stream.Gamma(o.PrecisionShape, c.random)
		if !(w > 0 && w < 1) || !(variance > 0) || math.IsInf(variance, 0) {
			return
		}
		part := make([]float64, len(c.p.y))
		c.fill(part, w, mean, variance)
		for i := range c.proposed {
			c.proposed[i] = (1-w)*c.density[i] + part[i]
		}
		logLik := logSum(c.proposed)
		if !c.accept(logLik - c.logLik) {
			return
		}
		c.scaleWeights(1 - w)
		j, _ := slices.BinarySearch(s.mean, mean)
		s.weight, s.mean, s.variance = slices.Insert(s.weight, j, w), slices.Insert(s.mean, j, mean), slices.Insert(s.variance, j, variance)
		c.part = slices.Insert(c.part, j, part)
		c.take(logLik)
		return
	}
	if k == 1 {
		return
	}
	j := c.random.IntN(k)
	rest := 0.0 // 1 − weight without cancellation
	for i, w := range s.weight {
		if i != j {
			rest += w
		}
	}
	for i := range c.proposed {
		c.proposed[i] = math.Max(c.density[i]-c.part[j][i], 0) / rest
	}
	logLik := logSum(c.proposed)
	if !c.accept(logLik - c.logLik) {
		return
	}
	s.weight, s.mean, s.variance = slices.Delete(s.weight, j, j+1), slices.Delete(s.mean, j, j+1), slices.Delete(s.variance, j, j+1)
	c.part = slices.Delete(c.part, j, j+1)
	c.scaleWeights(1 / rest)
	c.take(logLik)
}

// scaleWeights multiplies all weights, and the densities that have them as factors.
func (c *chain) scaleWeights(by float64) {
	for j := range c.state.weight {
		c.state.weight[j] *= by
		for i := range c.part[j] {
			c.part[j][i] *= by
		}
	}
}

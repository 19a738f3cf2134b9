package mixture

import (
	"math"

	"github.com/transdim/vti/internal/stream"
)

// jumps is how many moves of each kind between numbers of components a sweep has: each costs about
// a k-th of the Gibbs steps. Chosen by hand.
const jumps = 3

// sweep is one pass over everything.
func (c *chain) sweep() {
	c.gibbs()
	c.refresh()
	for range jumps {
		c.splitOrMerge()
		c.birthOrDeath()
	}
}

// gibbs draws allocations and then weights, means, variances and β from their conditionals.
// The posterior of a set of components does not depend on their order, so that they are sorted
// afterwards.
func (c *chain) gibbs() {
	s, o, k := &c.state, c.p.Options, c.state.size()
	if cap(c.counts) < k {
		c.counts, c.sums = make([]int, o.MaxComponents), make([]float64, 2*o.MaxComponents)
	}
	counts, sums, squares := c.counts[:k], c.sums[:k], c.sums[o.MaxComponents:o.MaxComponents+k]
	clear(counts)
	clear(sums)
	clear(squares)
	for i, y := range c.p.y {
		u, at := c.random.Float64()*c.density[i], 0
		for at < k-1 {
			if u -= c.part[at][i]; u < 0 {
				break
			}
			at++
		}
		counts[at]++
		sums[at] += y
		squares[at] += y * y
	}
	total := 0.0
	for j := range s.weight {
		s.weight[j] = stream.Gamma(o.Concentration+float64(counts[j]), c.random)
		total += s.weight[j]
	}
	precision := 1 / (o.MeanSD * o.MeanSD)
	for j := range s.weight {
		s.weight[j] /= total
		v := 1 / (float64(counts[j])/s.variance[j] + precision)
		s.mean[j] = sums[j]/s.variance[j]*v + math.Sqrt(v)*c.random.NormFloat64()
	}
	shape, rate := o.ScaleShape, o.ScaleRate
	for j := range s.weight {
		about := math.Max(0, squares[j]-2*s.mean[j]*sums[j]+float64(counts[j])*s.mean[j]*s.mean[j])
		s.variance[j] = (s.beta + about/2) / stream.Gamma(o.PrecisionShape+float64(counts[j])/2, c.random)
		shape, rate = shape+o.PrecisionShape, rate+1/s.variance[j]
	}
	s.beta = stream.Gamma(shape, c.random) / rate
	s.sort()
}

// sort puts the components in the order of their means.
func (s *state) sort() {
	for j := 1; j < len(s.mean); j++ {
		for i := j; i > 0 && s.mean[i] < s.mean[i-1]; i-- {
			s.mean[i], s.mean[i-1] = s.mean[i-1], s.mean[i]
			s.weight[i], s.weight[i-1] = s.weight[i-1], s.weight[i]
			s.variance[i], s.variance[i-1] = s.variance[i-1], s.variance[i]
		}
	}
}

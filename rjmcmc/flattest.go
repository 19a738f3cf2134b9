package rjmcmc

import (
	"math"
	"math/rand/v2"
	"slices"
)

// flattest is the density g of the flattest copy of a chain (tempering.go): active coordinates are
// independent, each with a Cauchy density. A normal density as wide as the draws so far would have
// no draws at modes further away, and chains that all start at one mode would then agree, wrongly,
// that there is no other.
type flattest struct {
	centre, scale []float64 // [D] by coordinate
	logNorm       []float64 // [D] log π scale, the log normalising constant
}

func newFlattest(dim int) flattest {
	g := flattest{centre: make([]float64, dim), scale: slices.Repeat([]float64{firstScale}, dim)}
	g.normalise()
	return g
}

func (g *flattest) normalise() {
	g.logNorm = make([]float64, len(g.scale))
	for j, scale := range g.scale {
		g.logNorm[j] = math.Log(math.Pi * scale)
	}
}

func (g *flattest) logDensity(theta []float64, mask []bool) float64 {
	var sum float64
	product := 1.0 // the product of 1 + u², so that most rows need one logarithm
	for j, on := range mask {
		if !on {
			continue
		}
		u := (theta[j] - g.centre[j]) / g.scale[j]
		sum -= g.logNorm[j]
		if product *= 1 + u*u; product > 1e150 {
			sum, product = sum-math.Log(product), 1
		}
	}
	return sum - math.Log(product)
}

func (g *flattest) logDensityOf(j int, x float64) float64 {
	u := (x - g.centre[j]) / g.scale[j]
	return -g.logNorm[j] - math.Log1p(u*u)
}

// precision returns the precision of the normal density that has the quartiles of g in coordinate
// j. Quadratic approximations use it in place of g.
func (g *flattest) precision(j int) float64 {
	sd := g.scale[j] / normalQuartile
	return 1 / (sd * sd)
}

// normalQuartile is the upper quartile of the standard normal distribution.
const normalQuartile = 0.67448975

func (g *flattest) draw(random *rand.Rand, j int) float64 {
	return g.centre[j] + g.scale[j]*math.Tan(math.Pi*(random.Float64()-0.5))
}

// stepFlattest draws new values from g for a row of the flattest copy: of one active coordinate in
// a Walk step, of all of them in a Joint step. The values have density g at this temperature, so
// that the proposal is always accepted.
func (s *sampler) stepFlattest(c int, move Move, theta []float64, active []int) {
	if move == Walk {
		k := s.rngs[c].IntN(len(active))
		active = active[k : k+1]
	}
	for _, j := range active {
		s.logRatio[c] += s.ladder.flattest.logDensityOf(j, theta[j])
		theta[j] = s.ladder.flattest.draw(s.rngs[c], j)
		s.logRatio[c] -= s.ladder.flattest.logDensityOf(j, theta[j])
	}
}

// propagateFlattest replaces propagate in the flattest copy: the values of coordinates that are
// born are drawn from g.
func (s *sampler) propagateFlattest(w *workspace, c int) (logRatio float64) {
	_, theta, _ := s.proposal.row(c)
	_, from, _ := s.state.row(c)
	for _, j := range w.died {
		logRatio += s.ladder.flattest.logDensityOf(j, from[j])
	}
	for _, j := range w.born {
		theta[j] = s.ladder.flattest.draw(s.rngs[c], j)
		logRatio -= s.ladder.flattest.logDensityOf(j, theta[j])
	}
	return logRatio
}

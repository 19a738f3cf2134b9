package rjmcmc

import (
	"math"
	"math/rand/v2"
	"slices"
)

// flattest is the density g of the copy of a chain at the highest temperature (tempering.go):
// active coordinates are independent, each with a Cauchy density. A normal density as wide as the
// draws so far would not reach distant modes, so that chains that all start at one mode would
// agree, wrongly, that it is the only mode.
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

// precision returns the precision of the normal density with the quartiles of g in coordinate j,
// which replaces g in quadratic approximations.
func (g *flattest) precision(j int) float64 {
	sd := g.scale[j] / normalQuartile
	return 1 / (sd * sd)
}

// normalQuartile is the upper quartile of the standard normal distribution.
const normalQuartile = 0.67448975

func (g *flattest) draw(random *rand.Rand, j int) float64 {
	return g.centre[j] + g.scale[j]*math.Tan(math.Pi*(random.Float64()-0.5))
}

// stepFlattest draws new values from g for a row at the highest temperature: of one active
// coordinate in a Walk step, of all active coordinates in a Joint step. Since g is the density at
// this temperature, the proposal is always accepted.
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

// propagateFlattest replaces propagate at the highest temperature: the values of coordinates that
// become active are drawn from g.
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

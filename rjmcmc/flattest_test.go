package rjmcmc

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/stat"
)

// Draws have the quartiles of the density, and the density integrates to one. The log density of a
// row is the sum over its active coordinates, also far from the centre. The bounds are 5 standard
// errors on three quartiles of 40,000 draws: one false alarm in 6e5 runs.
func TestFlattest(t *testing.T) {
	g := newFlattest(3)
	g.centre[1], g.scale[1] = -1, 0.5
	g.normalise()
	within := func(half float64) float64 {
		return quad.Fixed(func(x float64) float64 { return math.Exp(g.logDensityOf(1, x)) }, -1-half, -1+half, 2000, nil, 0)
	}
	assert.InDelta(t, 0.5, within(0.5), 1e-9)
	assert.InDelta(t, 1-2/math.Pi*math.Atan(0.5/50), within(50), 1e-6)

	const n = 40000
	random := rand.New(rand.NewPCG(1, 2))
	draws := make([]float64, n)
	for i := range draws {
		draws[i] = g.draw(random, 1)
	}
	slices.Sort(draws)
	for _, p := range []float64{0.25, 0.5, 0.75} {
		quantile := -1 + 0.5*math.Tan(math.Pi*(p-0.5))
		assert.InDelta(t, p, stat.CDF(quantile, stat.Empirical, draws, nil), 5*math.Sqrt(p*(1-p)/n))
	}

	for _, far := range []float64{0.3, 1e60, 1e120} {
		theta := []float64{far, 5, -far}
		assert.InEpsilon(t, g.logDensityOf(0, far)+g.logDensityOf(2, -far), g.logDensity(theta, []bool{true, false, true}), 1e-12)
	}
}

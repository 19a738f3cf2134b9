package integrate

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/internal/psis"
)

// apart returns the log density of three correlated coordinates around the point with all
// coordinates equal to centre, without its constant 1.5 log 2π + log spread³.
func apart(centre, spread float64) func(x []float64) float64 {
	return func(x []float64) float64 {
		sum, last := 0.0, 0.0
		for _, v := range x { // successive differences are normal
			z := (v - centre) / spread
			sum -= (z - last) * (z - last) / 2
			last = z
		}
		return sum
	}
}

// TestMarginalProposal checks that the density of the marginal proposal of some coordinates is the
// integral of the whole proposal's density over the other coordinates, for any order of the
// coordinates. Draws from it must estimate the integral of its own density.
func TestMarginalProposal(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 1))
	p, err := Adapt(t.Context(), Problem{Centre: make([]float64, 3), Width: []float64{3, 3, 3}, LogDensity: apart(1, 0.5)}, random)
	require.NoError(t, err)
	marginal := p.Of([]int{2, 0}, func(x []float64) float64 { return -(x[0]*x[0] + x[1]*x[1]) / 2 })
	terms, work := make([]float64, len(p.mixture)), make([]float64, 3)
	for _, point := range [][]float64{{1, 1}, {0.2, 1.5}, {-3, 4}} {
		sum, step := 0.0, 0.01
		for x := -60.0; x < 60; x += step {
			sum += step * math.Exp(p.mixture.logDensity([]float64{point[1], x, point[0]}, work, terms))
		}
		// The integral leaves out the tail beyond the grid, which is heavy for t distributions with
		// 3 degrees of freedom.
		require.InEpsilon(t, sum, math.Exp(marginal.mixture.logDensity(point, work[:2], terms)), 2e-3)
	}
	s := &Sample{}
	require.NoError(t, marginal.Draw(t.Context(), s, 20_000, random))
	weights := psis.Smooth(s.LogWeights())
	require.InDelta(t, math.Log(2*math.Pi), weights.LogMean, 5*weights.LogMeanSE)
}

// TestRefined refines a proposal for densities that are shifted by up to 8 standard deviations, or
// are wider or narrower. It refines twice, each time from 64 draws. In some cases hardly any of
// these draws is effective. The integral by the refined proposal must be right within five standard
// errors.
func TestRefined(t *testing.T) {
	first, err := Adapt(t.Context(), Problem{Centre: make([]float64, 3), Width: []float64{3, 3, 3}, LogDensity: apart(0, 0.2)}, rand.New(rand.NewPCG(1, 1)))
	require.NoError(t, err)
	for name, c := range map[string]struct{ centre, spread, share float64 }{
		"the same":        {0, 0.2, 0.3},
		"three away":      {0.6, 0.2, 0.01},
		"eight away":      {1.6, 0.2, 0},
		"three times":     {0, 0.6, 0.05},
		"a third as wide": {0.2, 0.07, 0.02},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(5) {
				random := rand.New(rand.NewPCG(seed, 2))
				p := first
				for range 2 {
					p = p.Of([]int{0, 1, 2}, apart(c.centre, c.spread))
					s := &Sample{}
					require.NoError(t, p.Draw(t.Context(), s, 64, random))
					var err error
					p, err = p.Refined(t.Context(), s, random)
					require.NoError(t, err)
					require.NotNil(t, p)
				}
				s := &Sample{}
				const n = 4000
				require.NoError(t, p.Draw(t.Context(), s, n, random))
				weights := psis.Smooth(s.LogWeights())
				require.InDelta(t, 1.5*math.Log(2*math.Pi)+3*math.Log(c.spread), weights.LogMean, 5*weights.LogMeanSE)
				require.Greater(t, weights.ESS, c.share*n, "seed %d", seed)
			}
		})
	}
	none, err := first.Refined(t.Context(), &Sample{Points: [][]float64{{0, 0, 0}}, LogDensity: []float64{math.Inf(-1)}, LogProposal: []float64{0}}, nil)
	require.NoError(t, err)
	require.Nil(t, none)
}

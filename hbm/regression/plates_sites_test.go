package regression

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// Normal densities in place of those of 0/1 rows leave the mode of the outer effects, with the
// inner ones integrated out, and the mean of the inner ones given these where they are, by sums
// over a grid.
func TestSitesKeepModeAndMean(t *testing.T) {
	r := newRegression(t, frameOf(t, crossedRows(4), FrameOptions{Formula: "k ~ x + (1 | a) + (1 | b)", Response: LogisticResponse}), Options{})
	theta := make([]float64, r.Dim())
	for _, g := range r.groups {
		theta[g.sd[0]] = 1.5
	}
	l := newLaplaceEffects(r)
	p, ok := l.given(r.space.masks[0], theta)
	require.True(t, ok)
	curvature, position := p.sites()
	outer := p.eta(l.outerOf(p.centre))
	scale := p.factors[l.inner][0][0]
	require.Greater(t, scale, 0.5)
	bySites, byGrid := make([]float64, len(r.y)), make([]float64, len(r.y)) // slopes of rows
	for level := range r.inner.Levels {
		var rows []int
		precision, linear := 1.0, 0.0
		for i, at := range r.inner.Index {
			if at == level {
				rows = append(rows, i)
				precision += curvature[i] * scale * scale
				linear += curvature[i] * scale * (position[i] - outer[i])
			}
		}
		total, mean := 0.0, 0.0
		slope := make([]float64, len(r.y))
		for u := -8.0; u < 8; u += 0.01 {
			weight := math.Exp(-u * u / 2)
			for _, i := range rows {
				weight *= 1 / (1 + math.Exp((1-2*r.y[i])*(outer[i]+scale*u)))
			}
			total, mean = total+weight, mean+weight*u
			for _, i := range rows {
				slope[i] += weight * (r.y[i] - 1/(1+math.Exp(-outer[i]-scale*u)))
			}
		}
		require.InDelta(t, mean/total, linear/precision, 0.01)
		for _, i := range rows {
			byGrid[i] = slope[i] / total
			bySites[i] = curvature[i] * (position[i] - outer[i] - scale*linear/precision)
		}
	}
	grid, sites := p.gradient(byGrid, p.centre), p.gradient(bySites, p.centre)
	for k, outside := range l.outside {
		if outside {
			require.InDelta(t, 0, grid[k], 0.05, "the mode is found to a small part of a standard deviation")
			require.InDelta(t, grid[k], sites[k], 0.02)
		}
	}
}

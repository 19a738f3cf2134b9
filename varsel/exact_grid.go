package varsel

import "math"

// logSigmaGrid is a trapezoid rule over log σ: equally spaced points that cover, for every model
// that matters, all of the posterior of log σ. For functions that are smooth and vanish at both
// ends the rule converges faster than any power of the spacing.
type logSigmaGrid struct {
	low, high, step float64
	// floor and ceiling are where the posterior is cut off at the latest.
	floor, ceiling float64
	// resolution is log σ below which sums of squares are rounding.
	resolution float64
}

const (
	// gridDepth is how far, in nats below the peak, the grid follows the posterior: e^-34 is 2e-15.
	gridDepth = 34
	// gridEdge is the posterior probability at an end of the grid above which it is widened.
	gridEdge = 1e-13
	// gridReach bounds the distance of log σ from its prior mean, so that nothing overflows.
	gridReach = 100
	// gridCoarse is the number of points of each search for the range; chosen by hand, not tuned.
	gridCoarse = 128
)

// logSigmaStep is the spacing of points for a posterior of log σ ~ N(·, sd²) given so many rows.
//
// Given a model that posterior has standard deviation about 1/√(2n) or more. The error of the
// trapezoid rule decays as 2 |Γ((n + iω)/2)| / Γ(n/2) does at ω = 2π/step: with these spacings it
// is below 1e-13 for every n. Factors of determinants take rows away, and what is normal adds to
// the curvature, with the same error where it dominates.
func logSigmaStep(rows int, sd float64) float64 {
	return 1 / math.Sqrt(65+1.55*(2*float64(rows)+1/(sd*sd)))
}

// newLogSigmaGrid finds the range from the smallest and the largest model.
func newLogSigmaGrid(s *exactSpace, p *ExactProblem) *logSigmaGrid {
	reach := min(math.Sqrt(2*gridDepth)*p.LogSigmaSD, gridReach)
	g := &logSigmaGrid{
		floor:   p.LogSigmaMean - reach,
		ceiling: p.LogSigmaMean + reach,
		step:    logSigmaStep(s.rows, p.LogSigmaSD),

		resolution: s.resolution(),
	}
	g.floor = max(g.floor, min(g.resolution, g.ceiling-g.step))
	g.low, g.high = g.ceiling, g.floor
	for _, full := range []bool{false, true} {
		low, high := g.search(s, p, full)
		g.low, g.high = min(g.low, low), max(g.high, high)
	}
	return g
}

// search returns the interval where the posterior of log σ given the smallest (or full) model is
// within gridDepth of its peak, by evaluating ever finer grids around it.
func (g *logSigmaGrid) search(s *exactSpace, p *ExactProblem, full bool) (low, high float64) {
	low, high = g.floor, g.ceiling
	for {
		coarse := logSigmaGrid{low: low, high: high, step: (high - low) / (gridCoarse - 1)}
		trial := *s
		points := coarse.points()
		trial.setGrid(points, coarse.logWeights(p))
		w := newWalker(&trial)
		if full {
			for i := range s.groups {
				w.push(i)
			}
		}
		f := &w.frames[w.depth]
		values := make([]float64, len(points))
		best := math.Inf(-1)
		for t := range points {
			values[t] = trial.base[t] + 0.5*(f.quadratic[t]-f.logDet[t])
			best = max(best, values[t])
		}
		first, last := len(points), 0
		for t, v := range values {
			if v > best-gridDepth {
				first, last = min(first, t), max(last, t)
			}
		}
		width := high - low
		low, high = points[max(first-1, 0)], points[min(last+1, len(points)-1)]
		if high-low > 0.5*width || coarse.step < g.step/4 {
			return low, high
		}
	}
}

// points returns the grid.
func (g *logSigmaGrid) points() []float64 {
	points := make([]float64, 1+int(math.Ceil((g.high-g.low)/g.step-1e-9)))
	for t := range points {
		points[t] = g.low + float64(t)*g.step
	}
	return points
}

// logWeights returns the logarithm of prior density times spacing at the points.
func (g *logSigmaGrid) logWeights(p *ExactProblem) []float64 {
	weights := g.points()
	for t, v := range weights {
		standard := (v - p.LogSigmaMean) / p.LogSigmaSD
		weights[t] = math.Log(g.step/p.LogSigmaSD) - halfLog2Pi - 0.5*standard*standard
	}
	return weights
}

// resolution is log σ below which the residual cannot be distinguished from rounding, as squares
// are summed: that of 1e-6 of the response.
func (s *exactSpace) resolution() float64 {
	if s.squares == 0 {
		return math.Inf(-1)
	}
	return 0.5*math.Log(s.squares/float64(s.rows)) - 6*math.Ln10
}

// unresolved reports whether the posterior continues where sums of squares are rounding.
func (g *logSigmaGrid) unresolved(masses []float64, total float64) bool {
	// of the posterior; what is cut off then moves no mean and no standard deviation that is
	// printed
	const most = 1e-8
	return g.low <= g.resolution && masses[0] > most*total
}

// widen extends the grid at an end where the posterior, summed over models, has not died out, and
// reports whether it did.
func (g *logSigmaGrid) widen(masses []float64, total float64) bool {
	const by = 0.5
	width := by*(g.high-g.low) + g.step
	changed := false
	if masses[0] > gridEdge*total && g.low > g.floor {
		g.low = max(g.floor, g.low-width)
		changed = true
	}
	if masses[len(masses)-1] > gridEdge*total && g.high < g.ceiling {
		g.high = min(g.ceiling, g.high+width)
		changed = true
	}
	return changed
}

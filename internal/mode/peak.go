package mode

import "math"

// Peak maximises a log density of one parameter from a start. It uses Newton's method with
// numerical derivatives and steps of at most 1. The result peak is the position of the maximum. The
// result curvature is minus the second derivative there or, if it is larger, the argument prior,
// the curvature of the prior.
func Peak(density func(x float64) float64, start, prior float64) (peak, curvature float64) {
	const h = 1e-3
	peak = start
	for range 100 {
		here, above, below := density(peak), density(peak+h), density(peak-h)
		slope := (above - below) / (2 * h)
		curvature = -(above - 2*here + below) / (h * h)
		// Far from the maximum the curvature may be negative.
		step := slope / math.Max(curvature, math.Abs(slope))
		if slope == 0 || math.IsNaN(step) {
			break
		}
		peak += step
		if math.Abs(step) < 1e-9 {
			break
		}
	}
	return peak, math.Max(curvature, prior)
}

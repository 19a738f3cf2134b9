package train

import "math"

// In the first startSteps steps of a training, the share startNonFinite of the draws may have no
// finite density: densities can overflow at draws far from the posterior, which training later
// avoids.
const (
	startSteps     = 100
	startNonFinite = 0.5
)

// NonFiniteLimit returns the largest accepted share of draws without a finite density, in the
// report at the given step of a training. It is limit, or a larger share at the start.
func NonFiniteLimit(step, steps int, limit float64) float64 {
	if step <= startSteps && step < steps {
		return math.Max(limit, startNonFinite)
	}
	return limit
}

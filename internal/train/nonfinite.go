package train

import "math"

// In reports on the first startSteps steps the share startNonFinite of the draws may have no finite
// density: far from the posterior some overflow, and training ends this.
const (
	startSteps     = 100
	startNonFinite = 0.5
)

// NonFiniteLimit is the largest share of draws without a finite density in a report that ends at a
// step of a training of steps: limit, or more at the start.
func NonFiniteLimit(step, steps int, limit float64) float64 {
	if step <= startSteps && step < steps {
		return math.Max(limit, startNonFinite)
	}
	return limit
}

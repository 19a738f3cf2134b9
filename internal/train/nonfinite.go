package train

import "math"

// Of the draws in reports on the first startSteps steps the share startNonFinite may have no finite
// density: far from the posterior some overflow, which training mends.
const (
	startSteps     = 100
	startNonFinite = 0.5
)

// NonFiniteLimit is the largest share of draws without a finite density that a report which ends at
// step of so many may have: limit, or more at the start of a training.
func NonFiniteLimit(step, steps int, limit float64) float64 {
	if step <= startSteps && step < steps {
		return math.Max(limit, startNonFinite)
	}
	return limit
}

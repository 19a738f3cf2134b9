package weighted

import (
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/transdim/vti/internal/logsum"
)

// Rise returns the largest power such that weights multiplied by likelihood^power leave the given
// share of the draws effective. The argument most bounds the power. It is the step of a sequential
// Monte Carlo sampler towards a posterior (Del Moral, Doucet and Jasra 2006).
func Rise(logWeights, logLik []float64, share, most float64) float64 {
	enough := func(power float64) bool {
		after := slices.Clone(logWeights)
		floats.AddScaled(after, power, logLik)
		return logsum.Effective(after) >= share*float64(len(after))
	}
	if enough(most) {
		return most
	}
	low, high := 0.0, most
	for range 60 {
		if middle := (low + high) / 2; enough(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

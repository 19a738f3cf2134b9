package psis_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/transdim/vti/internal/psis"
)

// The target is exp(−x²/2), whose integral is √(2π). The proposal is a normal distribution with
// standard deviation 1.2.
func ExampleSmooth() {
	rng := rand.New(rand.NewPCG(1, 2))
	logWeights := make([]float64, 100_000)
	for i := range logWeights {
		x := 1.2 * rng.NormFloat64()
		logProposal := -0.5*(x/1.2)*(x/1.2) - 0.91894 - 0.18232
		logWeights[i] = -0.5*x*x - logProposal
	}
	r := psis.Smooth(logWeights)
	fmt.Printf("log Z = %.2f, reliable: %v\n", r.LogMean, r.K < psis.Reliable)
	// Output: log Z = 0.92, reliable: true
}

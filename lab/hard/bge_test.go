package hard

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBGePosterior compares the evidence of a node without parents, for two rows, with a numerical
// integral over mean and variance. For two nodes, the evidences of both directions of the edge must
// be equal, which is the purpose of the BGe prior.
func TestBGePosterior(t *testing.T) {
	y := []float64{0.3, -1.1}
	got, err := bgePosterior(y, nil)
	require.NoError(t, err)
	sum := 0.0
	const step = 0.02
	for logSigma := -12.0; logSigma < 8; logSigma += step { // log σ
		sigma := math.Exp(logSigma)
		variance := sigma * sigma
		// inverse gamma with shape 3/2 and scale 1/4, dσ² = 2 σ² d log σ
		prior := math.Pow(0.25, 1.5) / math.Gamma(1.5) * math.Pow(variance, -2.5) * math.Exp(-0.25/variance) * 2 * variance
		for u := -12.0; u < 12; u += step { // mean in units of σ
			density := math.Exp(-u * u / 2)
			for _, v := range y {
				r := v/sigma - u
				density *= math.Exp(-r*r/2) / sigma
			}
			sum += step * step * prior * density * math.Pow(2*math.Pi, -1.5)
		}
	}
	require.InDelta(t, math.Log(sum), got.logEvidence, 1e-6)

	random := rand.New(rand.NewPCG(1, 2))
	a, b := make([]float64, 7), make([]float64, 7)
	for i := range a {
		a[i] = random.NormFloat64()
		b[i] = 0.5 + 2*a[i] + 0.3*random.NormFloat64()
	}
	alone := func(y []float64, parents ...[]float64) float64 {
		m, err := bgePosterior(y, parents)
		require.NoError(t, err)
		return m.logEvidence
	}
	require.InDelta(t, alone(a)+alone(b, a), alone(b)+alone(a, b), 1e-9)
}

package hard

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
)

// TestLargeMeansLeaveTheSpread checks that the sd of a coefficient whose mean is millions of
// posterior sds is the same as with a mean of about zero, if the prior mean moves with it. An error
// of 1e-13 in weights, the rounding error of a log evidence of 1,000, would make the sd 40 percent
// larger.
func TestLargeMeansLeaveTheSpread(t *testing.T) {
	const far = 3e6
	random := rand.New(rand.NewPCG(9, 10))
	centred := &regressionProblem{
		x: mat.NewDense(80, 1, nil), y: make([]float64, 80), logSigmaMean: -13, logSigmaSD: 3,
		priorMean: []float64{-far}, priorSD: []float64{1e7}, always: []int{0}, logPrior: []float64{0},
	}
	shifted := *centred
	shifted.y, shifted.priorMean = make([]float64, 80), []float64{0}
	for i := range centred.y {
		x := float64(random.IntN(2)) // small, so that responses are rounded by less than noise
		centred.x.Set(i, 0, x)
		centred.y[i] = 1e-6 * random.NormFloat64()
		shifted.y[i] = centred.y[i] + far*x
		centred.y[i] = shifted.y[i] - far*x
	}
	want, err := centred.solve(centred.gaussian)
	require.NoError(t, err)
	got, err := shifted.solve(shifted.gaussian)
	require.NoError(t, err)
	require.InEpsilon(t, want.sdIn[0], got.sdIn[0], 1e-2)
	require.InDelta(t, want.meanIn[0]+far, got.meanIn[0], want.sdIn[0]/10)
}

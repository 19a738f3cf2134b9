package hard

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/internal/line"
)

// TestGPrior compares evidences and moments in closed form with an integral over σ, for g below and
// above 1. Given σ, the slope has a normal prior with variance g σ²/(x'x) and the intercept an
// almost flat prior.
func TestGPrior(t *testing.T) {
	const rows, flat = 9, 1e6
	random := rand.New(rand.NewPCG(3, 4))
	x, y := mat.NewDense(rows, 2, nil), make([]float64, rows)
	for i := range y {
		x.SetRow(i, []float64{1, 2 + random.NormFloat64()})
		y[i] = 3 + 0.7*x.At(i, 1) + random.NormFloat64()
	}
	length := stat.Variance(mat.Col(nil, 1, x), nil) * (rows - 1)
	for _, g := range []float64{0.02, 0.7, 40} {
		p := &regressionProblem{x: x, y: y, always: []int{0}, priorMean: []float64{0, 0}}
		for _, coordinates := range [][]int{{0}, {0, 1}} {
			exact, err := p.gPrior(g)(coordinates)
			require.NoError(t, err)
			numeric, err := over(line.Options{From: -20, To: 20, Step: 0.1, Depth: 60}, func(logSigma float64) (modelMoments, error) {
				p.priorSD = []float64{flat, math.Sqrt(g/length) * math.Exp(logSigma)}
				c, err := p.conjugate(coordinates)
				if err != nil {
					return modelMoments{}, err
				}
				return c.moments(logSigma), nil
			}, math.Exp)
			require.NoError(t, err)
			require.InDelta(t, numeric.logEvidence+math.Log(flat)+halfLog2Pi, exact.logEvidence, 1e-6, "g %g", g)
			for k := 1; k < len(exact.mean); k++ { // the slope, and last σ
				require.InDelta(t, numeric.mean[k], exact.mean[k], 1e-6)
				require.InDelta(t, numeric.variance[k], exact.variance[k], 1e-6)
			}
		}
	}
}

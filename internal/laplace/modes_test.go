package laplace

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/lab/testkit"
)

// byDifferences returns a log density of one parameter with its slope by central differences.
func byDifferences(logDensity func(x float64) float64) gradients {
	return func(_ context.Context, _ []int32, points *mat.Dense) ([]float64, *mat.Dense, error) {
		n, _ := points.Dims()
		values, slopes := make([]float64, n), mat.NewDense(n, 1, nil)
		for i := range n {
			x := points.At(i, 0)
			values[i] = logDensity(x)
			slopes.Set(i, 0, (logDensity(x+1e-5)-logDensity(x-1e-5))/2e-5)
		}
		return values, slopes, nil
	}
}

// TestModeKnowsItsDensity checks that draws follow the density that the proposal reports. The
// target is a normal density with the same mode and curvature, so the weights must have mean one.
// It allows 4.5 standard errors for each of three dimensions: a false alarm in 50,000 runs.
func TestModeKnowsItsDensity(t *testing.T) {
	for _, k := range []int{1, 3, 8} {
		random := stream.Rand(1, "proposal")
		root := mat.NewDense(k, k, nil)
		for i := range k {
			for j := range k {
				root.Set(i, j, random.NormFloat64())
			}
			root.Set(i, i, 3)
		}
		hessian := mat.NewSymDense(k, nil)
		hessian.SymOuterK(1, root)
		var cholesky mat.Cholesky
		require.True(t, cholesky.Factorize(hessian))
		center := make([]float64, k+1) // the first coordinate is not in the model
		active := make([]int, k)
		for a := range k {
			active[a], center[a+1] = a+1, random.NormFloat64()
		}
		square := func(theta []float64) float64 {
			d := mat.NewVecDense(k, nil)
			for a, j := range active {
				d.SetVec(a, theta[j]-center[j])
			}
			return mat.Inner(d, hessian, d)
		}
		evaluate := func(_ context.Context, _ []int32, points *mat.Dense) ([]float64, *mat.Dense, error) {
			n, _ := points.Dims()
			values, slopes := make([]float64, n), mat.NewDense(n, k+1, nil)
			for i := range n {
				row := points.RawRowView(i)
				values[i] = -square(row) / 2
				for a, j := range active {
					for b, l := range active {
						slopes.Set(i, j, slopes.At(i, j)-hessian.At(a, b)*(row[l]-center[l]))
					}
				}
			}
			return values, slopes, nil
		}
		proposal, err := newMode(t.Context(), Surface{surface: gradients(evaluate)}, nil, active, make([]float64, k+1))
		require.NoError(t, err)
		logZ := float64(k)/2*math.Log(2*math.Pi) - cholesky.LogDet()/2
		require.InDelta(t, logZ, proposal.LogEvidence, 1e-6)
		var weights []float64
		theta := make([]float64, k+1)
		for range 20_000 {
			proposal.draw(random, theta)
			require.Zero(t, theta[0])
			weights = append(weights, math.Exp(-square(theta)/2-logZ-proposal.logDensity(theta)))
		}
		mean, sd := stat.MeanStdDev(weights, nil)
		require.InDelta(t, 1, mean, 4.5*sd/math.Sqrt(float64(len(weights))))
		require.Less(t, sd, 1.5)
	}
}

// TestLaplaceIsABound counts how often a Laplace evidence plus Error is below the evidence computed
// by quadrature. The posteriors have logistic or Student likelihoods of 3 to 30 rows and a normal
// prior. In at most 2 of 200 cases may it be below.
func TestLaplaceIsABound(t *testing.T) {
	testkit.Slow(t)
	random := stream.Rand(2, "bound")
	exceeded := 0
	for trial := range 200 {
		n := 3 + random.IntN(28)
		x, y := make([]float64, n), make([]float64, n)
		for i := range n {
			x[i], y[i] = random.NormFloat64(), 3*random.NormFloat64()/math.Max(0.1, math.Abs(random.NormFloat64()))
		}
		logDensity := func(beta float64) float64 {
			sum := -beta * beta / 2 / 25
			for i := range n {
				if trial%2 == 0 {
					sign := math.Copysign(1, y[i])
					sum -= math.Log1p(math.Exp(-sign * x[i] * beta))
				} else {
					r := y[i] - x[i]*beta
					sum -= 2.5 * math.Log1p(r*r/4) // four degrees of freedom
				}
			}
			return sum
		}
		proposal, err := newMode(t.Context(), Surface{surface: byDifferences(logDensity)}, nil, []int{0}, []float64{0})
		require.NoError(t, err)
		require.NotNil(t, proposal)
		var sum float64
		const step = 0.004
		for beta := -40.0; beta <= 40; beta += step {
			sum += math.Exp(logDensity(beta)-proposal.AtMode) * step
		}
		if math.Log(sum)+proposal.AtMode > proposal.LogEvidence+Error {
			exceeded++
		}
	}
	require.LessOrEqual(t, exceeded, 2, "one in a hundred")
	t.Logf("exceeded %d times", exceeded)
}

package likelihood

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestColumns compares the results of SumColumns with sums of LogKernelAt over rows, for linear
// predictors with standard deviations from 1 to 1,000.
func TestColumns(t *testing.T) {
	random, found := rand.New(rand.NewPCG(31, 32)), 0
	for _, kind := range Kinds() {
		if kind.HasCategories() {
			continue
		}
		columns, ok := New(kind, Shape{Degrees: 3, Outlier: 0.1, Ratio: 10}).(Columns)
		if !ok {
			continue
		}
		found++
		t.Run(kind.String(), func(t *testing.T) {
			for _, far := range []float64{1, 30, 1000} {
				const n, m = 23, 5
				y, eta, z := make([]float64, n), make([]float64, n*m), make([]float64, n*m)
				scale, logScale := 1.0, 0.0
				if kind.Scale() != "" {
					scale, logScale = 0.7, math.Log(0.7)
				}
				for i := range y {
					y[i] = columns.Draw(random.NormFloat64(), scale, random)
					if kind == PoissonKind && i == 0 {
						y[i] = 3 * smallCount
					}
					a, b := columns.Line(y[i])
					for j := range m {
						eta[i*m+j] = far * random.NormFloat64()
						z[i*m+j] = (a*eta[i*m+j] + b) / scale
					}
				}
				sums := []float64{0, 1, 2, 3, 4}
				columns.SumColumns(y, z, sums)
				for j := range m {
					want, size := float64(j), 0.0
					for i, v := range y {
						term := columns.LogKernelAt(v, eta[i*m+j], scale) + logScale
						want, size = want+term, size+math.Abs(term)
						if kind == RobustKind { // the log density of an inlier, a term of the sum, has this size
							size += eta[i*m+j] * eta[i*m+j]
						}
						if kind == PoissonKind {
							size += math.Exp(min(eta[i*m+j], mostLogRatio)) + v*math.Abs(eta[i*m+j])
						}
					}
					require.InDelta(t, want, sums[j], 1e-14*(size+10), "column %d, spread %g", j, far)
				}
			}
		})
	}
	require.GreaterOrEqual(t, found, 5)
}

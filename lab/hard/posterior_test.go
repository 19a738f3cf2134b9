package hard

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/space"
	"github.com/transdim/vti/varsel/exact"
)

// smallProblem returns a regression with an intercept, three predictors and unequal prior means.
func smallProblem(n int, sigma float64, random *rand.Rand) *regressionProblem {
	p := &regressionProblem{
		x: mat.NewDense(n, 4, nil), y: make([]float64, n), offset: make([]float64, n), sigma: sigma,
		priorMean: []float64{0.3, 0, 0, 0}, priorSD: []float64{10, 1.5, 1.5, 1.5}, logSigmaSD: 2, logSigmaMean: 0.1,
		always: []int{0}, groups: [][]int{{1}, {2, 3}}, logPrior: space.Prior{Kind: space.UniformPrior}.LogProbs(2),
	}
	for i := range n {
		p.x.Set(i, 0, 1)
		for j := 1; j < 4; j++ {
			p.x.Set(i, j, random.NormFloat64())
		}
		p.offset[i] = random.NormFloat64()
		p.y[i] = p.offset[i] + p.x.At(i, 1) + 0.5*random.NormFloat64()
	}
	return p
}

func requireSame(t *testing.T, want, got *exactPosterior, tolerance float64) {
	t.Helper()
	require.InDelta(t, want.logEvidence, got.logEvidence, tolerance)
	require.InDeltaSlice(t, want.models, got.models, tolerance)
	require.InDeltaSlice(t, want.inclusion, got.inclusion, tolerance)
	for j := range want.meanIn[:4] {
		for _, pair := range [][2]float64{{want.meanIn[j], got.meanIn[j]}, {want.sdIn[j], got.sdIn[j]}} {
			require.InDelta(t, pair[0], pair[1], tolerance)
		}
	}
}

// TestGaussianIsThatOfEnumeration compares exact posteriors with the enumeration of the command vti
// exact, which uses other formulas, for known and unknown noise scale. Some tables have fewer rows
// than coefficients.
func TestGaussianIsThatOfEnumeration(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{2, 3, 8, 40} {
		for _, noise := range []float64{0, 0.7} {
			p := smallProblem(n, noise, random)
			got, err := p.solve(p.gaussian)
			require.NoError(t, err)
			y := make([]float64, n)
			for i := range y {
				y[i] = p.y[i] - p.offset[i]
			}
			known := exact.Noise{Mean: p.logSigmaMean, SD: p.logSigmaSD}
			if noise > 0 {
				known = exact.Noise{Log: math.Log(noise)}
			}
			want, err := exact.Enumerate(t.Context(), exact.Problem{
				X: p.x, Y: y, Always: p.always, Groups: p.groups, PriorMean: p.priorMean, PriorSD: p.priorSD,
				Noise: known, Prior: space.Prior{Kind: space.UniformPrior},
			})
			require.NoError(t, err)
			require.InDelta(t, want.LogEvidence, got.logEvidence, 1e-6)
			require.InDeltaSlice(t, want.Inclusion, got.inclusion, 1e-6)
			for j, c := range want.Coefficients {
				require.InDelta(t, c.GivenIn.Mean, got.meanIn[j], 1e-5)
				require.InDelta(t, c.GivenIn.SD, got.sdIn[j], 1e-5)
			}
			if noise == 0 {
				require.InEpsilon(t, want.Coefficients[4].Averaged.Mean, got.meanIn[4], 1e-4)
			}
		}
	}
}

// TestRobustWithoutOutliersIsGaussian checks that robust noise in which outliers have the same
// scale as other rows gives the posterior of normal noise.
func TestRobustWithoutOutliersIsGaussian(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{1, 2, 7} {
		p := smallProblem(n, 0.7, random)
		want, err := p.solve(p.gaussian)
		require.NoError(t, err)
		got, err := p.solve(p.robust(0.2, 1))
		require.NoError(t, err)
		requireSame(t, want, got, 1e-8)
	}
}

// TestRobustLeavesOutliersOut checks that a row far away is treated as an outlier: inclusion
// probabilities and means must be equal to those from the table without the row.
func TestRobustLeavesOutliersOut(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	p := smallProblem(9, 0.7, random)
	rest := *p
	rest.x, rest.y, rest.offset = p.x.Slice(0, 8, 0, 4).(*mat.Dense), p.y[:8], p.offset[:8]
	const ratio = 1e6
	want, err := rest.solve(rest.robust(1e-3, ratio))
	require.NoError(t, err)
	p.y[8] += 1e4
	got, err := p.solve(p.robust(1e-3, ratio))
	require.NoError(t, err)
	require.InDeltaSlice(t, want.inclusion, got.inclusion, 1e-4)
	require.InDeltaSlice(t, want.meanIn[:4], got.meanIn[:4], 1e-3)
}

// TestQuadratureOfNormalRows checks that quadrature over the parameters of a normal response gives
// the closed form.
func TestQuadratureOfNormalRows(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	for _, n := range []int{2, 12} {
		p := smallProblem(n, 0.7, random)
		p.groups = [][]int{{1}, {2}}
		want, err := p.solve(p.gaussian)
		require.NoError(t, err)
		got, err := p.solve(p.quadrature(func(y, eta float64) (value, slope, curvature float64) {
			r := (y - eta) / 0.7
			return -r*r/2 - halfLog2Pi + 0.35667494393873245, r / 0.7, 1 / (0.7 * 0.7)
		}))
		require.NoError(t, err)
		// coordinate 3 is unused
		want.meanIn, got.meanIn = append(want.meanIn[:3:3], 0), append(got.meanIn[:3:3], 0)
		require.InDelta(t, want.logEvidence, got.logEvidence, 1e-6)
		require.InDeltaSlice(t, want.inclusion, got.inclusion, 1e-6)
		require.InDeltaSlice(t, want.sdIn[:3], got.sdIn[:3], 1e-5)
		require.InDeltaSlice(t, want.meanIn[:3], got.meanIn[:3], 1e-5)
	}
}

// TestRowDensities checks that the densities of responses sum to one.
func TestRowDensities(t *testing.T) {
	for _, eta := range []float64{-2, 0.3, 3.9} {
		sum := 0.0
		for y := range 2 {
			value, _, _ := logisticRow(float64(y), eta)
			sum += math.Exp(value)
		}
		require.InDelta(t, 1, sum, 1e-12)
		sum = 0
		for y := range 200 {
			value, _, _ := poissonRow(float64(y), eta)
			sum += math.Exp(value)
		}
		require.InDelta(t, 1, sum, 1e-10)
	}
}

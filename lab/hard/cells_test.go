package hard

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/space"
)

// cellProblem returns a problem with an intercept and one or two predictors, with different prior
// means.
func cellProblem(n, predictors int, sigma float64, random *rand.Rand) *regressionProblem {
	p := smallProblem(n, sigma, random)
	p.groups = [][]int{{1}, {2}}[:predictors]
	return p
}

// requireSameUsed compares two posteriors of a cellProblem. It leaves out coordinates that are in
// no model.
func requireSameUsed(t *testing.T, p *regressionProblem, want, got *exactPosterior, tolerance float64) {
	t.Helper()
	require.InDelta(t, want.logEvidence, got.logEvidence, tolerance)
	require.InDeltaSlice(t, want.models, got.models, tolerance)
	used := []int{0, 1, 2}[:1+len(p.groups)]
	if p.sigma == 0 {
		used = append(used, 4)
	}
	for _, j := range used {
		require.InDelta(t, want.meanIn[j], got.meanIn[j], tolerance*want.sdIn[j])
		require.InEpsilon(t, want.sdIn[j], got.sdIn[j], tolerance)
	}
}

// TestCellsOfRobustRows compares integrals over cells with sums over sets of outliers, with known
// and unknown noise scale. Rows either agree, or are two groups that contradict each other, so that
// the posterior has two narrow modes far apart.
func TestCellsOfRobustRows(t *testing.T) {
	testkit.Slow(t)
	const share, ratio = 0.1, 10
	for name, c := range map[string]struct {
		rows, predictors int
		sigma, apart     float64
	}{
		"clean":        {9, 2, 0.7, 0},
		"two modes":    {8, 1, 0.01, 3},
		"hardly a row": {2, 2, 0.3, 0},
		"two scales":   {3, 1, 0, 3},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "two scales" {
				testkit.Long(t)
			}
			p := cellProblem(c.rows, c.predictors, c.sigma, rand.New(rand.NewPCG(9, 10)))
			for i := range c.rows / 2 {
				p.y[i] += c.apart
			}
			posteriorOf := p.robust(share, ratio)
			if c.sigma == 0 {
				posteriorOf = p.overSigma(func(fixed *regressionProblem) func([]int) (modelMoments, error) { return fixed.robust(share, ratio) })
			}
			want, err := p.solve(posteriorOf)
			require.NoError(t, err)
			got, err := p.solve(p.cells(robustRow(share, ratio)))
			require.NoError(t, err)
			requireSameUsed(t, p, want, got, 2e-3)
		})
	}
}

// TestCellsOfStudentRows checks that Student noise of many degrees of freedom gives the posterior
// of normal noise.
func TestCellsOfStudentRows(t *testing.T) {
	testkit.Slow(t)
	random := rand.New(rand.NewPCG(11, 12))
	for _, sigma := range []float64{0, 0.5} {
		p := cellProblem(7, 1, sigma, random)
		want, err := p.solve(p.gaussian)
		require.NoError(t, err)
		got, err := p.solve(p.cells(studentRow(1e7)))
		require.NoError(t, err)
		requireSameUsed(t, p, want, got, 1e-3)
	}
}

// TestCellsOfSixStudentRows compares the integral over cells with sums over fine grids of both
// coefficients and log σ, which a separate program computed. In this table, a tolerance of 1e-4 for
// each cell would make the log evidence 0.022 too large.
func TestCellsOfSixStudentRows(t *testing.T) {
	testkit.Slow(t)
	x := []float64{2.009914410168628, -1.251517792111427, -1.3032398392058848, -1.064611346349737, -0.929702071824918, -0.8555685665762929}
	y := []float64{-0.015068882344031963, -0.02427222629073984, -0.06696149609735452, -0.07757147693038104, -0.17783800240243747, -0.2204195267117442}
	p := &regressionProblem{
		x: mat.NewDense(6, 2, nil), priorMean: []float64{0, 0}, priorSD: []float64{10, 1.5}, logSigmaSD: 2,
		always: []int{0}, groups: [][]int{{1}}, logPrior: space.Prior{Kind: space.UniformPrior}.LogProbs(1),
	}
	xMean, xSD := stat.MeanStdDev(x, nil)
	yMean, ySD := stat.MeanStdDev(y, nil)
	for i := range x {
		p.x.SetRow(i, []float64{1, (x[i] - xMean) / xSD})
		p.y = append(p.y, (y[i]-yMean)/ySD)
	}
	got, err := p.solve(p.cells(studentRow(4)))
	require.NoError(t, err)
	require.InDelta(t, 1.332947688599445+6*math.Log(ySD), got.logEvidence, 2e-4)
	require.InDelta(t, 0.2991187997873971, got.inclusion[0], 2e-4)
	require.InDelta(t, 1.0477810896922082, got.meanIn[2], 2e-4)
	require.InDelta(t, 0.4948219, got.sdIn[2], 2e-4)
}

// TestRowBounds checks on a grid of residuals and scales that the upper bounds of the density of a
// row hold and are reached.
func TestRowBounds(t *testing.T) {
	const low, high = 0.3, 2.0
	for _, row := range []boundedRow{studentRow(4), robustRow(0.1, 10)} {
		for _, least := range []float64{0, 0.1, 0.5, 1.2, 5, 40} {
			largest := math.Inf(-1)
			for step := range 200 {
				sigma := low * math.Pow(high/low, float64(step)/199)
				for _, r := range []float64{least, least * 1.01, least + 0.3} {
					largest = math.Max(largest, row.standard(r*r/(sigma*sigma))-math.Log(sigma))
				}
			}
			bound := row.largest(least, low, high)
			require.LessOrEqual(t, largest, bound+1e-12)
			require.Less(t, bound-largest, 1.5)
		}
	}
}

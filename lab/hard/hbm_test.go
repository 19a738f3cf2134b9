package hard

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distmv"

	"github.com/transdim/vti/calibrate"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/hbm/regression"
	"github.com/transdim/vti/internal/line"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/likelihood"
)

// TestHbmStudy runs small studies of hierarchical regressions. All numbers of trusted answers must
// be right, also for parameters with heavy-tailed posteriors in difficult tables of a few rows.
func TestHbmStudy(t *testing.T) {
	testkit.Slow(t)
	device, err := gpu.OpenWith(gpu.Options{})
	require.NoError(t, err)
	defer device.Close()
	source := calibrate.Hbm{Device: device, Exact: ExactHbm, Rows: 24, Groups: 6}
	cfg := calibrate.Config{Replicates: 3, Seed: 1, Dir: t.TempDir()}
	list, err := calibrate.Run(t.Context(), source, cfg)
	require.NoError(t, err)
	s := calibrate.Summarize(source, cfg, list)
	require.Positive(t, s.Compared, "%v", s.Verdicts)
	require.Empty(t, s.Wrong)
	for _, r := range list {
		require.Empty(t, r.Error)
	}

	t.Run("difficult", func(t *testing.T) {
		testkit.Long(t)
		difficult := Hbm{Device: device}
		cfg = calibrate.Config{Replicates: 4, Seed: 24, Dir: t.TempDir()}
		list, err = calibrate.Run(t.Context(), difficult, cfg)
		require.NoError(t, err)
		s = calibrate.Summarize(difficult, cfg, list)
		require.Positive(t, s.Compared, "%v", s.Verdicts)
		require.Empty(t, s.Wrong)
	})
}

// TestExactHbmWithoutGroups checks that a prior scale of almost zero for the sd of groups gives the
// posterior of a regression on x alone.
func TestExactHbmWithoutGroups(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	table := drawGrouped(12, 3, random)
	got, err := table.exact(regression.Options{SDScale: 1e-9, ResponseSD: 1})
	require.NoError(t, err)
	one := *table
	one.groups = 1
	one.group = make([]int, 12)
	want, err := one.exact(regression.Options{SDScale: 1e-9, ResponseSD: 1})
	require.NoError(t, err)
	require.InDelta(t, want.logEvidence, got.logEvidence, 1e-6)
	require.InDeltaSlice(t, want.slope[:], got.slope[:], 1e-6)
	require.InDelta(t, 1e-9*math.Sqrt(2/math.Pi), got.spread[0], 1e-12, "the mean of a half-normal prior")
}

// TestExactLinked checks the quadrature for responses that are not normal. For a normal response
// with known noise, the quadrature must agree with the closed form. If the sd of groups is almost
// zero, it must agree with the quadrature of a regression without groups.
func TestExactLinked(t *testing.T) {
	testkit.Slow(t)
	random := rand.New(rand.NewPCG(3, 4))
	table := drawGrouped(9, 2, random)
	for i := range table.y {
		table.y[i] = float64(i / 2 % 2)
	}
	got, err := table.exactLinked(t.Context(), regression.Options{SDScale: 1e-6}, likelihood.LogisticKind)
	require.NoError(t, err)
	mean, sd := stat.MeanStdDev(table.x, nil)
	alone := &regressionProblem{x: mat.NewDense(9, 2, nil), y: table.y, priorMean: make([]float64, 2), priorSD: []float64{calibrate.InterceptSD, 1.5}}
	for i, x := range table.x {
		alone.x.SetRow(i, []float64{1, (x - mean) / sd})
	}
	want, err := alone.quadrature(logisticRow)([]int{0, 1})
	require.NoError(t, err)
	require.InDelta(t, want.logEvidence, got.logEvidence, 2e-3)
	require.InEpsilon(t, want.mean[1]/sd, got.slope[0], 5e-3)
	require.InEpsilon(t, math.Sqrt(want.variance[1])/sd, got.slope[1], 5e-3)

	for i := range table.y {
		table.y[i] = []float64{0, 1e6}[table.group[i]%2]
	}
	_, err = table.exactLinked(t.Context(), regression.Options{SDScale: 1e-3}, likelihood.PoissonKind)
	require.ErrorContains(t, err, "beyond the range of the integral")

	const noise = 0.7
	normal := func(y, eta float64) (value, slope, curvature float64) {
		r := (y - eta) / noise
		return -r*r/2 - halfLog2Pi - math.Log(noise), r / noise, 1 / (noise * noise)
	}
	covariance := mat.NewSymDense(3, nil) // covariance of the rows of one group, from effects and noise
	const spread = 1.3
	for a := range 3 {
		for b := range a + 1 {
			covariance.SetSym(a, b, spread*spread)
		}
		covariance.SetSym(a, a, spread*spread+noise*noise)
	}
	y := []float64{0.3, -1, 2}
	joint, ok := distmv.NewNormal(make([]float64, 3), covariance, nil)
	require.True(t, ok)
	require.InDelta(t, joint.LogProb(y), (&linked{row: normal, y: y, x: make([]float64, 3)}).logEffects([]int{0, 1, 2}, []float64{0, 0}, spread, nil, nil), 1e-6)
}

// TestExactShapedGroups checks the quadrature for responses with a parameter besides the linear
// predictor. If the sd of groups is almost zero, it must agree with the exact answer without
// groups. For normal rows, whose parameter is the noise scale, it must agree with the closed form.
// Gradients of the integrals over effects must agree with finite differences.
func TestExactShapedGroups(t *testing.T) {
	testkit.Slow(t)
	random := rand.New(rand.NewPCG(5, 6))
	table := drawGrouped(7, 2, random)
	alone := &regressionProblem{x: mat.NewDense(7, 2, nil), y: table.y, priorMean: make([]float64, 2), priorSD: []float64{calibrate.InterceptSD, 1.5}}
	mean, sd := stat.MeanStdDev(table.x, nil)
	for i, x := range table.x {
		alone.x.SetRow(i, []float64{1, (x - mean) / sd})
	}
	for _, kind := range []likelihood.Kind{likelihood.BetaKind, likelihood.NegativeBinomialKind, likelihood.ZeroInflatedKind} {
		for i := range table.y {
			table.y[i] = drawShaped(kind, 0.5+table.x[i]/2, 5, random)
		}
		alone.logSigmaSD = logShapeSD(kind)
		got, err := table.exactLinked(t.Context(), regression.Options{SDScale: 1e-6}, kind)
		require.NoError(t, err)
		want, err := alone.shaped(shapedRows(kind), true)([]int{0, 1})
		require.NoError(t, err)
		require.InDelta(t, want.logEvidence, got.logEvidence, 3e-3, "%v", kind)
		require.InDelta(t, want.mean[1]/sd, got.slope[0], 5e-3*got.slope[1])
		require.InEpsilon(t, math.Sqrt(want.variance[1])/sd, got.slope[1], 5e-3)
	}

	table = drawGrouped(7, 2, random)
	want, err := table.exact(regression.Options{ResponseSD: 1})
	require.NoError(t, err)
	l := &linked{y: table.y, rows: make([][]int, 2), level: normalAround(0, calibrate.InterceptSD), slopeSD: 1.5, unit: 1}
	mean, sd = stat.MeanStdDev(table.x, nil)
	for i, g := range table.group {
		l.rows[g], l.x = append(l.rows[g], i), append(l.x, (table.x[i]-mean)/sd)
	}
	got, err := l.overScale(t.Context(), func(sigma float64) (rowDensity, float64) {
		return func(y, eta float64) (value, slope, curvature float64) {
			return normalAround(y, sigma)(0, eta)
		}, logNormal(math.Log(sigma), 0, logScaleSD)
	})
	require.NoError(t, err)
	require.InDelta(t, want.logEvidence, got.logEvidence, 3e-3)
	require.InDelta(t, want.slope[0]*sd, got.mean[1], 5e-3*want.slope[1]*sd)
	require.InEpsilon(t, want.slope[1]*sd, math.Sqrt(got.variance[1]), 5e-3)
	require.InEpsilon(t, want.spread[0], got.mean[2], 5e-3)
	require.InEpsilon(t, want.spread[1], math.Sqrt(got.variance[2]), 5e-3)

	one := &linked{row: betaRow(3), y: []float64{0.2, 0.9, 0.4}, x: []float64{1, -0.5, 2}}
	logEffects := func(beta []float64) float64 { return one.logEffects([]int{0, 1, 2}, beta, 1.3, nil, nil) }
	gradient := make([]float64, 2)
	one.logEffects([]int{0, 1, 2}, []float64{0.3, -0.2}, 1.3, gradient, make([]float64, 4))
	const step = 1e-3
	require.InDelta(t, (logEffects([]float64{0.3 + step, -0.2})-logEffects([]float64{0.3 - step, -0.2}))/(2*step), gradient[0], 1e-4)
	require.InDelta(t, (logEffects([]float64{0.3, -0.2 + step})-logEffects([]float64{0.3, -0.2 - step}))/(2*step), gradient[1], 1e-4)
}

// TestCertainRowsOfGroups checks a table in which effects of groups matter although almost all rows
// have probabilities near 0 or 1 at the mode of intercept and slope. The expected numbers come from
// a separate program in Python: sums over a grid with steps of 0.2 in the log sd and the slope and
// 0.4 in the intercept, with 120 Gauss-Hermite nodes for each group.
func TestCertainRowsOfGroups(t *testing.T) {
	testkit.Long(t)
	source := Hbm{}
	source.Record.Frame.Response = likelihood.LogisticKind
	for seed, want := range map[uint64]struct{ logEvidence, slope, logSlopeSD, spread, logSpreadSD float64 }{
		32202566205129: {-12.4897, -0.5762, -0.1794, 1.3555, -0.3616},
		80394593711317: {-32.5170, -3.0499, -0.9754, 1.6246, -0.3719},
	} {
		got, err := source.draw(stream.Rand(seed, "hbm")).exactLinked(t.Context(), regression.Options{}, likelihood.LogisticKind)
		require.NoError(t, err)
		require.InDelta(t, want.logEvidence, got.logEvidence, 4e-3)
		require.InDelta(t, want.slope, got.slope[0]/got.slope[1], 5e-3)
		require.InDelta(t, want.logSlopeSD, math.Log(got.slope[1]), 5e-3)
		require.InDelta(t, want.spread, got.spread[0]/got.spread[1], 5e-3)
		require.InDelta(t, want.logSpreadSD, math.Log(got.spread[1]), 5e-3)
	}
}

// TestExactOrderedRows compares the densities of ordered categories with package likelihood, and
// checks that the prior of the cut points integrates to one.
func TestExactOrderedRows(t *testing.T) {
	for _, kind := range []likelihood.Kind{likelihood.CumulativeLogitKind, likelihood.CumulativeProbitKind} {
		categories := likelihood.NewCategories(kind, 3).(likelihood.OrderedCategories)
		for _, point := range []struct{ level, gap, x float64 }{{0.3, 1.2, -0.7}, {-6, 0.01, 2}, {4, 9, 1}} {
			cuts := categories.Cut([]float64{-point.level, point.gap - point.level})
			for y := range 3 {
				value, slope, _ := gapRow(kind)(point.gap)(float64(y), point.level+point.x)
				require.InDelta(t, cuts.LogKernelAt(float64(y), point.x, 0), value, 1e-8)
				const step = 1e-4
				above, _, _ := gapRow(kind)(point.gap)(float64(y), point.level+point.x+step)
				below, _, _ := gapRow(kind)(point.gap)(float64(y), point.level+point.x-step)
				require.InDelta(t, (above-below)/(2*step), slope, 1e-5)
			}
		}
		whole, err := line.Integrate(line.Options{Step: 0.5}, func(log float64) (float64, struct{}, error) {
			level := levelOf(kind, math.Exp(log))
			found, err := line.Of(line.Options{From: math.Exp(log) / 2, To: math.Exp(log) / 2, Step: 0.5}, func(b float64) float64 { v, _, _ := level(0, b); return v })
			if err != nil {
				return 0, struct{}{}, err
			}
			return found.Log + log, struct{}{}, nil
		})
		require.NoError(t, err)
		require.InDelta(t, 0, whole.Log, 1e-5)
	}
}

// TestHardHbmTables checks that the same seed gives the same table, and that every group has a row.
func TestHardHbmTables(t *testing.T) {
	for seed := range uint64(50) {
		a := Hbm{}.draw(stream.Rand(seed, "hbm"))
		require.Equal(t, a, Hbm{}.draw(stream.Rand(seed, "hbm")))
		seen := make(map[int]bool)
		for _, g := range a.group {
			seen[g] = true
		}
		require.Len(t, seen, a.groups)
	}
}

// TestNoiseFarBelowGroups checks the answer for a table whose noise is 10⁻⁸ of the spread of
// groups. The test guards against computations from cross-products of columns: in double precision
// these hold no digit of the noise, and the log evidence can be 0.07 too small, 14 times its
// standard error.
func TestNoiseFarBelowGroups(t *testing.T) {
	testkit.Long(t)
	device, err := gpu.OpenWith(gpu.Options{})
	require.NoError(t, err)
	defer device.Close()
	g := likelihood.GaussianKind
	source := Hbm{Device: device, Responses: []likelihood.Kind{g, g, g, likelihood.LogisticKind, likelihood.PoissonKind}}
	cfg := calibrate.Config{Replicates: 1, Seed: 1303, Dir: t.TempDir()}
	r, err := calibrate.One(t.Context(), source, cfg, 326)
	require.NoError(t, err)
	require.Contains(t, r.About, "20 rows, 15 groups")
	require.Equal(t, "trusted", r.Verdict, r.Reasons)
	require.Empty(t, calibrate.Summarize(source, cfg, []*calibrate.Replicate{r}).Wrong)
}

// TestTimesOfLargeShapesInGroups checks Weibull times with a shape of a hundred or more, which show
// the effect of a group to a hundredth. Newton steps to the mode can go far beyond the mode there.
func TestTimesOfLargeShapesInGroups(t *testing.T) {
	testkit.Long(t)
	device, err := gpu.OpenWith(gpu.Options{})
	require.NoError(t, err)
	defer device.Close()
	source := Hbm{Device: device}
	source.Record.Frame.Response = likelihood.WeibullKind
	cfg := calibrate.Config{Replicates: 1, Seed: 3703, Dir: t.TempDir()}
	for replicate, about := range map[int]string{2: "12 rows, 4 groups", 24: "6 rows, 5 groups"} {
		r, err := calibrate.One(t.Context(), source, cfg, replicate)
		require.NoError(t, err)
		require.Contains(t, r.About, about)
		require.Equal(t, "trusted", r.Verdict, r.Reasons)
		s := calibrate.Summarize(source, cfg, []*calibrate.Replicate{r})
		require.Positive(t, s.Compared)
		require.Empty(t, s.Wrong)
	}
}

// drawGrouped draws a table from the priors of vti hbm.
func drawGrouped(rows, groups int, random *rand.Rand) *grouped {
	t := &grouped{groups: groups}
	slope, spread, sigma := 1.5*random.NormFloat64(), math.Abs(random.NormFloat64()), math.Exp(logScaleSD*random.NormFloat64())
	level, effects := calibrate.InterceptSD*random.NormFloat64(), make([]float64, groups)
	for g := range effects {
		effects[g] = spread * random.NormFloat64()
	}
	for i := range rows {
		g, x := i%groups, random.NormFloat64()
		t.group, t.x, t.y = append(t.group, g), append(t.x, x), append(t.y, level+slope*x+effects[g]+sigma*random.NormFloat64())
	}
	return t
}

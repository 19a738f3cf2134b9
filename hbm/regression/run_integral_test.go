package regression

import (
	gocontext "context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/hbm"
	"github.com/transdim/vti/hbm/frame"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/lab/testkit"
)

// crossedTable returns a table of two crossed groupings: every plate of an assay has every sample.
func crossedTable(seed uint64, plates, samples int) string {
	random := rand.New(rand.NewPCG(seed, 21))
	height := make([]float64, samples)
	for i := range height {
		height[i] = 2 * random.NormFloat64()
	}
	text := "y,plate,sample\n"
	for p := range plates {
		effect := 0.8 * random.NormFloat64()
		for s := range samples {
			text += fmt.Sprintf("%.4g,p%d,s%d\n", 23+effect+height[s]+0.5*random.NormFloat64(), p, s)
		}
	}
	return text
}

// nestedTable returns a table of plots in blocks, with a slope.
func nestedTable(seed uint64, blocks, plots, each int) string {
	random := rand.New(rand.NewPCG(seed, 22))
	text := "y,x,block,plot\n"
	for b := range blocks {
		height := 0.6 * random.NormFloat64()
		for p := range plots {
			effect := 0.4 * random.NormFloat64()
			for range each {
				x := random.NormFloat64()
				text += fmt.Sprintf("%.4g,%.4g,b%d,v%d\n", 1+0.5*x+height+effect+0.3*random.NormFloat64(), x, b, p)
			}
		}
	}
	return text
}

// gridOf returns the log evidence of a regression with three hyperparameters, and the posterior
// means of its standard deviations, by sums over a fine grid. The error of the trapezoid rule falls
// exponentially with the step for densities that fade out on both sides.
func gridOf(t testing.TB, r *Regression) (logEvidence float64, sds []float64) {
	t.Helper()
	effects, mask, theta := newJointEffects(r), r.space.masks[0], make([]float64, r.Dim())
	free := r.hyperparameters(mask)
	require.Len(t, free, 3)
	require.Equal(t, noiseCoordinate, r.coordinates[free[2]].kind)
	var values []float64
	var points [][2]float64
	// over evaluates the density at count points on each axis, and returns the box around the
	// points whose log density is within 20 nats of the largest.
	over := func(low, high, count [3]float64) (inLow, inHigh [3]float64) {
		values, points = nil, nil
		var step [3]float64
		volume := 1.0
		for k := range step {
			step[k] = (high[k] - low[k]) / count[k]
			volume *= step[k]
		}
		var places [][3]float64
		for a := low[0]; a <= high[0]; a += step[0] {
			for b := low[1]; b <= high[1]; b += step[1] {
				for noise := low[2]; noise <= high[2]; noise += step[2] {
					theta[free[0]], theta[free[1]], theta[free[2]] = a, b, noise
					values = append(values, effects.logMarginal(mask, theta)+math.Log(volume))
					first, _ := scaleRatio(a)
					second, _ := scaleRatio(b)
					points = append(points, [2]float64{math.Exp(first), math.Exp(second)})
					places = append(places, [3]float64{a, b, noise})
				}
			}
		}
		largest := slices.Max(values)
		inLow, inHigh = high, low
		for i, value := range values {
			for k, x := range places[i] {
				if value > largest-20 {
					inLow[k], inHigh[k] = math.Min(inLow[k], x-step[k]), math.Max(inHigh[k], x+step[k])
				}
			}
		}
		return inLow, inHigh
	}
	low, high := over([3]float64{-8, -8, -12}, [3]float64{6, 6, 1}, [3]float64{28, 28, 104})
	low, high = over(low, high, [3]float64{20, 20, 20})
	over(low, high, [3]float64{45, 45, 30})
	total := logsum.Of(values)
	sds = make([]float64, 2)
	for i, value := range values {
		for k := range sds {
			sds[k] += math.Exp(value-total) * points[i][k] * r.Options.SDScale * r.ySD
		}
	}
	return total + r.logJacobian, sds
}

// Crossed and nested groupings are integrated out together. On simulated tables of an assay and of
// a field trial the answer is trusted. Evidences agree with sums over a grid within four standard
// errors, and the means of the three standard deviations within a twentieth of their posterior
// standard deviations.
func TestCrossedGroupingsAreExact(t *testing.T) {
	testkit.Long(t)
	for name, c := range map[string]struct{ table, formula string }{
		"assay":       {crossedTable(1, 24, 6), "y ~ 1 + (1 | plate) + (1 | sample)"},
		"small assay": {crossedTable(2, 6, 4), "y ~ 1 + (1 | plate) + (1 | sample)"},
		"field":       {nestedTable(3, 6, 3, 4), "y ~ x + (1 | block/plot)"},
	} {
		t.Run(name, func(t *testing.T) {
			f := frameOf(t, c.table, frame.Options{Formula: c.formula})
			logEvidence, sds := gridOf(t, newRegression(t, f, Options{}))
			result, _ := runRegression(t, f, Options{}, vti.Config{Seed: 1})
			require.Equal(t, vti.Trusted, result.Certificate.Verdict, result.Certificate.Reasons)
			assert.InDelta(t, logEvidence, float64(*result.LogEvidence), 4*float64(*result.LogEvidenceSE))
			for k, want := range sds {
				assert.InDelta(t, want, float64(result.SDs[k].Mean), 0.05*float64(result.SDs[k].SD), result.SDs[k].Name)
			}
		})
	}
}

func TestExactRunCancelled(t *testing.T) {
	r := newRegression(t, frameOf(t, crossedTable(1, 24, 6), frame.Options{Formula: "y ~ 1 + (1 | plate) + (1 | sample)"}), Options{})
	ctx, cancel := gocontext.WithCancel(t.Context())
	cancel()
	_, err := r.Run(ctx, open(t, gpu.CPU), Run{Dir: t.TempDir()})
	require.ErrorIs(t, err, gocontext.Canceled)

	ctx, cancel = gocontext.WithCancel(t.Context())
	defer cancel()
	_, err = r.Run(ctx, open(t, gpu.CPU), Run{Dir: t.TempDir(), Certify: vti.CertifyConfig{Progress: func(done, _ int) { cancel() }}})
	require.ErrorIs(t, err, gocontext.Canceled)
}

// A mean-field family cannot represent effects that depend on each other, here the effects of a
// block and of its plots. The comparison with moments by numerical integration therefore rejects
// the answer.
func TestFamiliesAreComparedWithIntegrals(t *testing.T) {
	testkit.Long(t)
	r := newRegression(t, frameOf(t, dependentTable(5), frame.Options{Formula: "y ~ 0 + (1 | block/plot)"}), Options{})
	meanField := runFamily(t, r, FamilyRun{Fit: hbm.Config{Family: hbm.MeanField, Steps: 300}})
	require.Equal(t, vti.Failed, meanField.Certificate.Verdict)
	require.Contains(t, strings.Join(meanField.Certificate.Reasons, "\n"), "by exact integration")
}

// dependentTable returns two rows of each of three plots in ten blocks. Plots differ more than
// blocks.
func dependentTable(seed uint64) string {
	random := rand.New(rand.NewPCG(seed, 23))
	text := "y,block,plot\n"
	for b := range 10 {
		height := 1.3 * random.NormFloat64()
		for p := range 3 {
			effect := 2.9 * random.NormFloat64()
			for range 2 {
				text += fmt.Sprintf("%.4g,b%d,p%d\n", height+effect+0.8*random.NormFloat64(), b, p)
			}
		}
	}
	return text
}

// If densities are marked as costly, the answer uses fewer draws and stores the effects of each
// draw. Its evidence and moments agree with the answer by many draws.
func TestDearIntegralsAgree(t *testing.T) {
	r := newRegression(t, frameOf(t, grouped18, frame.Options{Formula: "y ~ x + (1 | g) + (1 | h)"}), Options{SDPrior: HalfNormalSD})
	many, err := r.integrate(t.Context(), r.effort(), 1, nil)
	require.NoError(t, err)
	r.joint().dear = true
	few, err := r.integrate(t.Context(), dearEffort, 2, nil)
	require.NoError(t, err)
	require.LessOrEqual(t, few.Draws, dearEffort.most)
	require.Len(t, few.list[0].kept, few.Draws)
	require.NotNil(t, few.list[0].kept[0].drawn)
	require.Less(t, few.LogEvidenceSE, 2*laplaceSE)
	require.InDelta(t, many.LogEvidence, few.LogEvidence, 4*math.Hypot(many.LogEvidenceSE, few.LogEvidenceSE))
	for k := range r.quantities() {
		want, got := many.moments.moments(k), few.moments.moments(k)
		require.InDelta(t, want.Mean, got.Mean, 5*math.Hypot(want.MeanSE, got.MeanSE), "quantity %d", k)
		require.InDelta(t, want.SD, got.SD, 5*math.Hypot(want.SDSE, got.SDSE), "quantity %d", k)
	}
	sample, err := few.sample(t.Context())
	require.NoError(t, err)
	mean, sd := stat.MeanStdDev(mat.Col(nil, 1, sample.draws), nil)
	want := many.moments.moments(1)
	require.InDelta(t, want.Mean, mean, 5*want.SD/math.Sqrt(few.ESS))
	require.InDelta(t, 1, sd/want.SD, 5/math.Sqrt(few.ESS))
}

// Level a2 has the same rows as level b2 of another grouping. Only the priors tell the two effects
// apart: given their standard deviations s and t, their posterior means have the ratio s² / t².
// Even with noise of 1e-11 rounding must not change this ratio.
func TestLevelsWithTheSameRows(t *testing.T) {
	text := "y,a,b\n-1,a0,b1\n10,a0,b0\n0,a1,b1\n0,a2,b2\n0,a1,b1\n0,a2,b2\n0,a2,b2\n0,a1,b1\n"
	r := newRegression(t, frameOf(t, text, frame.Options{Formula: "y ~ 1 + (1|a) + (1|b)"}), Options{})
	effects, theta := r.joint(), make([]float64, r.Dim())
	for _, noise := range []float64{1e-3, 1e-6, 1e-9, 1e-11} {
		theta[r.noise] = math.Log(noise)
		posterior, ok := effects.posterior(r.space.masks[0], theta)
		require.True(t, ok)
		mean := posterior.effectsOf(posterior.centre)
		s, u := posterior.factors[0][0][0], posterior.factors[1][0][0]
		a, b := mean[effects.firstOf[0]+r.groups[0].Index[3]], mean[effects.firstOf[1]+r.groups[1].Index[3]]
		require.Greater(t, math.Abs(a), 0.01)
		require.InDelta(t, s*s/(u*u), a/b, 1e-4, "noise %g: %g and %g", noise, a, b)
		require.Less(t, posterior.rounding, 1e-2)
	}
}

// Residual sums of squares from stored sums agree with sums over the residuals of the rows, which
// are used if a difference of stored sums, or the precision, would lose all digits.
func TestSquaresFromSums(t *testing.T) {
	r := newRegression(t, frameOf(t, grouped18, frame.Options{Formula: "y ~ x + (1 + x | g)"}), Options{})
	theta := make([]float64, r.Dim())
	for noise, fromRows := range map[float64]bool{1: false, 1e-2: false, 1e-6: true} {
		theta[r.noise] = math.Log(noise)
		posterior, ok := r.joint().posterior(r.space.masks[0], theta)
		require.True(t, ok)
		squares, rows := posterior.solve(0), posterior.solve(math.Inf(1))
		require.Equal(t, fromRows, squares == rows, "noise %g", noise)
		if !fromRows {
			require.InDelta(t, rows, squares, 1e-8, "noise %g", noise)
		}
	}
}

// quadratureEvidence returns log p(y | m) of a gaussian response in the units of the table, without
// sampling. Effects are integrated out in closed form, and standard deviations, correlations and
// noise by a product of Gauss-Hermite rules of nodes points around their mode.
func quadratureEvidence(t testing.TB, r *Regression, code []int32, nodes int) float64 {
	t.Helper()
	mask := r.space.MaskRow(code, nil)
	free, effects := r.hyperparameters(mask), newJointEffects(r)
	theta := make([]float64, r.Dim())
	integral, err := adaptiveHermite(func(h []float64) float64 {
		for i, j := range free {
			theta[j] = h[i]
		}
		return effects.logMarginal(mask, theta)
	}, len(free), nodes)
	require.NoError(t, err)
	return integral + r.logJacobian
}

// adaptiveHermite returns log ∫ exp(f) by a product Gauss-Hermite rule in the coordinates in which
// f has unit curvature at its mode.
func adaptiveHermite(f func([]float64) float64, dim, nodes int) (float64, error) {
	best, err := optimize.Minimize(optimize.Problem{Func: func(h []float64) float64 { return finiteOr(-f(h), 1e100) }}, make([]float64, dim),
		&optimize.Settings{FuncEvaluations: 4000}, &optimize.NelderMead{})
	if err != nil {
		return 0, err
	}
	hessian := mat.NewSymDense(dim, nil)
	fd.Hessian(hessian, func(h []float64) float64 { return -f(h) }, best.X, &fd.Settings{Step: 1e-3})
	var eigen mat.EigenSym
	if !eigen.Factorize(hessian, true) {
		return 0, fmt.Errorf("the curvature at the mode has no eigenvalues")
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	logVolume := 0.0
	for i, value := range eigen.Values(nil) {
		width := 1 / math.Sqrt(math.Max(value, 0.05)) // bounds the width if the curvature is small
		logVolume += math.Log(width)
		for k := range dim {
			vectors.Set(k, i, vectors.At(k, i)*width)
		}
	}
	// ∫ g(x) dx with g(x) = exp(f(mode + W x)) |W|: nodes √2 t and weights w e^(t²) √2 of the rule
	// for e^(−t²).
	t, w := make([]float64, nodes), make([]float64, nodes)
	quad.Hermite{}.FixedLocations(t, w, math.Inf(-1), math.Inf(1))
	place := make([]int, dim)
	h := make([]float64, dim)
	var values []float64
	for {
		copy(h, best.X)
		logWeight := logVolume
		for i, at := range place {
			logWeight += math.Log(w[at]) + t[at]*t[at] + math.Ln2/2
			for k := range dim {
				h[k] += vectors.At(k, i) * t[at] * math.Sqrt2
			}
		}
		values = append(values, finiteOr(f(h), math.Inf(-1))+logWeight)
		i := dim - 1
		for ; i >= 0; i-- {
			if place[i]++; place[i] < nodes {
				break
			}
			place[i] = 0
		}
		if i < 0 {
			return logsum.Of(values), nil
		}
	}
}

func finiteOr(x, fallback float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return fallback
	}
	return x
}

// The quadrature over standard deviations, correlation and noise agrees with a sum over a fine
// grid, and more nodes give the same value.
func TestQuadratureEvidence(t *testing.T) {
	r := newRegression(t, frameOfFile(t, "sleepstudy.csv", frame.Options{Formula: "Reaction ~ Days + (1 | Subject)"}), Options{})
	effects, mask, theta := newJointEffects(r), r.space.masks[0], make([]float64, r.Dim())
	free := r.hyperparameters(mask)
	require.Len(t, free, 2)
	var values []float64
	const step = 0.05
	for tau := -8.0; tau < 6; tau += step {
		for noise := -2.0; noise < 1; noise += step {
			theta[free[0]], theta[free[1]] = tau, noise
			values = append(values, effects.logMarginal(mask, theta)+2*math.Log(step))
		}
	}
	code := make([]int32, 1)
	assert.InDelta(t, logsum.Of(values)+r.LogJacobian(), quadratureEvidence(t, r, code, 13), 1e-3)
	for _, formula := range []string{"Reaction ~ Days + (Days | Subject)", "Reaction ~ Days + (Days || Subject)"} {
		r := newRegression(t, frameOfFile(t, "sleepstudy.csv", frame.Options{Formula: formula}), Options{})
		assert.InDelta(t, quadratureEvidence(t, r, code, 13), quadratureEvidence(t, r, code, 9), 2e-3, formula)
	}
}

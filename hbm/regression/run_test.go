package regression

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/transdim/vti/hbm/frame"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti"
	"github.com/transdim/vti/cosmic"
	"github.com/transdim/vti/hbm/formula"
	"github.com/transdim/vti/internal/draws"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/table"
)

func find(t testing.TB, list []Summary, name string) Summary {
	t.Helper()
	for _, s := range list {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("no %q among %v", name, list)
	return Summary{}
}

// Answers for eight schools under the priors of the reference posterior (posteriordb) agree with
// 10,000 reference draws: means within 0.1 sd, and sds within a tenth.
func TestEightSchools(t *testing.T) {
	f := frameOfFile(t, "eight_schools.csv", frame.Options{Formula: "y ~ 1 + (1 | school)", SE: "sigma"})
	unit := newRegression(t, f, Options{}).ySD
	opt := Options{Intercept: &NormalPrior{Mean: 0, SD: 5}, SDPrior: HalfCauchySD, SDScale: 5 / unit}
	result, _ := runRegression(t, f, opt, vti.Config{Steps: 150, Batch: 512, Seed: 3})
	require.Equal(t, vti.Trusted, result.Certificate.Verdict, result.Certificate.Reasons)
	reference, err := table.ReadFile(filepath.Join("..", "..", "testdata", "eight_schools_reference.csv"))
	require.NoError(t, err)
	names, err := reference.Lookup("parameter")
	require.NoError(t, err)
	want := map[string][2]float64{}
	for row := range reference.Rows() {
		mean, err := reference.Lookup("mean")
		require.NoError(t, err)
		sd, err := reference.Lookup("sd")
		require.NoError(t, err)
		want[names.Text(row)] = [2]float64{mean.Values[row], sd.Values[row]}
	}
	check := func(name string, mean, sd Figure) {
		assert.InDelta(t, want[name][0], float64(mean), 0.1*want[name][1], name)
		assert.InDelta(t, want[name][1], float64(sd), 0.1*want[name][1], name)
	}
	mu := find(t, result.Effects, formula.InterceptName)
	check("mu", mu.Mean, mu.SD)
	tau := find(t, result.SDs, "sd((Intercept) | school)")
	check("tau", tau.Mean, tau.SD)
	for k, v := range result.Varying { // theta = mu + effect
		name := "theta" + strconv.Itoa(k+1)
		assert.InDelta(t, want[name][0], float64(mu.Mean+v.Mean), 0.1*want[name][1], name)
	}
}

// Moments of draws of the effects of each level, for a gaussian response, agree with their normal
// distribution given θ.
func TestEffectsGivenTheRest(t *testing.T) {
	r := newRegression(t, frameOf(t, grouped18, frame.Options{Formula: "y ~ x + (1 + x | g) + (1 | h)"}), Options{})
	mask, theta := r.space.masks[0], make([]float64, r.Dim())
	for j := range theta {
		theta[j] = 0.25 * float64(j%4-1)
	}
	eta, sigma, factor := predictorAt(r, mask, theta), r.noiseAt(theta), r.factorAt(r.inner, mask, theta, r.sdsAt(theta))
	rows, point := r.innerRows(), pointAt(newInnerRule(r, coarseNodes), mask, theta)
	random := stream.Rand(4, "effects")
	for level := range r.inner.Levels {
		// u ~ N(0, I), y = η + Z Λ u + noise: precision I + Λᵀ Zᵀ Z Λ / σ².
		q := len(factor)
		effects := mat.NewDense(len(rows[level]), q, nil)
		residual := mat.NewVecDense(len(rows[level]), nil)
		for k, i := range rows[level] {
			residual.SetVec(k, r.y[i]-eta[i])
			for c := range q {
				for a := c; a < q; a++ {
					effects.Set(k, c, effects.At(k, c)+r.inner.z.At(i, a)*factor[a][c])
				}
			}
		}
		var precision, covariance mat.Dense
		precision.Mul(effects.T(), effects)
		for a := range q {
			for b := range q {
				precision.Set(a, b, precision.At(a, b)/(sigma*sigma))
			}
			precision.Set(a, a, precision.At(a, a)+1)
		}
		require.NoError(t, covariance.Inverse(&precision))
		var right, mean mat.VecDense
		right.MulVec(effects.T(), residual)
		mean.MulVec(&covariance, &right)
		mean.ScaleVec(1/(sigma*sigma), &mean)
		const n = 4000
		sums, squares := make([]float64, q), make([]float64, q)
		for range n {
			u := point.draw(level, random)
			for a := range q {
				sums[a] += u[a] / n
				squares[a] += u[a] * u[a] / n
			}
		}
		for a := range q {
			sd := math.Sqrt(covariance.At(a, a))
			// five standard errors: false alarms below 1e-5
			assert.InDelta(t, mean.AtVec(a), sums[a], 5*sd/math.Sqrt(n))
			assert.InDelta(t, sd, math.Sqrt(squares[a]-sums[a]*sums[a]), 5*sd/math.Sqrt(2*n))
		}
	}
}

// Moments of draws of the effect of a level, for counts given θ, agree with sums over a grid.
func TestEffectsOfCounts(t *testing.T) {
	r := newRegression(t, frameOf(t, counts18, frame.Options{Formula: "y ~ x + (1 | g)", Response: likelihood.PoissonKind}), Options{})
	mask, theta := r.space.masks[0], make([]float64, r.Dim())
	theta[0], theta[2] = 0.8, 1.5
	eta, factor := predictorAt(r, mask, theta), r.factorAt(r.inner, mask, theta, r.sdsAt(theta))
	rows := r.innerRows()[1]
	var mass, first, second float64
	for u := -6.0; u < 6; u += 0.01 {
		logDensity := -u * u / 2
		for _, i := range rows {
			logDensity += likelihood.New(likelihood.PoissonKind, likelihood.Shape{}).LogKernelAt(r.y[i], eta[i]+factor[0][0]*u, 1)
		}
		mass += math.Exp(logDensity)
		first += u * math.Exp(logDensity)
		second += u * u * math.Exp(logDensity)
	}
	mean, sd := first/mass, math.Sqrt(second/mass-first*first/mass/mass)
	random, point := stream.Rand(4, "effects"), pointAt(newInnerRule(r, coarseNodes), mask, theta)
	const n = 6000
	sum, squares := 0.0, 0.0
	for range n {
		u := point.draw(1, random)
		sum += u[0] / n
		squares += u[0] * u[0] / n
	}
	// resampling from effectCandidates draws leaves an error of about a hundredth of an sd
	assert.InDelta(t, mean, sum, 5*sd/math.Sqrt(n)+0.01*sd)
	assert.InDelta(t, sd, math.Sqrt(squares-sum*sum), 0.06*sd)
}

// A run writes its answer. Its numbers agree with the classical fit if the data dominate.
func TestRegressionRun(t *testing.T) {
	testkit.Slow(t)
	f := frameOfFile(t, "sleepstudy.csv", frame.Options{Formula: "Reaction ~ Days + (Days | Subject)"})
	result, dir := runRegression(t, f, Options{}, vti.Config{Steps: 150, Batch: 512, Flow: cosmic.Config{Layers: 3}, Seed: 2})
	require.Equal(t, vti.Trusted, result.Certificate.Verdict, result.Certificate.Reasons)
	assert.InDelta(t, -891.41, float64(*result.LogEvidence), 0.02, "quadrature")
	assert.Nil(t, result.ELBO, "nothing is trained")
	intercept, days := find(t, result.Effects, "(Intercept)"), find(t, result.Effects, "Days")
	assert.InDelta(t, 251.4, float64(intercept.Mean), 1.5)
	assert.InDelta(t, 10.47, float64(days.Mean), 0.35)
	assert.InDelta(t, 1.6, float64(days.SD), 0.25)
	assert.InDelta(t, 25.8, float64(find(t, result.SDs, "sigma").Mean), 0.6)
	assert.Greater(t, float64(find(t, result.SDs, "sd(Days | Subject)").Q025), 3.0)
	require.Len(t, result.Varying, 36)
	for _, v := range result.Varying {
		assert.Equal(t, 10, v.Rows)
		assert.True(t, v.Pooling > 0.02 && v.Pooling < 0.6, v)
	}
	for _, c := range result.Checks {
		assert.True(t, c.P > 0.01 && c.P < 0.99, c)
	}
	for _, name := range []string{"result.json", "effects.csv", "sds.csv", "varying.csv", "checks.csv", "draws.csv", "draws.parquet",
		"fitted.csv"} {
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		assert.Positive(t, info.Size(), name)
	}
	kept, err := draws.Read(filepath.Join(dir, "draws.parquet"))
	require.NoError(t, err)
	require.Len(t, kept.Coordinates, 2+4+36)
	mean := 0.0
	for i := range len(kept.LogP) {
		mean += kept.Values(i)[1] / float64(len(kept.LogP))
	}
	// The means over all weighted draws and over the kept draws differ by noise: five standard
	// errors.
	assert.InDelta(t, float64(days.Mean), mean, 5*float64(days.SD)/math.Sqrt(float64(len(kept.LogP))))
	written, err := table.ReadFile(filepath.Join(dir, "effects.csv"))
	require.NoError(t, err)
	column, err := written.Lookup("mean")
	require.NoError(t, err)
	assert.Equal(t, strconv.FormatFloat(float64(days.Mean), 'g', 6, 64), strconv.FormatFloat(column.Values[1], 'g', 6, 64))
}

// The table has ten rows in six groups. The weights of an untrained flow look reliable on it, but
// its draws reach too little of the tail of the standard deviation of groups. In the trusted answer
// of a run all standard deviations have errors below four percent.
func TestStandardDeviationsOfTrustedAnswersAreResolved(t *testing.T) {
	testkit.Slow(t)
	f := frameOf(t, `y,x,g
0.43,0.965,g2
-0.819,-0.436,g1
-0.26,-0.301,g2
-0.478,0.269,g4
0.546,-1.533,g3
-1.858,-1.413,g1
-0.199,-0.793,g0
-0.666,-0.922,g5
-0.615,-1.846,g1
-0.747,0.979,g5
`, frame.Options{Formula: "y ~ x + (1 | g)", Response: likelihood.StudentKind})
	result, _ := runRegression(t, f, Options{}, vti.Config{})
	require.Equal(t, vti.Trusted, result.Certificate.Verdict, result.Certificate.Reasons)
	for _, s := range slices.Concat(result.Effects, result.SDs) {
		require.InDelta(t, 0.02, float64(s.SDSE/s.SD), 0.02, "%s: %v ± %v", s.Name, s.SD, s.SDSE)
	}
}

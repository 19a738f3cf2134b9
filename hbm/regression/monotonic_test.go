package regression

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/transdim/vti/hbm/frame"
	"github.com/transdim/vti/likelihood"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/lab/testkit"
)

// stepTable returns a table of n rows. The mean of y depends on the value 1, 2, … of x, with noise
// of standard deviation 1. k is a count whose mean depends on x and on g, one of five groups.
func stepTable(seed uint64, n int, means []float64) string {
	random := stream.Rand(seed, "step table")
	text := "y,k,x,z,g\n"
	for i := range n {
		at := random.IntN(len(means))
		rate, count := math.Exp(0.5*means[at]+0.3*float64(i%5)-0.5), 0
		for product := random.Float64(); product > math.Exp(-rate); product *= random.Float64() {
			count++
		}
		text += fmt.Sprintf("%.5f,%d,%d,%.4f,g%d\n", means[at]+random.NormFloat64(), count, at+1, random.NormFloat64(), i%5)
	}
	return text
}

// denseLogDensity returns the log density of a normal vector y. Its covariance is the sum of
// columns with normal coefficients, and of noise.
func denseLogDensity(t *testing.T, y []float64, mean float64, columns [][]float64, sds []float64, sigma float64) float64 {
	t.Helper()
	n := len(y)
	covariance := mat.NewSymDense(n, nil)
	residual, solved := mat.NewVecDense(n, nil), mat.NewVecDense(n, nil)
	for i := range n {
		residual.SetVec(i, y[i]-mean)
		for j := range i + 1 {
			value := 0.0
			for k, x := range columns {
				value += sds[k] * sds[k] * x[i] * x[j]
			}
			if i == j {
				value += sigma * sigma
			}
			covariance.SetSym(i, j, value)
		}
	}
	var cholesky mat.Cholesky
	require.True(t, cholesky.Factorize(covariance))
	require.NoError(t, cholesky.SolveVecTo(solved, residual))
	return -float64(n)*math.Log(2*math.Pi)/2 - cholesky.LogDet()/2 - mat.Dot(residual, solved)/2
}

// centredColumn returns D Σ ζ_k over the steps below each value of x, less its mean.
func centredColumn(x, shares []float64) []float64 {
	column := make([]float64, len(x))
	for i, v := range x {
		for k, share := range shares {
			if v > float64(k+1) {
				column[i] += share * float64(len(shares))
			}
		}
	}
	mean := stat.Mean(column, nil)
	for i := range column {
		column[i] -= mean
	}
	return column
}

// ofColumn returns the numbers of a column of a table.
func ofColumn(t *testing.T, text, name string) []float64 {
	t.Helper()
	column, err := tableOf(t, text).Lookup(name)
	require.NoError(t, err)
	return column.Values
}

// The test compares log p(y | h) in every model of a selection, at random hyperparameters h (shares
// of steps, σ and standard deviations), with a dense normal density. In it a monotonic effect is
// one column with one coefficient, for any number of steps.
func TestMonotonicGivenShares(t *testing.T) {
	text := stepTable(1, 40, []float64{0, 1, 1.2, 3})
	f := frameOf(t, text, frame.Options{Formula: "y ~ mo(x) + z + (1 | g)"})
	r := newRegression(t, f, Options{Select: true})
	x, z := ofColumn(t, text, "x"), ofColumn(t, text, "z")
	unit := stat.StdDev(f.Y, nil)
	random := stream.Rand(2, "shares")
	for index, code := range r.codes() {
		mask, theta := r.space.masks[index], make([]float64, r.Dim())
		for _, j := range r.hyperparameters(mask) {
			theta[j] = random.NormFloat64()
		}
		posterior, ok := r.joint().posterior(mask, theta)
		require.True(t, ok)
		sds := make([]float64, len(r.sdNames))
		r.tableSDs(posterior.factors, response{Row: r.rowLikelihood(), sigma: posterior.sigma}, posterior.shares, sds)
		require.Equal(t, []string{"sd((Intercept) | g)", "sigma", "mo(x): 1 to 2", "mo(x): 2 to 3", "mo(x): 3 to 4"}, r.sdNames)
		columns, scales := [][]float64{slices.Repeat([]float64{1}, len(x))}, []float64{10 * unit}
		if name := r.FormulaOf(code); strings.Contains(name, "mo(x)") {
			assert.InDelta(t, 1, sds[2]+sds[3]+sds[4], 1e-12)
			columns, scales = append(columns, centredColumn(x, sds[2:])), append(scales, 1.5*unit/stat.StdDev(x, nil))
		} else {
			assert.Equal(t, []float64{0, 0, 0}, sds[2:])
		}
		if strings.Contains(r.FormulaOf(code), "z") {
			column := slices.Clone(z)
			for i := range column {
				column[i] -= stat.Mean(z, nil)
			}
			columns, scales = append(columns, column), append(scales, 1.5*unit/stat.StdDev(z, nil))
		}
		for level := range f.Groupings[0].Levels {
			column := make([]float64, len(x))
			for i, at := range f.Groupings[0].Index {
				if at == level {
					column[i] = 1
				}
			}
			columns, scales = append(columns, column), append(scales, sds[0])
		}
		want := denseLogDensity(t, f.Y, stat.Mean(f.Y, nil), columns, scales, sds[1])
		require.InDelta(t, want, posterior.logDensity+r.logJacobian, 1e-8, r.FormulaOf(code))
	}
	assert.Contains(t, strings.Join(r.Priors(), "\n"), "shares of its 3 steps: ~ Dirichlet(1, …, 1)")
}

// Evidence, coefficient and shares of two steps agree with sums over a grid of σ and of the share
// of the first step; given both, the coefficients have a closed form. In the tables the effect goes
// up, is absent, or is all in one step. If the true effect goes up and then down, the posterior
// gives the whole effect to one step, whose direction is the sign of the coefficient.
func TestMonotonicOfTwoSteps(t *testing.T) {
	testkit.Slow(t)
	for name, means := range map[string][]float64{
		"up": {0, 0.5, 1}, "none": {0, 0, 0}, "one": {0, 2, 2}, "down": {1, 0, -2}, "up and down": {0, 1.5, 0}, "either way": {0, 3, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "up" && name != "either way" {
				testkit.Long(t)
			}
			rows := map[bool]int{true: 200, false: 45}[name == "either way"]
			text := stepTable(3, rows, means)
			f := frameOf(t, text, frame.Options{Formula: "y ~ mo(x)"})
			r := newRegression(t, f, Options{})
			sums := newStepSums(ofColumn(t, text, "x"), f.Y)
			const grid = 2000 // the posterior of a share may lie in a percent of its range
			var logs, shares, coefficients []float64
			for i := range grid {
				share := (float64(i) + 0.5) / grid
				observed, means := sums.grid([]float64{share, 1 - share})
				for k, l := range observed {
					logs, shares, coefficients = append(logs, l-math.Log(grid)), append(shares, share), append(coefficients, means[k])
				}
			}
			total := logsum.Of(logs)
			share, coefficient := 0.0, 0.0
			for i, l := range logs {
				share, coefficient = share+math.Exp(l-total)*shares[i], coefficient+math.Exp(l-total)*coefficients[i]
			}
			result, err := r.Run(t.Context(), open(t, gpu.Auto), Run{Fit: vti.Config{Seed: 1}})
			require.NoError(t, err)
			require.Equal(t, vti.Trusted, result.Certificate.Verdict, "%s: %v", name, result.Certificate.Reasons)
			// The tolerance is 5 standard errors, a false alarm in one of a million such tests, and
			// the error of the grid.
			assert.InDelta(t, total, float64(*result.LogEvidence), 5*float64(*result.LogEvidenceSE)+0.003, name)
			require.Len(t, result.Shares, 2)
			assert.InDelta(t, share, float64(result.Shares[0].Mean), 5*float64(result.Shares[0].MeanSE)+0.002, name)
			require.Equal(t, "mo(x)", result.Effects[1].Name)
			assert.InDelta(t, coefficient, float64(result.Effects[1].Mean), 5*float64(result.Effects[1].MeanSE)+0.002, name)
		})
	}
}

// Evidence and shares of many steps agree with means over draws of the shares from their prior,
// with sums over σ and closed forms for coefficients. The true effect may go up and down, so that
// the posterior has modes of both signs, and a value may have no rows.
func TestMonotonicOfManySteps(t *testing.T) {
	testkit.Long(t)
	for name, means := range map[string][]float64{
		"up, one value empty": {0, 0.2, 0.9, 1, 1.1, 1.8, 2}, "zigzag": {0, 1.2, 0, 1.2, 0, 1.2, 0}, "none": make([]float64, 11), "hill": {0, 0.7, 1.4, 1.4, 0.7, 0},
	} {
		text := stepTable(5, 60, means)
		if name == "up, one value empty" {
			text = strings.Join(slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool { return strings.Contains(line, ",4,") }), "\n")
		}
		f := frameOf(t, text, frame.Options{Formula: "y ~ mo(x)"})
		result, err := newRegression(t, f, Options{}).Run(t.Context(), open(t, gpu.Auto), Run{Fit: vti.Config{Seed: 1}})
		require.NoError(t, err)
		require.Equal(t, vti.Trusted, result.Certificate.Verdict, "%s: %v", name, result.Certificate.Reasons)
		sums := newStepSums(ofColumn(t, text, "x"), f.Y)
		steps := len(means) - 1
		require.Len(t, result.Shares, steps)
		random := stream.Rand(7, "prior of shares "+name)
		const draws = 60000
		logs, first := make([]float64, draws), make([]float64, draws)
		shares := make([]float64, steps)
		for i := range logs {
			total := 0.0
			for k := range shares { // Dirichlet(1, …, 1)
				shares[k] = random.ExpFloat64()
				total += shares[k]
			}
			for k := range shares {
				shares[k] /= total
			}
			first[i] = shares[0]
			logs[i] = sums.logMarginal(shares)
		}
		total := logsum.Of(logs)
		share, squares := 0.0, 0.0
		for i, l := range logs {
			w := math.Exp(l - total)
			share, squares = share+w*first[i], squares+w*w
		}
		require.Less(t, squares, 0.002, "the oracle has enough effective draws")
		se := math.Sqrt(squares - 1.0/draws)
		assert.InDelta(t, total-math.Log(draws), float64(*result.LogEvidence), 5*math.Hypot(se, float64(*result.LogEvidenceSE))+0.001, name)
		assert.InDelta(t, share, float64(result.Shares[0].Mean), 5*math.Sqrt(squares)*float64(result.Shares[0].SD)+5*float64(result.Shares[0].MeanSE), name)
		if name == "none" { // the data say nothing about the sign, and little about the shares
			assert.InDelta(t, 0.1, float64(result.Shares[0].Mean), 0.03)
			assert.Less(t, float64(result.Effects[1].Q025), 0.0)
			assert.Greater(t, float64(result.Effects[1].Q975), 0.0)
		}
	}
}

// stepSums holds sufficient statistics of y given shares of steps of x: counts and sums by value.
type stepSums struct {
	count, sum        []float64
	rows, squares     float64
	unit, scale, mean float64
}

func newStepSums(x, y []float64) *stepSums {
	s := &stepSums{rows: float64(len(y))}
	s.mean, s.unit = stat.MeanStdDev(y, nil)
	s.scale = 1.5 * s.unit / stat.StdDev(x, nil)
	values := int(slices.Max(x) - slices.Min(x) + 1)
	s.count, s.sum = make([]float64, values), make([]float64, values)
	for i := range y {
		at := int(x[i] - slices.Min(x))
		s.count[at]++
		s.sum[at] += y[i] - s.mean
		s.squares += (y[i] - s.mean) * (y[i] - s.mean)
	}
	return s
}

// stepSigmas is the number of values of log σ in a sum over σ.
const stepSigmas = 40

// grid returns, on a grid of log σ, log p(y, σ | ζ) plus the logarithm of the width of a grid step,
// and the mean of the coefficient b given σ and the shares ζ.
func (s *stepSums) grid(shares []float64) (logs, coefficients [stepSigmas]float64) {
	column := make([]float64, len(s.count))
	mean := 0.0
	for k := range column {
		if k > 0 {
			column[k] = column[k-1] + shares[k-1]*float64(len(shares))
		}
		mean += s.count[k] * column[k] / s.rows
	}
	squares, product := 0.0, 0.0
	for k := range column {
		squares += s.count[k] * (column[k] - mean) * (column[k] - mean)
		product += s.sum[k] * (column[k] - mean)
	}
	for i := range stepSigmas {
		const low, width = -2.2, 3.0
		z := low + width*(float64(i)+0.5)/stepSigmas
		variance := s.unit * s.unit * math.Exp(2*z)
		ridge := squares + variance/(s.scale*s.scale)
		logs[i] = -z*z/8 - math.Log(2) - halfLog2Pi + math.Log(width/stepSigmas) - s.rows*(halfLog2Pi+math.Log(variance)/2) -
			math.Log1p(s.rows*100*s.unit*s.unit/variance)/2 - math.Log1p(squares*s.scale*s.scale/variance)/2 - (s.squares-product*product/ridge)/(2*variance)
		coefficients[i] = product / ridge
	}
	return logs, coefficients
}

// logMarginal returns log p(y | ζ).
func (s *stepSums) logMarginal(shares []float64) float64 {
	logs, _ := s.grid(shares)
	return logsum.Of(logs[:])
}

// The table has each response at x and at 3 − x. Its posterior is therefore symmetric: it has two
// modes far from each other, one for each sign of the coefficient, with probability one half each.
func TestMonotonicOfEitherSign(t *testing.T) {
	means := []float64{0, 1.6, 1.6, 0}
	random := stream.Rand(10, "mirror")
	text := "y,x\n"
	for i := range 60 {
		y := means[i%4] + 0.7*random.NormFloat64()
		text += fmt.Sprintf("%.5f,%d\n%.5f,%d\n", y, i%4, y, 3-i%4)
	}
	result, err := newRegression(t, frameOf(t, text, frame.Options{Formula: "y ~ mo(x)"}), Options{}).Run(t.Context(), open(t, gpu.Auto), Run{Fit: vti.Config{Seed: 1}})
	require.NoError(t, err)
	require.Equal(t, vti.Trusted, result.Certificate.Verdict, result.Certificate.Reasons)
	b := result.Effects[1]
	assert.InDelta(t, 0, float64(b.Mean), 5*float64(b.MeanSE))
	assert.Greater(t, float64(b.SD), 10*float64(b.MeanSE))
	assert.Less(t, float64(b.Q025), -float64(b.SD))
	assert.Greater(t, float64(b.Q975), float64(b.SD))
}

// A predictor x of two values has one step: the evidence with mo(x) equals the evidence with x, for
// a gaussian response and for counts.
func TestMonotonicOfOneStep(t *testing.T) {
	testkit.Slow(t)
	text := stepTable(8, 50, []float64{0, 1})
	for _, options := range []frame.Options{{Formula: "y ~ X"}, {Formula: "k ~ X + (1 | g)", Response: likelihood.PoissonKind}} {
		var evidences []float64
		for _, term := range []string{"mo(x)", "x"} {
			termOptions := options
			termOptions.Formula = strings.Replace(options.Formula, "X", term, 1)
			r := newRegression(t, frameOf(t, text, termOptions), Options{})
			result, err := r.Run(t.Context(), open(t, gpu.Auto), Run{Fit: vti.Config{Seed: 1}})
			require.NoError(t, err)
			evidences = append(evidences, float64(*result.LogEvidence))
		}
		assert.InDelta(t, evidences[1], evidences[0], 1e-9, options.Formula)
	}
}

// The evidence of counts by groups is an integral over the first of two shares. The integrand is
// the evidence of a regression on the column for these shares, with the prior of the coefficient.
func TestMonotonicCounts(t *testing.T) {
	testkit.Long(t)
	text := stepTable(9, 80, []float64{0, 1.5, 1.8})
	r := newRegression(t, frameOf(t, text, frame.Options{Formula: "k ~ mo(x) + (1 | g)", Response: likelihood.PoissonKind}), Options{})
	result, err := r.Run(t.Context(), open(t, gpu.Auto), Run{Fit: vti.Config{Seed: 1}})
	require.NoError(t, err)
	require.Equal(t, vti.Trusted, result.Certificate.Verdict, result.Certificate.Reasons)
	require.Equal(t, Laplace, result.Integration)
	scale := float64(result.Priors[0].Scale)
	const nodes = 7
	shares, weights := make([]float64, nodes), make([]float64, nodes)
	quad.Legendre{}.FixedLocations(shares, weights, 0, 1)
	var logs []float64
	variance := 0.0
	for i, share := range shares {
		lines := strings.Split(strings.TrimSpace(text), "\n")
		column := centredColumn(ofColumn(t, text, "x"), []float64{share, 1 - share})
		lines[0] += ",s"
		for k, v := range column {
			lines[k+1] += fmt.Sprintf(",%.9f", v)
		}
		counted := newRegression(t, frameOf(t, strings.Join(lines, "\n"), frame.Options{Formula: "k ~ s + (1 | g)", Response: likelihood.PoissonKind}), Options{Terms: termPriors(t, fmt.Sprintf("b:s=normal(0,%v)", scale))})
		atShare, err := counted.Run(t.Context(), open(t, gpu.Auto), Run{Fit: vti.Config{Seed: 2}})
		require.NoError(t, err)
		logs = append(logs, math.Log(weights[i])+float64(*atShare.LogEvidence))
		variance += math.Pow(float64(*atShare.LogEvidenceSE), 2) / nodes
	}
	assert.InDelta(t, logsum.Of(logs), float64(*result.LogEvidence), 4*math.Hypot(math.Sqrt(variance), float64(*result.LogEvidenceSE))+0.005)
}

// Rows of a new table have the linear predictors of equal rows of the run, for all values of x. For
// a value without rows, the prior of its share is used.
func TestRowsOfMonotonicEffects(t *testing.T) {
	testkit.Long(t)
	stored := finished(t, "epil.csv", frame.Options{Formula: `log1p(y) ~ lbase + mo(period, "1", "2", "3", "4", "5")`})
	fitted := mustRows(t, stored)
	data, err := stored.Record.Table()
	require.NoError(t, err)
	keep := make([]int, data.Rows())
	keep[0], keep[13], keep[28] = 1, 1, 1
	rows := data.Repeat(keep)
	fresh, err := stored.Rows(rows)
	require.NoError(t, err)
	a, b := make([]float64, fitted.Draws()), make([]float64, fitted.Draws())
	for k, row := range []int{0, 13, 28} {
		fitted.Predictor(row, a)
		fresh.Predictor(k, b)
		require.InDeltaSlice(t, a, b, 1e-8)
	}
	beyond, err := stored.Rows(tableOf(t, "y,lbase,period\n3,0,4\n3,0,5\n"))
	require.NoError(t, err)
	beyond.Predictor(0, a)
	beyond.Predictor(1, b)
	assert.Greater(t, stat.StdDev(b, nil), 1.1*stat.StdDev(a, nil))
	_, err = stored.Rows(tableOf(t, "y,lbase,period\n3,0,6\n"))
	assert.ErrorContains(t, err, `got "6", want one of`)
	_, _, seen, err := stored.Predictors()
	require.NoError(t, err)
	column, err := seen.Lookup("period")
	require.NoError(t, err)
	assert.Equal(t, []string{"1", "2", "3", "4"}, column.Levels, "in the order of the formula")
}

func TestWhatMonotonicEffectsCannotBe(t *testing.T) {
	text := stepTable(1, 30, []float64{0, 1, 2})
	_, err := New(frameOf(t, text, frame.Options{Formula: "k ~ mo(x)", Response: likelihood.PoissonKind}), Options{})
	require.ErrorContains(t, err, "monotonic effects need a gaussian or lognormal response, or")
	_, err = New(frameOf(t, text, frame.Options{Formula: "y ~ mo(x) + (1 | g)", Response: likelihood.StudentKind}), Options{})
	require.ErrorContains(t, err, "monotonic effects need a gaussian or lognormal response, or")
	r := newRegression(t, frameOf(t, text, frame.Options{Formula: "y ~ mo(x) + (1 | g)"}), Options{Terms: termPriors(t, "b:mo(x)=normal(1,0.5)")})
	assert.Contains(t, strings.Join(r.Priors(), "\n"), "effect of mo(x), the average change a step: ~ N(1, 0.5²)")
	_, err = r.Plates()
	require.ErrorContains(t, err, "nor monotonic effects")
}

// A model in a selection has the evidence of a run of this model, even if its monotonic effect has
// another sign, and other shares, than in the model with all terms.
func TestMonotonicSignsOfSubmodels(t *testing.T) {
	testkit.Long(t)
	random := stream.Rand(12, "signs")
	text := "y,k,x,z,g\n"
	for i := range 60 {
		z := random.NormFloat64()
		x := 1.0
		for _, cut := range []float64{-0.5, 0.5} {
			if z+0.2*random.NormFloat64() > cut {
				x++
			}
		}
		eta := 0.5*z - 0.5*math.Max(0, x-2) - 0.2*float64(i%4)
		rate, count := math.Exp(1+eta), 0
		for product := random.Float64(); product > math.Exp(-rate); product *= random.Float64() {
			count++
		}
		text += fmt.Sprintf("%.5f,%d,%v,%.4f,g%d\n", 2*eta+random.NormFloat64(), count, x, z, i%4)
	}
	for _, options := range []frame.Options{{Formula: "k ~ mo(x) + z + (1 | g)", Response: likelihood.PoissonKind}, {Formula: "y ~ mo(x) + z + (1 | g)"}} {
		r := newRegression(t, frameOf(t, text, options), Options{Select: true})
		e := r.effort()
		e.pilots = true
		found, err := r.integrate(t.Context(), e, 1, nil)
		require.NoError(t, err)
		for _, estimate := range found.certificate().Models {
			formula := r.FormulaOf(estimate.Code)
			if !strings.Contains(formula, "mo(x)") || !strings.Contains(formula, "g") {
				continue
			}
			submodel := options
			submodel.Formula = formula
			alone, err := newRegression(t, frameOf(t, text, submodel), Options{}).Run(t.Context(), open(t, gpu.Auto), Run{Fit: vti.Config{Seed: 2}})
			require.NoError(t, err)
			assert.Equal(t, !strings.Contains(formula, "z"), alone.Effects[1].Mean > 0, "the sign without z")
			assert.InDelta(t, float64(*alone.LogEvidence), estimate.LogEvidence+r.LogJacobian(), 4*math.Hypot(float64(*alone.LogEvidenceSE), estimate.LogEvidenceSE)+0.01, formula)
		}
	}
}

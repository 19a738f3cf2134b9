package regression

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/transdim/vti"
	"github.com/transdim/vti/gpu"
	"github.com/transdim/vti/hbm/formula"
	"github.com/transdim/vti/hbm/frame"
	"github.com/transdim/vti/internal/logsum"
	"github.com/transdim/vti/internal/stream"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/space"
)

// The density of a response with a smooth function, with effects integrated out, is a dense normal
// density. Its covariance is the sum of the parts for β, groups and noise, and s² B Bᵀ, for the
// basis B and the standard deviation s of each curve.
func TestSmoothsAreIntegratedOut(t *testing.T) {
	f := frameOf(t, grouped18, frame.Options{Formula: "y ~ s(z, k=6) + s(x, k=5) + (1 | g)"})
	r, err := New(f, Options{})
	require.NoError(t, err)
	assert.Equal(t, []string{"sd((Intercept) | g)", "sd(s(z, k=6))", "sd(s(x, k=5))", "sigma"}, r.sdNames)
	mask, theta := make([]bool, r.Dim()), make([]float64, r.Dim())
	for j := range mask {
		mask[j], theta[j] = true, 0.2*float64(j%4)-0.1
	}
	require.Equal(t, mask, r.space.masks[0])
	got, ok := newJointEffects(r).posterior(mask, theta)
	require.True(t, ok)
	sds := make([]float64, len(r.sdNames))
	r.tableSDs(got.factors, response{Row: r.rowLikelihood(), sigma: got.sigma}, got.shares, sds)
	n := f.Rows()
	mean, covariance := make([]float64, n), mat.NewSymDense(n, nil)
	add := func(z []float64, variance float64) {
		for i := range n {
			for j := range i + 1 {
				covariance.SetSym(i, j, covariance.At(i, j)+variance*z[i]*z[j])
			}
		}
	}
	for j := range f.Columns {
		sd := r.coordinates[j].sd * r.ySD / r.xSD[j]
		column := mat.Col(nil, j, f.X)
		for i := range column {
			column[i] -= r.xMean[j]
		}
		add(column, sd*sd)
	}
	for i := range n {
		mean[i] = r.yMean
		covariance.SetSym(i, i, covariance.At(i, i)+sds[3]*sds[3])
		for j := range i + 1 {
			if f.Groupings[0].Index[i] == f.Groupings[0].Index[j] {
				covariance.SetSym(i, j, covariance.At(i, j)+sds[0]*sds[0])
			}
		}
	}
	for k, name := range []string{"z", "x"} {
		values, err := formula.Variable{Column: name}.Numbers(tableOf(t, grouped18))
		require.NoError(t, err)
		basis, err := f.Formula.Smooths[k].Basis(values, n)
		require.NoError(t, err)
		_, columns := basis.Dims()
		for c := range columns {
			add(mat.Col(nil, c, basis), sds[1+k]*sds[1+k])
		}
	}
	var cholesky mat.Cholesky
	require.True(t, cholesky.Factorize(covariance))
	residual, solved := mat.NewVecDense(n, nil), mat.NewVecDense(n, nil)
	for i := range n {
		residual.SetVec(i, f.Y[i]-mean[i])
	}
	require.NoError(t, cholesky.SolveVecTo(solved, residual))
	want := -float64(n)*math.Log(2*math.Pi)/2 - cholesky.LogDet()/2 - mat.Dot(residual, solved)/2
	assert.InDelta(t, want, got.logDensity+r.logJacobian, 1e-8)
	assert.Contains(t, strings.Join(r.Priors(), "\n"), "sd of s(z, k=6) around its line: ~ half-normal")
}

// Rows of the fitted table, given as a new table, have the linear predictors of the run. The
// description of the priors has the prior given for the standard deviation of a curve.
func TestSmoothRun(t *testing.T) {
	testkit.Slow(t)
	stored := finished(t, "sleepstudy.csv", frame.Options{Formula: "Reaction ~ s(Days, k=5) + (1 | Subject)"})
	fitted := mustRows(t, stored)
	data, err := stored.Record.Table()
	require.NoError(t, err)
	keep := make([]int, data.Rows())
	keep[3], keep[17] = 1, 1
	fresh, err := stored.Rows(data.Repeat(keep))
	require.NoError(t, err)
	a, b := make([]float64, fitted.Draws()), make([]float64, fitted.Draws())
	for k, row := range []int{3, 17} {
		fitted.Predictor(row, a)
		fresh.Predictor(k, b)
		require.InDeltaSlice(t, a, b, 1e-8)
	}
	r, err := New(frameOf(t, grouped18, frame.Options{Formula: "y ~ s(x, k=5)"}), Options{Terms: termPriors(t, "sd:s(x, k=5)=exponential(4)")})
	require.NoError(t, err)
	assert.Contains(t, strings.Join(r.Priors(), "\n"), "sd of s(x, k=5) around its line: ~ exponential(4), mean 0.25")
}

func TestWhatSmoothsCannotBe(t *testing.T) {
	for text, options := range map[string]frame.Options{
		"smooth functions are for gaussian and lognormal responses": {Formula: "y ~ s(x, k=5)", Response: likelihood.StudentKind},
		`s(h): column "h" holds text, want numbers`:                 {Formula: "y ~ s(h)"},
		"3 different values, want at least as many as the 10 knots": {Formula: "y ~ s(v)"},
	} {
		_, err := frame.New(tableOf(t, grouped18), options)
		if strings.Contains(options.Formula, "v") {
			_, err = frame.New(tableOf(t, "y,v\n1,1\n2,2\n3,3\n4,1\n"), options)
		}
		assert.ErrorContains(t, err, text)
	}
	f := frameOf(t, grouped18, frame.Options{Formula: "y ~ s(x, k=5)"})
	r, err := New(f, Options{})
	require.NoError(t, err)
	_, err = r.Plates()
	require.ErrorContains(t, err, "neither weights nor smooth functions")
}

// curveTable returns a table of n rows whose y is a function of x with noise of one, in groups of
// ten.
func curveTable(seed uint64, n int, f func(x float64) float64) string {
	random := stream.Rand(seed, "curve table")
	text := "y,x,g\n"
	level := 0.0
	for i := range n {
		if i%10 == 0 {
			level = 0.8 * random.NormFloat64()
		}
		x := 5*random.Float64() - 2
		text += fmt.Sprintf("%.5f,%.5f,g%d\n", f(x)+random.NormFloat64()+level, x, i/10)
	}
	return text
}

// The questions of smooth functions, the formulas of their answers, and their prior are as
// expected: decisions for curves have a probability of their own.
func TestQuestionsOfSmooths(t *testing.T) {
	r := newRegression(t, frameOf(t, grouped18, frame.Options{Formula: "y ~ s(x, k=5) + s(z, k=5) + (1 + x | g)"}), Options{Select: true})
	states, formulas := map[string][]string{}, map[string]bool{}
	for _, q := range r.questions {
		for outcome := range q.outcomes() {
			states[q.name] = append(states[q.name], q.state(int32(outcome), r.groups))
		}
	}
	assert.Equal(t, map[string][]string{
		"(Intercept)": {"pooled", "varying by g"},
		"s(x, k=5)":   {"absent", "linear", "linear, varying by g", "curved", "curved, varying by g"},
		"s(z, k=5)":   {"absent", "linear", "curved"},
	}, states)
	for index, code := range r.codes() {
		text := r.FormulaOf(code)
		formulas[text] = true
		parsed, err := formula.Parse(text)
		require.NoError(t, err)
		assert.Equal(t, text, parsed.String())
		// a model uses the standard deviation of a curve if its formula has the curve
		for _, g := range r.groups {
			if g.Smooth {
				assert.Equal(t, strings.Contains(text, g.Name), r.space.masks[index][g.sd[0]], text)
			}
		}
	}
	assert.Len(t, formulas, 2*5*3)
	assert.Contains(t, formulas, "y ~ 1 + x + z + s(z, k=5) + (1 + x | g)")
	// With a uniform common probability, n yes of k decisions have the probability 1 / ((k + 1)
	// C(k, n)). Both terms are in; intercept and x could vary; of two curves 0, 1 or 2 are in.
	prior := func(code ...int32) float64 { return r.space.logPrior[r.index(code)] }
	assert.InDelta(t, math.Log(2), prior(0, 1, 1)-prior(0, 3, 1), 1e-12)
	assert.InDelta(t, 0, prior(0, 1, 1)-prior(0, 3, 2), 1e-12)
	assert.Contains(t, strings.Join(r.Priors(), "\n"), "over which are curves")
}

// A model of a selection has the same density as the regression of its own formula, at all
// hyperparameters.
func TestSmoothStatesAreTheirOwnRegressions(t *testing.T) {
	text := curveTable(1, 40, func(x float64) float64 { return 0.4 * x })
	r := newRegression(t, frameOf(t, text, frame.Options{Formula: "y ~ s(x, k=6) + (1 | g)"}), Options{Select: true})
	random := stream.Rand(3, "states")
	for index, code := range r.codes() {
		submodel := newRegression(t, frameOf(t, text, frame.Options{Formula: r.FormulaOf(code)}), Options{})
		mask := r.space.masks[index]
		free, alone := r.hyperparameters(mask), submodel.hyperparameters(submodel.space.masks[0])
		require.Len(t, alone, len(free))
		for range 5 {
			theta, theirs := make([]float64, r.Dim()), make([]float64, submodel.Dim())
			for k := range free {
				require.Equal(t, submodel.coordinates[alone[k]].name, r.coordinates[free[k]].name)
				theta[free[k]] = random.NormFloat64()
				theirs[alone[k]] = theta[free[k]]
			}
			want := submodel.joint().logMarginal(submodel.space.masks[0], theirs) + submodel.LogJacobian()
			require.InDelta(t, want, r.joint().logMarginal(mask, theta)+r.LogJacobian(), 1e-9, r.FormulaOf(code))
		}
	}
}

// Evidences of the three states agree with a dense normal density with the described priors,
// integrated over σ and the standard deviation of the curve by the trapezoid rule.
func TestEvidencesOfSmoothStates(t *testing.T) {
	testkit.Slow(t)
	for name, f := range map[string]func(x float64) float64{
		"absent": func(float64) float64 { return 0.5 },
		"linear": func(x float64) float64 { return 0.9 * x },
		"curved": func(x float64) float64 { return 1.8 * math.Sin(1.7*x) },
	} {
		frame := frameOf(t, curveTable(2, 40, f), frame.Options{Formula: "y ~ s(x, k=7)"})
		r := newRegression(t, frame, Options{Select: true})
		found, err := r.integrate(t.Context(), r.effort(), 1, nil)
		require.NoError(t, err)
		require.Len(t, found.list, 3)
		logEvidence := make([]float64, 3)
		for state := range 3 {
			logEvidence[state] = denseSmoothEvidence(t, frame, state)
			estimate := found.certificate().Models[state]
			require.Less(t, estimate.LogEvidenceSE, 0.02)
			// 4 standard errors: a false alarm in one of 2,000 such tests; 0.001 is for the grid
			assert.InDelta(t, logEvidence[state], estimate.LogEvidence+r.LogJacobian(), 4*estimate.LogEvidenceSE+1e-3, "%s: state %d", name, state)
		}
		total := logsum.Of([]float64{logEvidence[0] + math.Log(0.5), logEvidence[1] + math.Log(0.25), logEvidence[2] + math.Log(0.25)})
		for state, prior := range []float64{0.5, 0.25, 0.25} {
			assert.InDelta(t, math.Exp(logEvidence[state]-total)*prior, found.certificate().Models[state].Certified, 0.01, name)
		}
		most := map[string]int{"absent": 0, "linear": 1, "curved": 2}[name]
		assert.Greater(t, found.certificate().Models[most].Certified, 0.5, "%s: the truth is the most probable", name)
	}
}

// denseSmoothEvidence returns the log evidence of a constant, a line or a curve of x.
func denseSmoothEvidence(t *testing.T, f *frame.Frame, state int) float64 {
	t.Helper()
	n := f.Rows()
	x := mat.Col(nil, 1, f.X)
	meanX, sdX := stat.MeanStdDev(x, nil)
	mean, unit := stat.MeanStdDev(f.Y, nil)
	basis, err := f.Formula.Smooths[0].Basis(x, n)
	require.NoError(t, err)
	var bends mat.Dense
	bends.Mul(basis, basis.T())
	logDensity := func(s, sigma float64) float64 {
		covariance := mat.NewSymDense(n, nil)
		for i := range n {
			for j := range i + 1 {
				value := 100 * unit * unit
				if state > 0 {
					value += 1.5 * 1.5 * unit * unit * (x[i] - meanX) * (x[j] - meanX) / (sdX * sdX)
				}
				value += s * s * bends.At(i, j)
				if i == j {
					value += sigma * sigma
				}
				covariance.SetSym(i, j, value)
			}
		}
		var cholesky mat.Cholesky
		require.True(t, cholesky.Factorize(covariance))
		residual, solved := mat.NewVecDense(n, nil), mat.NewVecDense(n, nil)
		for i := range n {
			residual.SetVec(i, f.Y[i]-mean)
		}
		require.NoError(t, cholesky.SolveVecTo(solved, residual))
		return -float64(n)*math.Log(2*math.Pi)/2 - cholesky.LogDet()/2 - mat.Dot(residual, solved)/2
	}
	const steps = 70
	var terms []float64
	step := 5.5 / steps
	for i := range steps {
		logSigma := math.Log(unit) - 3.5 + (float64(i)+0.5)*step
		z := (logSigma - math.Log(unit)) / 2
		logPrior := -z*z/2 - math.Log(2) - halfLog2Pi + math.Log(step)
		if state < 2 {
			terms = append(terms, logPrior+logDensity(0, math.Exp(logSigma)))
			continue
		}
		for k := range steps { // half-normal, by the midpoints of s^(1/2): dense near zero
			root := (float64(k) + 0.5) / steps * math.Sqrt(6)
			s := root * root * unit
			logS := math.Log(2) - halfLog2Pi - s*s/(2*unit*unit) + math.Log(2*root*math.Sqrt(6)/steps)
			terms = append(terms, logPrior+logS+logDensity(s, math.Exp(logSigma)))
		}
	}
	return logsum.Of(terms)
}

// A run gives the probability that an effect is not linear. In draws of models without the curve
// its effects are zero, and predictions for a table agree with an estimate from the draws.
func TestSmoothSelectionRun(t *testing.T) {
	testkit.Long(t)
	r := newRegression(t, frameOf(t, curveTable(4, 60, func(x float64) float64 { return 1.2*math.Sin(1.5*x) + 0.3*x }), frame.Options{Formula: "y ~ s(x, k=8) + (1 | g)"}), Options{Select: true, Models: space.Prior{Kind: space.BernoulliPrior, Pi: 0.5}})
	result, err := r.Run(t.Context(), open(t, gpu.Auto), Run{Fit: vti.Config{Seed: 1}})
	require.NoError(t, err)
	require.Equal(t, vti.Trusted, result.Certificate.Verdict, result.Certificate.Reasons)
	curved := 0.0
	for _, state := range result.Terms {
		if state.Term == "s(x, k=8)" && state.State == "curved" {
			curved = float64(state.Prob)
		}
	}
	assert.Greater(t, curved, 0.8)
	require.Equal(t, []GroupSummary{{Name: "g", Levels: 6}, {Name: "s(x, k=8)", Levels: 1, Line: "x"}}, result.Data.Groups)
	assert.Equal(t, "y ~ 1 + x + s(x, k=8) + (1 | g)", result.Models[0].Formula)
}

// Five smooth functions make 243 models, whose evidences need no training.
func TestManySmoothsAreIntegrated(t *testing.T) {
	random := stream.Rand(6, "many")
	text := "y,a,b,c,d,e\n"
	for range 30 {
		for k := range 6 {
			text += fmt.Sprintf("%.4f%s", random.NormFloat64(), map[bool]string{true: "\n", false: ","}[k == 5])
		}
	}
	r := newRegression(t, frameOf(t, text, frame.Options{Formula: "y ~ s(a, k=4) + s(b, k=4) + s(c, k=4) + s(d, k=4) + s(e, k=4)"}), Options{Select: true})
	assert.Len(t, r.codes(), 243)
	assert.True(t, r.integrable())
	assert.True(t, r.effort().pilots)
	r = newRegression(t, frameOf(t, text, frame.Options{Formula: "y ~ s(a, k=4) + s(b, k=4) + s(c, k=4) + s(d, k=4)"}), Options{Select: true})
	assert.False(t, r.effort().pilots, "few models are weighed alike")
}

package regression

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/hbm/formula"
	"github.com/transdim/vti/hbm/frame"
	"github.com/transdim/vti/lab/testkit"
	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/table"
)

const counted = `k,n,f,x,g
3,7,4,0.5,a
0,2,2,1.5,a
0,0,0,9,z
5,5,0,-1,b
1,4,3,0.1,b
`

const oneByOne = `k,x,g
1,0.5,a
1,0.5,a
1,0.5,a
0,0.5,a
0,0.5,a
0,0.5,a
0,0.5,a
0,1.5,a
0,1.5,a
1,-1,b
1,-1,b
1,-1,b
1,-1,b
1,-1,b
1,0.1,b
0,0.1,b
0,0.1,b
0,0.1,b
`

// Counts of successes have the posterior of a table with a row for each trial. Their evidence is
// larger by the number of orders, C(7, 3) C(2, 0) C(5, 5) C(4, 1) = 140. A row without trials has
// no influence, and its group does not exist.
func TestCountsAreTheirTrials(t *testing.T) {
	alone := newRegression(t, frameOf(t, oneByOne, frame.Options{Formula: "k ~ x + (1 | g)", Response: likelihood.LogisticKind}), Options{})
	for _, text := range []string{"cbind(k, f) ~ x + (1 | g)", "k | trials(n) ~ x + (1 | g)"} {
		r := newRegression(t, frameOf(t, counted, frame.Options{Formula: text, Response: likelihood.LogisticKind}), Options{})
		require.Equal(t, alone.y, r.y)
		require.Equal(t, alone.x, r.x)
		require.Equal(t, alone.Frame.Groupings[0].Index, r.Frame.Groupings[0].Index)
		require.Equal(t, []string{"a", "b"}, r.Frame.Groupings[0].Levels)
		require.Equal(t, alone.coordinates, r.coordinates)
		require.InDelta(t, math.Log(140), r.LogJacobian()-alone.LogJacobian(), 1e-12)
		require.True(t, strings.HasPrefix(text, r.Frame.Formula.ResponseText()+" ~"))
	}
}

func TestWhatCountsCannotBe(t *testing.T) {
	for want, opt := range map[string]frame.Options{
		"want --likelihood logistic, got gaussian": {Formula: "cbind(k, f) ~ x"},
		"got 5 successes in 0 trials":              {Formula: "k | trials(f) ~ x", Response: likelihood.LogisticKind},
		`"x": got 0.5, want a count`:               {Formula: "k | trials(x) ~ 1", Response: likelihood.LogisticKind},
		`want "," before the column of failures`:   {Formula: "cbind(k) ~ 1", Response: likelihood.LogisticKind},
		"want trials(column)":                      {Formula: "k | n ~ 1", Response: likelihood.LogisticKind},
		`column "m"`:                               {Formula: "k | trials(m) ~ 1", Response: likelihood.LogisticKind},
	} {
		_, err := frame.New(tableOf(t, counted), opt)
		require.ErrorContains(t, err, want, opt.Formula)
	}
}

// Labels in factor() and in groups may be a mixture of numbers and other texts.
func TestMixedLabels(t *testing.T) {
	const mixed = "y,n,g\n1,1,7\n2.5,2,7\n2,3+,a\n3,1,a\n4.2,3+,7\n1.1,2,a\n"
	f := frameOf(t, mixed, frame.Options{Formula: "y ~ factor(n) + (1 | g)"})
	require.Equal(t, []string{formula.InterceptName, "n=2", "n=3+"}, []string{f.Columns[0].Name, f.Columns[1].Name, f.Columns[2].Name})
	require.Equal(t, []float64{0, 0, 1, 0, 1, 0}, mat.Col(nil, 2, f.X))
	require.Equal(t, []string{"7", "a"}, f.Groupings[0].Levels)
	_, err := frame.New(tableOf(t, mixed), frame.Options{Formula: "y ~ n"})
	require.ErrorContains(t, err, `got "3+", want a finite number`)
}

// Errors of common formulas name the mistake; "." and powers expand to their terms.
func TestFormulasThatPeopleWrite(t *testing.T) {
	for formula, want := range map[string]string{
		"y ~ x + (1 g)":                 `or "|" before a group, as in (1 | g)`,
		"y ~ g + (1 | g)":               "leave one of the two out",
		"y ~ x + factor(z) + (1 | z)":   "leave one of the two out",
		"y ~ x^2":                       "a power of a column is I(x^2)",
		"y ~ . : x":                     `"." stands for all other columns`,
		"y ~ (x + z)^0":                 "1 to 9",
		"y ~ x + z + g + h + s + . + 1": "there are none",
	} {
		_, err := frame.New(tableOf(t, grouped18), frame.Options{Formula: formula})
		require.ErrorContains(t, err, want, formula)
	}
	for formula, want := range map[string]string{
		"y ~ . + (1 | g)":         "y ~ 1 + x + z + h + s + (1 | g)",
		"y ~ . - h - s":           "y ~ 1 + x + z + g",
		"y ~ I(x + z)":            "y ~ 1 + I(x + z)",
		"y ~ (x + z + s)^2":       "y ~ 1 + x + z + s + x:z + x:s + z:s",
		"y ~ (x + z + s)^2 - x:z": "y ~ 1 + x + z + s + x:s + z:s",
		"y ~ x + I(x^2) + I(z^3)": "y ~ 1 + x + I(x^2) + I(z^3)",
		"y ~ z + (1 + z | g)":     "y ~ 1 + z + (1 + z | g)",
	} {
		f, err := frame.New(tableOf(t, grouped18), frame.Options{Formula: formula})
		require.NoError(t, err, formula)
		require.Equal(t, want, f.Formula.String())
	}
	f := frameOf(t, grouped18, frame.Options{Formula: "y ~ x + I(x^2) + I(x^3)"})
	for i := range f.Rows() {
		x := f.X.At(i, 1)
		require.InDelta(t, x*x, f.X.At(i, 2), 1e-12)
		require.InDelta(t, x*x*x, f.X.At(i, 3), 1e-12)
	}
}

// Weights 1/s² with σ = 1 are the same as known standard errors s. They give the same density of
// the response in the table, and the same scale of predictions.
func TestWeightsArePrecisions(t *testing.T) {
	known, err := New(frameOf(t, grouped18, frame.Options{Formula: "y ~ x + (1 | g)", SE: "s"}), Options{})
	require.NoError(t, err)
	weighted, err := New(frameOf(t, grouped18, frame.Options{Formula: "y | weights(I(1/s^2)) ~ x + (1 | g)"}), Options{})
	require.NoError(t, err)
	theta := make([]float64, weighted.Dim())
	for j, c := range weighted.coordinates {
		theta[j] = 0.3
		if c.kind == noiseCoordinate {
			theta[j] = -math.Log(weighted.ySD)
		}
	}
	mask := make([]bool, weighted.Dim())
	for j := range mask {
		mask[j] = true
	}
	want, ok := newJointEffects(known).posterior(mask[:known.Dim()], theta[:known.Dim()])
	require.True(t, ok)
	got, ok := newJointEffects(weighted).posterior(mask, theta)
	require.True(t, ok)
	assert.InDelta(t, want.logDensity+known.logJacobian, got.logDensity+weighted.logJacobian, 1e-9)
	for i := range weighted.y {
		assert.InDelta(t, known.unscaled(i, 1.5), weighted.unscaled(i, 1.5/weighted.ySD), 1e-9, "what was drawn, in the units of the table")
	}
	assert.Contains(t, strings.Join(weighted.Priors(), "\n"), "variance σ² / I(1 / s^2)")
}

// If the response is a label or a count, a row with the weight w stands for w equal rows.
// Unsuitable weights are errors.
func TestWeightsCountRows(t *testing.T) {
	const header = "y,x,w\n"
	weighted := frameOf(t, header+"1,1,2\n0,3,1\n1,2,0\n0,5,3\n", frame.Options{Formula: "y | weights(w) ~ x", Response: likelihood.LogisticKind})
	repeated := frameOf(t, header+"1,1,1\n1,1,1\n0,3,1\n0,5,1\n0,5,1\n0,5,1\n", frame.Options{Formula: "y ~ x", Response: likelihood.LogisticKind})
	assert.Equal(t, repeated.Y, weighted.Y)
	assert.True(t, mat.Equal(repeated.X, weighted.X))
	for text, options := range map[string]frame.Options{
		"line 2: weight w: got 0.5, want a whole number from 0":               {Formula: "n | weights(w) ~ x", Response: likelihood.PoissonKind},
		"line 3: weight w: got 0, want a positive number":                     {Formula: "n | weights(w) ~ x"},
		"weights(w) are for gaussian and lognormal responses, counts, labels": {Formula: "n | weights(w) ~ x", Response: likelihood.StudentKind},
		"got weights(w) and known standard errors":                            {Formula: "n | weights(w) ~ x", SE: "x"},
		`column "f": got text ("a" in line 2), want numbers`:                  {Formula: "n | weights(f) ~ x"},
		"formula, character 13: \"n\" is the response":                        {Formula: "n | weights(n) ~ x"},
		"leave out factor()": {Formula: "n | weights(factor(w)) ~ x"},
		"formula, character 13: data.csv: no column \"ww\"":          {Formula: "n | weights(ww) ~ x"},
		"missing values in 1 of 3 used columns (of 3 rows): \"v\" 1": {Formula: "n | weights(v) ~ x"},
	} {
		_, err := frame.New(tableOf(t, "n,x,w,f,v\n1,1,0.5,a,1\n2,3,0,b,NA\n3,4,1,a,1\n"), options)
		assert.ErrorContains(t, err, text)
	}
}

// Polynomials and scales in the rows of a new table are computed with the constants of the fitted
// table. So rows of the fitted table, given as a new table, have the same predictors.
func TestNewRowsHaveTheBasesOfTheFit(t *testing.T) {
	testkit.Slow(t)
	stored := finished(t, "sleepstudy.csv", frame.Options{Formula: "Reaction | weights(I(1 + Days)) ~ poly(Days, 2) + scale(Days):C(Subject, sum)"})
	fitted := mustRows(t, stored)
	data, err := stored.Record.Table()
	require.NoError(t, err)
	keep := make([]int, data.Rows())
	for i := range keep {
		if i%7 == 0 {
			keep[i] = 1
		}
	}
	fresh, err := stored.Rows(data.Repeat(keep))
	require.NoError(t, err)
	a, b := make([]float64, fitted.Draws()), make([]float64, fitted.Draws())
	for k := range len(fresh.Places) {
		fitted.Predictor(7*k, a)
		fresh.Predictor(k, b)
		require.InDeltaSlice(t, a, b, 1e-9)
		require.InDelta(t, fitted.NoiseScale(7*k, 3), fresh.NoiseScale(k, 3), 1e-12)
	}
	require.Greater(t, math.Abs(fitted.NoiseScale(0, 3)/fitted.NoiseScale(9, 3)), 3.0, "a tenth of the variance")
	_, err = stored.Rows(rowWithout(t))
	require.Error(t, err)
}

func rowWithout(t *testing.T) *table.Table {
	t.Helper()
	return tableOf(t, "Days\n3\n")
}

package design

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/transdim/vti/likelihood"
	"github.com/transdim/vti/predict"
	"github.com/transdim/vti/table"
)

// Columns p and q are the two columns of poly(x, 2) in R 4.2, to 15 digits.
const formulaTable = `y,x,z,f,p,q,n
1,1,4,a,-0.441611780141717,0.497302402411723,1
2,3,2.5,b,-0.180988434484310,-0.179944948241186,2
4,2,8,a,-0.311300107313014,0.100878228559967,1
3,5,1,c,0.0796349111731,-0.394788310686970,3
6,4,3,b,-0.0506767616556,-0.345167127989630,2
5,7.5,0.5,c,0.405414093246016,-0.0130869053266,1
2,2,6,a,-0.311300107313014,0.100878228559967,4
7,9,7,b,0.600881602488,0.562736929046,1
1,6,5,c,0.209946584002,-0.328808496332,2
`

// Terms of new rows are computed with the means and polynomials of the table of the run.
func TestFormulaRows(t *testing.T) {
	data := parseTable(t, formulaTable)
	options, err := Options{}.WithFormula("y ~ poly(x, 2)*f + scale(z):x")
	require.NoError(t, err)
	_, all, err := newLayout(data, options)
	require.NoError(t, err)
	expanded, err := all.expand(data, data.Rows())
	require.NoError(t, err)
	fresh, err := table.Parse("new.csv", []byte("x,z,f\n7.5,0.5,c\n40,2.5,b\n"))
	require.NoError(t, err)
	both, _, err := data.Below(fresh, []string{"x", "z", "f"}, false)
	require.NoError(t, err)
	later, err := all.expand(both, data.Rows())
	require.NoError(t, err)
	for k, p := range expanded {
		for j, c := range p.columns {
			assert.InDeltaSlice(t, c.values, later[k].columns[j].values[:data.Rows()], 1e-12, c.name)
			assert.InDelta(t, c.values[5], later[k].columns[j].values[data.Rows()], 1e-12, c.name)
		}
	}
}

// An offset may be a function of columns, whether a formula or an option names it, also for new
// rows. Its columns are predictors only if the formula has them as terms.
func TestOffsetFunctions(t *testing.T) {
	data := parseTable(t, formulaTable)
	z, err := data.Lookup("z")
	require.NoError(t, err)
	byFormula, err := Options{Likelihood: likelihood.PoissonKind}.WithFormula("y ~ x + offset(log(1 + z))")
	require.NoError(t, err)
	byName := Options{Likelihood: likelihood.PoissonKind, Target: "y", Offset: "log1p(z)", Exclude: []string{"f", "p", "q", "n"}}
	for _, options := range []Options{byFormula, byName} {
		d, err := New(data, options)
		require.NoError(t, err)
		require.NotContains(t, d.Names, "z")
		for i, offset := range d.Offset {
			require.InDelta(t, math.Log1p(z.Values[i]), offset, 1e-12)
		}
		fresh, err := table.Parse("new.csv", []byte("x,z\n7.5,0.5\n40,2.5\n"))
		require.NoError(t, err)
		rows, _, err := d.Fresh(options, data, fresh, false)
		require.NoError(t, err)
		require.InDeltaSlice(t, []float64{math.Log(1.5), math.Log(3.5)}, rows.Offset, 1e-12)
		variables, _, err := Variables(data, options)
		require.NoError(t, err)
		require.Equal(t, []predict.Variable{{Name: "x"}, {Name: "z"}}, variables)
	}
	_, err = New(data, Options{Target: "y", Offset: "log(p)", Likelihood: likelihood.PoissonKind})
	require.ErrorContains(t, err, "log(p): got -0.44")
	far := parseTable(t, "y,x,hours\n1,0.5,100\n2,0.7,230\n0,0.1,900\n3,0.2,120\n")
	_, err = New(far, Options{Target: "y", Offset: "hours", Likelihood: likelihood.PoissonKind})
	require.ErrorContains(t, err, "the offset hours is added to the logarithm of the mean, and is from 100 to 900")
	require.ErrorContains(t, err, "for exposures write log(hours)")
}

func TestFormulaMistakes(t *testing.T) {
	data := parseTable(t, formulaTable)
	for text, want := range map[string]string{
		"y ~ x + (1 | f)":               "(1 | f) varies by group, which is for vti hbm --select",
		"log(y) ~ x":                    "there is --likelihood lognormal",
		"cbind(y, n) ~ x":               "want successes | trials(n)",
		"y | weights(n) ~ x":            "selection has no weights",
		"y ~ x + offset(z) + offset(w)": "want one offset, which may be a sum in I()",
		"y ~ x + xx":                    `no column "xx"`,
		"y ~ x + log(y)":                `"y" is part of the response, or excluded`,
		"y ~ x + q":                     `"q" is part of the response, or excluded`,
		"yy ~ x":                        `no column "yy"`,
		"y ~ 1":                         "no predictor is left",
	} {
		options, err := Options{Exclude: []string{"q"}}.WithFormula(text)
		if err == nil {
			_, err = New(data, options)
		}
		assert.ErrorContains(t, err, want, text)
	}
	_, err := Options{Target: "x"}.WithFormula("y ~ z")
	require.ErrorContains(t, err, `the response is "y" here and --target "x"`)
	_, err = Options{Interactions: []string{"x:z"}}.WithFormula("y ~ x*z")
	require.ErrorContains(t, err, "a formula says itself")
	options, err := Options{Always: []string{"x"}}.WithFormula("y ~ log(x) + z")
	require.NoError(t, err)
	_, err = New(data, options)
	require.ErrorContains(t, err, `the formula has no term "x"; it has ["log(x)" "z"]`)
	options, err = Options{}.WithFormula("n | trials(x) ~ z")
	require.NoError(t, err)
	assert.Equal(t, Options{Formula: "n | trials(x) ~ z", Target: "n", Trials: "x"}, options)
	assert.Equal(t, likelihood.GaussianKind, options.Likelihood)
}

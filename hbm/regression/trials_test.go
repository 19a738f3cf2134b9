package regression

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/transdim/vti/hbm/formula"
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

// Counts of successes have the posterior of their trials one by one, and an evidence larger by the
// number of orders: C(7, 3) C(2, 0) C(5, 5) C(4, 1) = 140. A row without trials says nothing, not
// even that its group exists.
func TestCountsAreTheirTrials(t *testing.T) {
	alone := newRegression(t, frameOf(t, oneByOne, FrameOptions{Formula: "k ~ x + (1 | g)", Response: LogisticResponse}), Options{})
	for _, text := range []string{"cbind(k, f) ~ x + (1 | g)", "k | trials(n) ~ x + (1 | g)"} {
		r := newRegression(t, frameOf(t, counted, FrameOptions{Formula: text, Response: LogisticResponse}), Options{})
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
	for want, opt := range map[string]FrameOptions{
		"want --likelihood logistic, got gaussian": {Formula: "cbind(k, f) ~ x"},
		"got 5 successes in 0 trials":              {Formula: "k | trials(f) ~ x", Response: LogisticResponse},
		`"x": got 0.5, want a count`:               {Formula: "k | trials(x) ~ 1", Response: LogisticResponse},
		`want "," before the column of failures`:   {Formula: "cbind(k) ~ 1", Response: LogisticResponse},
		"want trials(column)":                      {Formula: "k | n ~ 1", Response: LogisticResponse},
		`column "m"`:                               {Formula: "k | trials(m) ~ 1", Response: LogisticResponse},
	} {
		_, err := NewFrame(tableOf(t, counted), opt)
		require.ErrorContains(t, err, want, opt.Formula)
	}
}

// Errors of formulas that people write say what is wrong; "." and powers are what they stand for.
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
		_, err := NewFrame(tableOf(t, grouped18), FrameOptions{Formula: formula})
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
		f, err := NewFrame(tableOf(t, grouped18), FrameOptions{Formula: formula})
		require.NoError(t, err, formula)
		require.Equal(t, want, f.Formula.String())
	}
	f := frameOf(t, grouped18, FrameOptions{Formula: "y ~ x + I(x^2) + I(x^3)"})
	for i := range f.Rows() {
		x := f.X.At(i, 1)
		require.InDelta(t, x*x, f.X.At(i, 2), 1e-12)
		require.InDelta(t, x*x*x, f.X.At(i, 3), 1e-12)
	}
}

// Numbers and other texts may mix in labels: in factor(), and in groups.
func TestMixedLabels(t *testing.T) {
	const mixed = "y,n,g\n1,1,7\n2.5,2,7\n2,3+,a\n3,1,a\n4.2,3+,7\n1.1,2,a\n"
	f := frameOf(t, mixed, FrameOptions{Formula: "y ~ factor(n) + (1 | g)"})
	require.Equal(t, []string{formula.InterceptName, "n=2", "n=3+"}, []string{f.Columns[0].Name, f.Columns[1].Name, f.Columns[2].Name})
	require.Equal(t, []float64{0, 0, 1, 0, 1, 0}, mat.Col(nil, 2, f.X))
	require.Equal(t, []string{"7", "a"}, f.Groupings[0].Levels)
	_, err := NewFrame(tableOf(t, mixed), FrameOptions{Formula: "y ~ n"})
	require.ErrorContains(t, err, `got "3+", want a finite number`)
}
